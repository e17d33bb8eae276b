//! What the story is played on: the host, a gate before the payment API and one before the inbox, the screen, and the
//! promises. Acts tell here what they do, and ask here what came of it.

use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use reprise_locks::place::Place;

use super::application;
use super::gate::{Gate, Passage};
use super::host::Host;
use super::post::{self, PATIENCE, Post};
use super::promise::Promises;
use crate::http::{self, Answer, Request};
use crate::json;
use crate::screen::{Ink, Screen};
use crate::token::{self, Token};
use crate::workspace::Workspace;

/// How often the host ticks. `up` does so every second; here somebody watches.
const TICK: &str = "500ms";

/// The pause between two repeats of one request.
const PAUSE: Duration = Duration::from_millis(200);

/// What text of an act is set in by.
const INDENT: &str = "     ";

/// Everything that acts play on.
pub(crate) struct Stage {
    pub(crate) screen: Screen,
    pub(crate) promises: Promises,
    /// Between Reprise and the payment API.
    pub(crate) payments: Gate,
    /// Between Reprise and the inbox.
    pub(crate) events: Gate,
    host: Host,
    launch: Launch,
    // Last, since what is in it is in use before. Ctrl-C leaves it, and the next demo removes it.
    place: Place,
}

/// What the payment API has counted for a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) charges: u64,
    pub(crate) calls: u64,
}

impl Stage {
    /// Writes the application to a new folder, and serves it with the host `program`.
    pub(crate) fn set(
        workspace: &Workspace,
        program: PathBuf,
        mut screen: Screen,
        token: Token,
    ) -> Result<Self> {
        let place = Place::take(&workspace.target.join("demo"))?;
        let folder = place.files();
        let (payments, events) = (Gate::build()?, Gate::build()?);
        let launch = Launch {
            program,
            arguments: vec![
                format!(
                    "--from={}",
                    application::write(workspace, folder)?.display()
                ),
                format!("--state-dir={}", folder.join("state").display()),
                format!(
                    "--cache-dir={}",
                    workspace.target.join("wasmtime-cache").display()
                ),
                format!("--tick={TICK}"),
                format!("--variable=payment_api_url={}", payments.url()),
                format!("--variable=events_host={}", events.url()),
            ],
            token,
            log: folder.join("host.log"),
        };
        let host = launch.start(workspace, "127.0.0.1:0", &mut screen)?;
        for gate in [&payments, &events] {
            gate.lead_to(host.address());
        }
        Ok(Self {
            screen,
            promises: Promises::default(),
            payments,
            events,
            host,
            launch,
            place,
        })
    }

    /// Where the host serves, as `ADDRESS:PORT`.
    pub(crate) fn address(&self) -> &str {
        self.host.address()
    }

    /// The operators' token.
    pub(crate) const fn token(&self) -> &Token {
        &self.launch.token
    }

