//! `cargo xtask tick`: calls of `POST /-/tick` for a server that does not tick by itself, which is what Spin is.
//!
//! Our own host needs none of this: `--tick` is an option of it. What both do is the same, see `tools/host/src/ticks.rs`.

mod options;

use std::env;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::http::{self, Answer, Failure, Request};
use crate::json;
use crate::token::{self, ENVIRONMENT};
pub(crate) use options::Options;

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
pub(crate) fn tick(options: &Options) -> Result<()> {
    let token = token::from_environment()?;
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

/// Ticks once.
fn call(listen: &str, token: &str) -> Result<Left, Failure> {
    let authorization = format!("Bearer {token}");
    let request = Request {
        method: "POST",
        path: "/-/tick",
        headers: &[("Authorization", &authorization)],
        body: "",
    };
    let answer = http::ask(listen, &request, SILENCE)?;
    read(&answer).map_err(Failure::Other)
}

/// Reads an answer: a good one says by `come_back_ms` when there is something to do.
fn read(answer: &Answer) -> Result<Left, String> {
    if answer.status != 200 {
        return Err(format!("the answer is {}", answer.status));
    }
    let come_back_ms = json::number(&answer.body, "come_back_ms");
    match come_back_ms.ok_or("the answer has no come_back_ms")? {
        0 => Ok(Left::Work),
        _ => Ok(Left::Nothing),
    }
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
    use crate::http::tests::serve;

    /// What a tick makes of this answer, and the request that it sent.
    fn exchanged(answer: &str) -> (Result<Left, Failure>, String) {
        let (address, server) = serve(vec![answer.to_owned()]);
        let outcome = call(&address, "opens");
        (outcome, server.join().unwrap().remove(0))
    }

    #[test]
    fn a_tick_is_a_call_with_the_token() {
        let (outcome, request) =
            exchanged("HTTP/1.0 200 OK\r\n\r\n{\"due\":1,\"come_back_ms\":250}");
        assert_eq!(outcome, Ok(Left::Nothing));
        assert_eq!(
            request,
            "POST /-/tick HTTP/1.0\nHost: ADDRESS\nAuthorization: Bearer opens\nContent-Length: 0\n\n"
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
