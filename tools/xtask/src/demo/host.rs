//! The host as a process that the demo starts, kills and starts again.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::screen::Screen;

/// How long a start may take. The first one compiles the components.
const PATIENCE: Duration = Duration::from_mins(3);

/// How often a wait is shown anew.
const BLINK: Duration = Duration::from_millis(200);

/// How much of the host's last words an error repeats.
const LAST_LINES: usize = 5;

/// A running host. It is killed when it is dropped, and ends by itself with this process, however that ends.
#[derive(Debug)]
pub(crate) struct Host {
    process: Child,
    /// Nothing is written to it: the host ends when it is closed, and the system closes it for a process that has no
    /// chance to. It is kept here because waiting for a child closes the one in it.
    _input: Option<ChildStdin>,
    address: String,
}

impl Host {
    /// Starts the host, and waits until it serves. What it says goes to the file `log`.
    pub(crate) fn start(mut command: Command, log: &Path, screen: &mut Screen) -> Result<Self> {
        let start = Instant::now();
        let said = File::options().create(true).append(true).open(log);
        command
            .arg("--end-with-input")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said.with_context(|| log.display().to_string())?);
        let mut process = command.spawn().context("cannot start the host")?;
        let input = process.stdin.take();
        let mut host = Self {
            process,
            _input: input,
            address: String::new(),
        };
        let output = host.process.stdout.take().context("its output is piped")?;
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("Serving http://") {
                    // Nobody waits for a second line.
                    let _ = sender.send(address.to_owned());
                }
            }
        });
        while start.elapsed() < PATIENCE {
            match receiver.recv_timeout(BLINK) {
                Ok(address) => {
                    host.address = address;
                    return Ok(host);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = start.elapsed().as_secs();
                    screen.passing(&format!("starting the host: {seconds} s"))?;
                }
            }
        }
        bail!("the host does not serve:{}", last_words(log));
    }

    /// Where it serves, as `ADDRESS:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Ends the host in the middle of whatever it does: on Unix this is `kill -9`.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.process.kill().context("the host cannot be killed")?;
        self.process.wait().context("the host does not end")?;
        Ok(())
    }

    /// Waits until somebody ends it.
    pub(crate) fn wait(&mut self) -> Result<()> {
        self.process.wait().context("the host is lost")?;
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    format!("\n  {}", lines[from..].join("\n  "))
}
