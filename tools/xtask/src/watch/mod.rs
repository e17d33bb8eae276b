//! `cargo xtask watch`: the counters of a running service, drawn in place on a terminal and a line each time elsewhere.
//!
//! It only reads `GET /-/metrics`. A service that is not there when it starts is an error; one that goes away later, as
//! in a restart, is waited for, for a while.

mod board;
mod metrics;
mod options;

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::http::{self, Answer, Failure, Request};
use crate::screen::{Ink, Screen};
use crate::token;

use board::Board;
use metrics::Metrics;
pub(crate) use options::Options;

/// How long an answer may take.
const SILENCE: Duration = Duration::from_secs(10);

/// How long a service that has answered may be gone.
const ABSENCE_MAX: Duration = Duration::from_mins(1);

/// Shows the counters until it is stopped, or the service is gone for good.
pub(crate) fn watch(options: &Options) -> Result<()> {
    let token = token::from_environment()?;
    let look = || look(&options.listen, &token);
    show(look, options, &mut Screen::stdout())
}

fn show(
    look: impl Fn() -> Result<Board, Missing>,
    options: &Options,
    screen: &mut Screen,
) -> Result<()> {
    let Options { listen, every } = options;
    let mut seen = look().with_context(|| format!("no counters of http://{listen}"))?;
    let mut before = None;
    let mut seen_at = Instant::now();
    loop {
        draw(&seen, before.as_ref(), listen, screen)?;
        before = Some(seen);
        seen = loop {
            sleep(*every);
            match look() {
                Ok(board) => break board,
                Err(missing @ (Missing::Unauthorized | Missing::NoRoute)) => {
                    return Err(missing.into());
                }
                Err(Missing::Answer(problem)) => {
                    let absence = seen_at.elapsed();
                    if absence > ABSENCE_MAX {
                        bail!("http://{listen} is gone: {problem}");
                    }
                    let seconds = absence.as_secs();
                    screen.passing(&format!("{problem}, for {seconds} s"))?;
                }
            }
        };
        seen_at = Instant::now();
    }
}

fn draw(board: &Board, before: Option<&Board>, listen: &str, screen: &mut Screen) -> Result<()> {
    if !screen.is_terminal() {
        return Ok(screen.line(&board.line())?);
    }
    let title = format!("Reprise at http://{listen}; Ctrl-C ends this");
    let mut lines = vec![screen.painted(Ink::Dim, &title)];
    lines.extend(board.picture(before, screen));
    Ok(screen.picture(&lines)?)
}

/// Why there are no counters.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Missing {
    /// The token is another one.
    Unauthorized,
    /// The service shows none to anybody.
    NoRoute,
    /// Anything else, which may pass.
    Answer(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unauthorized => write!(f, "the service has another token than {}", token::ENVIRONMENT),
            Self::NoRoute => f.write_str(
                "the service has no /-/metrics: it was started without a token, or is older than this command",
            ),
            Self::Answer(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for Missing {}

impl From<Failure> for Missing {
    fn from(failure: Failure) -> Self {
        Self::Answer(failure.to_string())
    }
}

fn look(listen: &str, token: &str) -> Result<Board, Missing> {
    let authorization = format!("Bearer {token}");
    let request = Request {
        method: "GET",
        path: "/-/metrics",
        headers: &[("Authorization", &authorization)],
        body: "",
    };
    read(&http::ask(listen, &request, SILENCE)?)
}

fn read(answer: &Answer) -> Result<Board, Missing> {
    match answer.status {
        200 => {
            let metrics = Metrics::parse(&answer.body);
            let metrics = metrics.map_err(|error| Missing::Answer(error.to_string()))?;
            Ok(Board::of(&metrics))
        }
        401 => Err(Missing::Unauthorized),
        404 => Err(Missing::NoRoute),
        status => Err(Missing::Answer(format!("the answer is {status}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tests::serve;
    use crate::screen::tests::Written;
    use std::cell::RefCell;

    fn page(started: u64) -> String {
        format!("reprise_operations_created_total{{operation=\"charge\"}} {started}\n")
    }

    /// What is shown, and the error at the end, when looks come out like this.
    fn shown(looks: Vec<Result<u64, Missing>>, is_terminal: bool) -> (String, String) {
        let looks = RefCell::new(looks.into_iter());
        let look = || {
            let look = looks.borrow_mut().next().expect("it has ended");
            look.map(|started| Board::of(&Metrics::parse(&page(started)).unwrap()))
        };
        let written = Written::default();
        let options = Options {
            listen: "ADDRESS".to_owned(),
            every: Duration::ZERO,
        };
        let end = show(look, &options, &mut written.screen(is_terminal, false));
        let end = format!("{:#}", end.expect_err("looks have ended"));
        (written.text(), end)
    }

    #[test]
    fn a_look_is_a_call_with_the_token() {
        let answer = format!("HTTP/1.1 200 OK\r\n\r\n{}", page(7));
        let (address, server) = serve(vec![answer]);
        let board = look(&address, "opens").unwrap();
        assert!(board.line().starts_with("started 7, "), "{}", board.line());
        assert_eq!(
            server.join().unwrap(),
            [
                "GET /-/metrics HTTP/1.0\nHost: ADDRESS\nAuthorization: Bearer opens\nContent-Length: 0\n\n"
            ]
        );
    }

    #[test]
    fn each_answer_without_counters_has_its_reason() {
        for (answer, expected) in [
            ("HTTP/1.1 401 No\r\n\r\n", Missing::Unauthorized),
            ("HTTP/1.1 404 No\r\n\r\n", Missing::NoRoute),
            (
                "HTTP/1.1 503 No\r\n\r\n",
                Missing::Answer("the answer is 503".to_owned()),
            ),
            (
                "HTTP/1.1 200 OK\r\n\r\n<html>",
                Missing::Answer("no line of metrics: \"<html>\"".to_owned()),
            ),
            ("", Missing::Answer("no whole answer".to_owned())),
        ] {
            let (address, server) = serve(vec![answer.to_owned()]);
            assert_eq!(
                look(&address, "t").map(|board| board.line()),
                Err(expected),
                "{answer}"
            );
            server.join().unwrap();
        }
    }

    #[test]
    fn without_a_terminal_each_look_is_a_line_and_an_absence_is_waited_for() {
        let gone = || Err(Missing::Answer("nobody listens".to_owned()));
        let looks = vec![Ok(1), gone(), gone(), Ok(2), Err(Missing::Unauthorized)];
        let (text, end) = shown(looks, false);
        let starts: Vec<_> = text
            .lines()
            .filter_map(|line| line.split(',').next())
            .collect();
        assert_eq!(starts, ["started 1", "started 2"]);
        assert!(end.contains("another token"), "{end}");
    }

    #[test]
    fn on_a_terminal_the_picture_is_drawn_over() {
        let looks = vec![Ok(1), Ok(2), Err(Missing::NoRoute)];
        let (text, _) = shown(looks, true);
        assert!(text.contains("Reprise at http://ADDRESS"), "{text:?}");
        // The title, the head, a row, an empty line, and two lines of gauges.
        assert_eq!(text.matches("\x1b[6A").count(), 1, "{text:?}");
    }

    #[test]
    fn a_service_that_was_never_there_is_an_error_at_once() {
        let (text, end) = shown(vec![Err(Failure::Refused.into())], false);
        assert_eq!(text, "");
        assert_eq!(end, "no counters of http://ADDRESS: nobody listens");
    }
}