    /// The folder that goes with the demo.
    pub(crate) fn folder(&self) -> std::path::Display<'_> {
        self.place.files().display()
    }

    /// Ends the host in the middle of whatever it does.
    pub(crate) fn kill_host(&mut self) -> Result<()> {
        self.host.kill()
    }

    /// Starts the host again, at the same address.
    pub(crate) fn restart_host(&mut self, workspace: &Workspace) -> Result<()> {
        let address = self.host.address().to_owned();
        self.host = self.launch.start(workspace, &address, &mut self.screen)?;
        Ok(())
    }

    /// Waits until somebody ends the host.
    pub(crate) fn wait_for_the_end(&mut self) -> Result<()> {
        self.host.wait()
    }

    /// Sends a request and tells of it and its answer.
    pub(crate) fn ask(&mut self, post: &Post) -> Result<Answer> {
        self.tell_request(post)?;
        let answer = post.ask(self.address())?;
        self.tell_answer(&answer)?;
        Ok(answer)
    }

    /// Sends a request again and again until it is told more than that it is in progress, and tells of that answer.
    pub(crate) fn repeat_until_done(&mut self, post: &Post) -> Result<Answer> {
        let start = Instant::now();
        let mut is_first = true;
        while start.elapsed() < PATIENCE {
            let answer = post.ask(self.address())?;
            if answer.status != 409 || answer.header("retry-after").is_none() {
                if !is_first {
                    let waited = tenths(start.elapsed());
                    self.tell_event(&format!("the client asks again and again for {waited}"))?;
                }
                self.tell_answer(&answer)?;
                return Ok(answer);
            }
            is_first = false;
            let waited = tenths(start.elapsed());
            self.screen
                .passing(&format!("{INDENT}in progress: {waited}"))?;
            sleep(PAUSE);
        }
        bail!("{} is in progress for longer than {PATIENCE:?}", post.key)
    }

    /// What the payment API has counted.
    pub(crate) fn counted(&self, reference: &str) -> Result<Counted> {
        let body = self.look_at(&format!("/payment-sandbox/charges?reference={reference}"))?;
        let count = |name| {
            json::number(&body, name).with_context(|| format!("the payment API says {body}"))
        };
        Ok(Counted {
            charges: count("charges")?,
            calls: count("calls")?,
        })
    }

    /// The body of what is at a path.
    pub(crate) fn look_at(&self, path: &str) -> Result<String> {
        let request = Request {
            method: "GET",
            path,
            headers: &[],
            body: "",
        };
        let answer = http::ask(self.address(), &request, PATIENCE)?;
        if answer.status != 200 {
            bail!("GET {path} is answered {}", post::shown(&answer));
        }
        Ok(answer.body.trim_end().to_owned())
    }

    /// The next request at a gate, of which the wait is shown.
    pub(crate) fn next_at(&mut self, gate: fn(&Self) -> &Gate, what: &str) -> Result<Passage> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(passage) = gate(self).next(PAUSE) {
                return Ok(passage);
            }
            let waited = tenths(start.elapsed());
            self.screen
                .passing(&format!("{INDENT}waiting for {what}: {waited}"))?;
        }
        bail!("{what} did not come within {PATIENCE:?}")
    }

    /// Tells of a request.
    pub(crate) fn tell_request(&mut self, post: &Post) -> Result<()> {
        self.tell(&format!("> {}", post.shown()))
    }

    /// Tells of an answer.
    pub(crate) fn tell_answer(&mut self, answer: &Answer) -> Result<()> {
        self.tell(&format!("< {}", post::shown(answer)))
    }

    /// Tells what else happens.
    pub(crate) fn tell_event(&mut self, text: &str) -> Result<()> {
        let line = self.screen.painted(Ink::Dim, &format!("* {text}"));
        self.tell(&line)
    }

    /// Tells how an act ends, whose promises were all kept or not.
    pub(crate) fn tell_outcome(&mut self, is_kept: bool, text: &str) -> Result<()> {
        let line = if is_kept {
            let mark = self.screen.painted(Ink::Good, "ok");
            format!("{mark} {text}")
        } else {
            self.screen
                .painted(Ink::Bad, "BROKEN: see the table at the end")
        };
        self.tell(&line)
    }

    fn tell(&mut self, text: &str) -> Result<()> {
        Ok(self.screen.line(&format!("{INDENT}{text}"))?)
    }
}

/// How the host is started.
struct Launch {
    program: PathBuf,
    arguments: Vec<String>,
    token: Token,
    log: PathBuf,
}

impl Launch {
    fn start(&self, workspace: &Workspace, listen: &str, screen: &mut Screen) -> Result<Host> {
        Host::start(self.command(workspace, listen), &self.log, screen)
    }

    fn command(&self, workspace: &Workspace, listen: &str) -> Command {
        let mut command = workspace.command(&self.program);
        command.args(&self.arguments).args(["--listen", listen]);
        // The story is that of the repository's settings, whatever somebody has set for another run.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SPIN_VARIABLE_") {
                command.env_remove(name);
            }
        }
        command.env(token::ENVIRONMENT, self.token.reveal());
        command
    }
}

/// A time in tenths of a second.
pub(crate) fn tenths(time: Duration) -> String {
    format!("{}.{} s", time.as_secs(), time.subsec_millis() / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_tenths() {
        for (ms, text) in [
            (0, "0.0 s"),
            (99, "0.0 s"),
            (712, "0.7 s"),
            (12_050, "12.0 s"),
        ] {
            assert_eq!(tenths(Duration::from_millis(ms)), text);
        }
    }
}
