//! `cargo xtask tick`: calls of `POST /-/tick` for a server that does not tick by itself, which is what Spin is.
//!
//! Our own host needs none of this: `--tick` is an option of it. What both do is the same, see `tools/host/src/ticks.rs`.

use std::env;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::args::TickOptions;
use crate::token::ENVIRONMENT;

/// The pause before the next tick while there is work left.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a server may say nothing before a tick counts as failed: longer than any attempt takes.
const SILENCE: Duration = Duration::from_mins(20);

/// Starts this program as a process that ticks as long as this process lives, whatever program that becomes.
pub(crate) fn beside(this: u32, listen: &str, every: Duration, token: &str) -> Result<Child> {
    let program = env::current_exe().context("this program does not know where it is")?;
    let mut command = Command::new(program);
    command
        .args(["tick", "--listen", listen, "--every"])
        .arg(format!("{}ms", every.as_millis()))
        .arg("--beside")
        .arg(this.to_string())
        .env(ENVIRONMENT, token)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command.spawn().context("cannot start ticks")
}

/// Ticks until the process that it belongs to is gone, or without end.
pub(crate) fn tick(options: &TickOptions) -> Result<()> {
    let token = env::var(ENVIRONMENT).unwrap_or_default();
    if token.is_empty() || token.contains(['\r', '\n']) {
        bail!("{ENVIRONMENT} holds no token that a header can carry");
    }
    let mut trouble = Trouble::Starting;
    while options.beside.is_none_or(is_parent) {
        let outcome = call(&options.listen, &token);
        let is_work_left = matches!(outcome, Ok(Left::Work));
        if let Some(line) = trouble.note(outcome) {
            eprintln!("{line}");
        }
        sleep(if is_work_left { PAUSE } else { options.every });
    }
    Ok(())
}

#[cfg(unix)]
fn is_parent(process: u32) -> bool {
    std::os::unix::process::parent_id() == process
}

/// Where a process is not told its parent, whoever started this one ends it.
#[cfg(not(unix))]
fn is_parent(_: u32) -> bool {
    true
}

/// What a tick has left to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Work,
}

/// Why a tick failed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Failure {
    /// Nobody listens.
    Refused,
    /// Anything else, in words.
    Other(String),
}

/// Ticks once. A request of HTTP/1.0 is answered with a body that ends where the connection does.
fn call(listen: &str, token: &str) -> Result<Left, Failure> {
    let exchange = || {
        let mut stream = TcpStream::connect(listen)?;
        stream.set_read_timeout(Some(SILENCE))?;
        let request = format!(
            "POST /-/tick HTTP/1.0\r\nHost: {listen}\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = exchange().map_err(|error: std::io::Error| match error.kind() {
        ErrorKind::ConnectionRefused => Failure::Refused,
        _ => Failure::Other(error.to_string()),
    })?;
    read(&String::from_utf8_lossy(&answer)).map_err(Failure::Other)
}

/// Reads an answer: a good one says by `come_back_ms` when there is something to do.
fn read(answer: &str) -> Result<Left, String> {
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("no whole answer")?;
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status != "200" {
        return Err(format!("the answer is {status}"));
    }
    let (_, rest) = body
        .split_once("\"come_back_ms\":")
        .ok_or("the answer has no come_back_ms")?;
    let is_zero = rest
        .trim_start()
        .strip_prefix('0')
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    Ok(if is_zero { Left::Work } else { Left::Nothing })
}

/// How ticks fare; what changes is told once.
#[derive(Debug, PartialEq, Eq)]
enum Trouble {
    /// None has reached the server, which may still be starting.
    Starting,
    None,
    Failing(Failure),
}

impl Trouble {
    /// Takes a tick's outcome, and gives the line that tells of it where it is news.
    fn note(&mut self, outcome: Result<Left, Failure>) -> Option<String> {
        let now = match (&*self, outcome) {
            (Self::Starting, Err(Failure::Refused)) => Self::Starting,
            (_, Err(failure)) => Self::Failing(failure),
            (_, Ok(Left::Nothing | Left::Work)) => Self::None,
        };
        if now == *self {
            return None;
        }
        let before = std::mem::replace(self, now);
        match (before, &*self) {
            (_, Self::Failing(Failure::Refused)) => Some("tick: nobody listens".to_owned()),
            (_, Self::Failing(Failure::Other(problem))) => Some(format!("tick: {problem}")),
            (Self::Failing(_), Self::None) => Some("tick: works again".to_owned()),
            (_, Self::Starting | Self::None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What a tick makes of this answer, and the request that it sent.
    fn exchanged(answer: &'static str) -> (Result<Left, Failure>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        let outcome = call(&address, "opens");
        (outcome, server.join().unwrap().replace(&address, "ADDRESS"))
    }

    #[test]
    fn a_tick_is_a_call_with_the_token() {
        let (outcome, request) =
            exchanged("HTTP/1.0 200 OK\r\n\r\n{\"due\":1,\"come_back_ms\":250}");
        assert_eq!(outcome, Ok(Left::Nothing));
        assert_eq!(
            request,
            "POST /-/tick HTTP/1.0\r\nHost: ADDRESS\r\nAuthorization: Bearer opens\r\nContent-Length: 0\r\n\r\n"
        );
    }

    #[test]
    fn an_answer_tells_whether_work_is_left() {
        for (answer, expected) in [
            (
                "HTTP/1.0 200 OK\r\n\r\n{\"come_back_ms\":0}",
                Ok(Left::Work),
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\n{\"come_back_ms\": 0, \"due\": 1}",
                Ok(Left::Work),
            ),
            (
                "HTTP/1.0 200 OK\r\n\r\n{\"come_back_ms\":10}",
                Ok(Left::Nothing),
            ),
            (
                "HTTP/1.0 200 OK\r\n\r\n{}",
                Err("the answer has no come_back_ms"),
            ),
            (
                "HTTP/1.0 401 Unauthorized\r\n\r\n{}",
                Err("the answer is 401"),
            ),
            ("HTTP/1.0 200 OK\r\n", Err("no whole answer")),
            ("", Err("no whole answer")),
        ] {
            let (outcome, _) = exchanged(answer);
            let expected = expected.map_err(|problem: &str| Failure::Other(problem.to_owned()));
            assert_eq!(outcome, expected, "{answer}");
        }
    }

    #[test]
    fn trouble_is_told_when_it_begins_changes_and_ends() {
        let other = || Err(Failure::Other("the answer is 401".to_owned()));
        let mut trouble = Trouble::Starting;
        for (outcome, line) in [
            (Err(Failure::Refused), None),
            (Err(Failure::Refused), None),
            (Ok(Left::Nothing), None),
            (Ok(Left::Work), None),
            (other(), Some("tick: the answer is 401")),
            (other(), None),
            (Err(Failure::Refused), Some("tick: nobody listens")),
            (Err(Failure::Refused), None),
            (Ok(Left::Nothing), Some("tick: works again")),
        ] {
            assert_eq!(
                trouble.note(outcome.clone()).as_deref(),
                line,
                "{outcome:?}"
            );
        }
    }
}
