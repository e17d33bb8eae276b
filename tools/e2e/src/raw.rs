//! Requests byte by byte: what no HTTP client would send, and what comes back on the connection.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Longer than an answer takes on a machine that is busy; only a test that fails waits for so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A request that is written line by line, each as it is given.
#[derive(Debug, Clone)]
pub struct RawRequest {
    /// The request line.
    pub first: Vec<u8>,
    /// The header lines, without their ends.
    pub lines: Vec<Vec<u8>>,
    /// What follows the empty line.
    pub body: Vec<u8>,
}

impl RawRequest {
    /// A request that asks for the connection to be closed behind its answer, and has no body yet.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            first: format!("{method} {target} HTTP/1.1").into_bytes(),
            lines: vec![
                b"Host: reprise.example".to_vec(),
                b"Connection: close".to_vec(),
            ],
            body: Vec::new(),
        }
    }

    /// Adds a header line.
    #[must_use]
    pub fn line(mut self, line: impl AsRef<[u8]>) -> Self {
        self.lines.push(line.as_ref().to_vec());
        self
    }

    /// Gives it this body, with its length.
    #[must_use]
    pub fn body(self, body: impl AsRef<[u8]>) -> Self {
        let length = format!("Content-Length: {}", body.as_ref().len());
        self.line(length).unframed(body)
    }

    /// Lets these bytes follow the head, whatever that says of them.
    #[must_use]
    pub fn unframed(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.first.clone();
        for line in &self.lines {
            bytes.extend(b"\r\n");
            bytes.extend(line);
        }
        bytes.extend(b"\r\n\r\n");
        bytes.extend(&self.body);
        bytes
    }

    /// Sends it to `HOST:PORT` and reads until the other side closes the connection.
    ///
    /// # Panics
    /// When the other side does neither answer nor close.
    #[must_use]
    pub fn send(&self, address: &str) -> Vec<RawAnswer> {
        exchange(address, &self.bytes())
    }
}

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAnswer {
    /// The status.
    pub status: u16,
    /// The header lines.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl RawAnswer {
    /// The type of the problem document in the body, without its common start; nothing when the body is none.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let document: Value = serde_json::from_slice(&self.body).ok()?;
        let kind = document["type"].as_str()?;
        Some(kind.strip_prefix("urn:reprise:problem:")?.to_owned())
    }

    /// The value of a header, whose name is given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self
            .head
            .split("\r\n")
            .filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(other, _)| other.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value)
    }
}

/// Sends these bytes and reads all answers until the other side closes the connection.
///
/// # Panics
/// When the other side does not, or its bytes are no answers.
#[must_use]
pub fn exchange(address: &str, bytes: &[u8]) -> Vec<RawAnswer> {
    let mut stream = TcpStream::connect(address).expect("the host listens");
    let patience = Some(PATIENCE);
    stream
        .set_read_timeout(patience)
        .expect("a time-out can be set");
    // A host that has refused the head may be gone before it has read the rest.
    let _ = stream.write_all(bytes);
    answers(&mut stream)
}

/// Reads all answers that come on a connection.
///
/// # Panics
/// When the other side keeps it open and silent, or its bytes are no answers.
#[must_use]
pub fn answers(stream: &mut TcpStream) -> Vec<RawAnswer> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1_024];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => bytes.extend(&piece[..length]),
            Err(error) if is_timeout(&error) => {
                let text = String::from_utf8_lossy(&bytes);
                panic!("the connection stays open behind {text:?}");
            }
            // It was closed with something unread, which costs what was under way.
            Err(_) => break,
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
    parse(&bytes)
}

fn is_timeout(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock)
}

/// Takes answers apart that follow each other. Those of this service all say how long they are.
fn parse(mut bytes: &[u8]) -> Vec<RawAnswer> {
    let mut answers = Vec::new();
    while !bytes.is_empty() {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).expect("a head is ASCII");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let mut answer = RawAnswer {
            status: status.unwrap_or_else(|| panic!("no status: {head:?}")),
            head,
            body: Vec::new(),
        };
        let length = answer
            .header("content-length")
            .map_or(0, |length| length.parse().expect("a length is a number"));
        let rest = &bytes[end + 4..];
        let length = rest.len().min(length);
        answer.body = rest[..length].to_vec();
        bytes = &rest[length..];
        answers.push(answer);
    }
    answers
}
