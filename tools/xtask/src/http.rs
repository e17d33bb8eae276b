//! Requests to a server nearby, over HTTP/1.0: each has a connection of its own, and an answer's body ends where the
//! connection does. No encryption, no redirects.

use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// More than any answer that this program asks for; what comes beyond it is an error.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// Header lines beside `Host` and `Content-Length`.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a str,
}

/// What came back, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The words behind the status.
    pub(crate) reason: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// The value of the first header line of this name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nobody listens.
    Refused,
    /// Anything else, in words.
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "nobody listens",
            Self::Other(problem) => problem,
        })
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::Refused,
            // What a read that has taken too long is called differs between systems.
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::Other("no answer in time".into()),
            _ => Self::Other(error.to_string()),
        }
    }
}

/// Asks once. The server may say nothing for as long as `silence`.
pub(crate) fn ask(
    address: &str,
    request: &Request<'_>,
    silence: Duration,
) -> Result<Answer, Failure> {
    let stream = connect(address, silence)?;
    send(&stream, address, request)?;
    receive(&stream)
}

/// Opens a connection, on which nothing waits for longer than `silence`.
pub(crate) fn connect(address: &str, silence: Duration) -> Result<TcpStream, Failure> {
    let mut last = Failure::Other(format!("{address} is no address"));
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => {
                stream.set_read_timeout(Some(silence))?;
                stream.set_write_timeout(Some(silence))?;
                return Ok(stream);
            }
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// Sends a request.
pub(crate) fn send(
    mut stream: &TcpStream,
    address: &str,
    request: &Request<'_>,
) -> Result<(), Failure> {
    let Request {
        method,
        path,
        headers,
        body,
    } = request;
    let mut text = format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\n");
    for (name, value) in *headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    let length = body.len().to_string();
    text.extend(["Content-Length: ", &length, "\r\n\r\n", body]);
    Ok(stream.write_all(text.as_bytes())?)
}

/// Reads the answer.
pub(crate) fn receive(stream: &TcpStream) -> Result<Answer, Failure> {
    let mut reader = BufReader::new(stream.take(ANSWER_BYTES_MAX));
    let Head { first, headers } = Head::read(&mut reader)?;
    let mut words = first.splitn(3, ' ').skip(1);
    let status = words.next().and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| Failure::Other("no whole answer".into()))?;
    let reason = words.next().unwrap_or_default().to_owned();
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    let announced = header(&headers, "content-length").and_then(|length| length.parse().ok());
    if announced.is_some_and(|length: usize| length > body.len()) {
        return Err(Failure::Other("no whole answer".into()));
    }
    Ok(Answer {
        status,
        reason,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// The head of a request or of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The first line.
    pub(crate) first: String,
    /// The header lines, in their order.
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    /// Reads a head up to the empty line behind it.
    pub(crate) fn read(reader: &mut impl BufRead) -> Result<Self, Failure> {
        let mut line = || {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.strip_suffix('\n') {
                Some(whole) => Ok(whole.trim_end().to_owned()),
                None => Err(Failure::Other("no whole answer".into())),
            }
        };
        let first = line()?;
        let mut headers = Vec::new();
        while let Some((name, value)) = line()?.split_once(':') {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Ok(Self { first, headers })
    }
}

/// The value of the first header line of this name.
pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut lines = headers.iter();
    let line = lines.find(|(line, _)| line.eq_ignore_ascii_case(name));
    line.map(|(_, value)| value.as_str())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread::{JoinHandle, spawn};

    /// A server that answers each of these in turn, and then ends with the requests that it was sent. Its address
    /// reads `ADDRESS` in them.
    pub(crate) fn serve(answers: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shown = address.clone();
        let server = spawn(move || {
            let answered = answers.into_iter().map(|answer| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(&stream);
                let head = Head::read(&mut reader).unwrap();
                let length = header(&head.headers, "content-length").unwrap();
                let mut body = vec![0; length.parse().unwrap()];
                reader.read_exact(&mut body).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                let lines = head.headers.iter();
                let lines = lines.map(|(name, value)| format!("{name}: {value}\n"));
                let lines = lines.collect::<Vec<_>>().concat();
                let body = String::from_utf8(body).unwrap();
                format!("{}\n{lines}\n{body}", head.first).replace(&shown, "ADDRESS")
            });
            answered.collect()
        });
        (address, server)
    }

    fn asked(answer: &str) -> (Result<Answer, Failure>, String) {
        let (address, server) = serve(vec![answer.to_owned()]);
        let request = Request {
            method: "POST",
            path: "/orders?a=b",
            headers: &[("Idempotency-Key", "k")],
            body: "{}",
        };
        let answer = ask(&address, &request, CONNECT);
        (answer, server.join().unwrap().remove(0))
    }

    #[test]
    fn a_request_goes_out_and_its_answer_comes_back() {
        let (answer, request) =
            asked("HTTP/1.0 409 In the way\r\nRetry-After:  2 \r\nX: y\r\n\r\nline\n\nline");
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.reason.as_str()), (409, "In the way"));
        assert_eq!(answer.header("retry-after"), Some("2"));
        assert_eq!(answer.header("retry"), None);
        assert_eq!(answer.body, "line\n\nline");
        assert_eq!(
            request,
            "POST /orders?a=b HTTP/1.0\nHost: ADDRESS\nIdempotency-Key: k\nContent-Length: 2\n\n{}"
        );
    }

    #[test]
    fn half_an_answer_is_none() {
        for answer in [
            "",
            "HTTP/1.0 200 OK",
            "HTTP/1.0 200 OK\r\n",
            "HTTP/1.0 200 OK\r\nA: b\r\n",
            "HTTP/1.0 OK\r\n\r\n",
            "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nfour",
        ] {
            let expected = Err(Failure::Other("no whole answer".to_owned()));
            assert_eq!(asked(answer).0, expected, "{answer}");
        }
    }

    #[test]
    fn nobody_listening_is_a_failure_of_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let request = Request {
            method: "GET",
            path: "/",
            headers: &[],
            body: "",
        };
        assert_eq!(ask(&address, &request, CONNECT), Err(Failure::Refused));
    }
}
