//! What guests write to stdout and stderr: whole lines on the host's stderr, each after its component's id.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};

/// The longest line that is kept back for its end, in bytes; a longer one is written in pieces.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// One output stream of one instance. Clones are the same stream.
#[derive(Clone)]
pub struct GuestLog(Arc<Mutex<Lines>>);

struct Lines {
    component: String,
    /// The line that has not ended yet.
    pending: Vec<u8>,
}

impl GuestLog {
    /// An output stream of a component's instance.
    #[must_use]
    pub fn new(component: &str) -> Self {
        Self(Arc::new(Mutex::new(Lines {
            component: component.to_owned(),
            pending: Vec::new(),
        })))
    }
}

impl Lines {
    /// Takes what the guest wrote and returns the lines that are now complete, ready to be shown.
    fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut complete = Vec::new();
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.pending.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.pending.len() >= MAX_LINE_BYTES {
                complete.extend(self.take());
            }
        }
        complete
    }

    /// What is pending as a line.
    fn take(&mut self) -> Vec<u8> {
        let mut line = format!("[{}] ", self.component).into_bytes();
        line.append(&mut self.pending);
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        line
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.pending.is_empty() {
            show(&self.take());
        }
    }
}

/// Nobody can be told that stderr is gone, so an error is dropped.
fn show(lines: &[u8]) {
    let _ = io::stderr().write_all(lines);
}

impl StdoutStream for GuestLog {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

impl IsTerminal for GuestLog {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl AsyncWrite for GuestLog {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let complete = self
            .0
            .lock()
            .expect("nothing panics under this lock")
            .push(bytes);
        show(&complete);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_whole_and_carry_the_component() {
        let mut lines = Lines {
            component: "main".to_owned(),
            pending: Vec::new(),
        };
        assert_eq!(lines.push(b"one"), b"");
        assert_eq!(
            lines.push(b" line\n\ntwo\nthr"),
            b"[main] one line\n[main] \n[main] two\n"
        );
        assert_eq!(lines.take(), b"[main] thr\n");
        let long = vec![b'x'; MAX_LINE_BYTES];
        assert_eq!(lines.push(&long).len(), "[main] \n".len() + MAX_LINE_BYTES);
    }
}
