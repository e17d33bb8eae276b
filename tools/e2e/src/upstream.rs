//! An upstream that does what a test tells it, down to the bytes on the wire, and remembers what it was sent.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A request as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// The header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Seen {
    /// The value of the only header line of this name.
    ///
    /// # Panics
    /// When it comes more than once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.headers.iter().filter(|(line, _)| line == name);
        let value = lines.next().map(|(_, value)| value.as_str());
        assert!(lines.next().is_none(), "{name} comes twice: {self:?}");
        value
    }
}

/// What is sent back.
#[derive(Debug, Clone)]
pub struct Sent {
    /// How long to wait before anything is sent.
    pub delay: Duration,
    /// The whole response, from its status line.
    pub bytes: Vec<u8>,
}

impl Sent {
    /// A response with these header lines and this body.
    #[must_use]
    pub fn new(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut head = format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n",
            body.len()
        );
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").expect("a string takes every text");
        }
        let bytes = [head.as_bytes(), b"\r\n", body].concat();
        Self {
            delay: Duration::ZERO,
            bytes,
        }
    }

    /// The same, later.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The same, cut off this many bytes before its end.
    #[must_use]
    pub fn cut(mut self, bytes: usize) -> Self {
        self.bytes.truncate(self.bytes.len() - bytes);
        self
    }
}

/// A running upstream. It ends with the test's process.
#[derive(Debug)]
pub struct Upstream {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Upstream {
    /// Starts an upstream that answers each request by `script`, which is told how many came before.
    ///
    /// # Panics
    /// When loopback has no free port.
    #[must_use]
    pub fn start(script: impl Fn(usize, &Seen) -> Sent + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        let script = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (all, script) = (Arc::clone(&all), Arc::clone(&script));
                thread::spawn(move || serve(&stream, &all, &*script));
            }
        });
        Self { address, seen }
    }

    /// Its URL, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was sent until now.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn serve(stream: &TcpStream, all: &Mutex<Vec<Seen>>, script: &dyn Fn(usize, &Seen) -> Sent) {
    let Some(seen) = read(stream) else {
        return;
    };
    let before = {
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(seen.clone());
        all.len() - 1
    };
    let sent = script(before, &seen);
    thread::sleep(sent.delay);
    // The other side may have given up.
    let _ = (&*stream).write_all(&sent.bytes);
}

/// Reads a request whose length is announced, or that has no body.
fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    while let Some((name, value)) = line()?.split_once(':') {
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        method,
        target,
        headers,
        body,
    })
}
