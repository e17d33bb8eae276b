//! A service as a process of its own, on a port of its own. It is killed when it is dropped.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use reprise_e2e::{Client, free_port};

/// How long a service may take to come up. Generous, because a cold start compiles the components.
const START: Duration = Duration::from_mins(5);
/// The time between two looks whether it has.
const PAUSE: Duration = Duration::from_millis(1);

/// A running service.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts what `command` makes of an address, and waits until `ready` answers with 200. What it prints goes into a
    /// file in `folder`.
    pub(crate) fn start(
        folder: &Path,
        name: &str,
        ready: &str,
        command: impl FnOnce(&str) -> Command,
    ) -> Result<Self> {
        let (mut server, log) = Self::launch(folder, name, command)?;
        let start = Instant::now();
        while status(&server.address, ready) != Some(200) {
            let ended = server.process.try_wait()?;
            if ended.is_some() || start.elapsed() > START {
                let printed = fs::read_to_string(&log).unwrap_or_default();
                bail!("{name} does not serve {ready}: {printed}");
            }
            std::thread::sleep(PAUSE);
        }
        Ok(server)
    }

    /// Starts a service without waiting for it. Tells where it prints to.
    pub(crate) fn launch(
        folder: &Path,
        name: &str,
        command: impl FnOnce(&str) -> Command,
    ) -> Result<(Self, PathBuf)> {
        let address = format!("127.0.0.1:{}", free_port());
        let log = folder.join(format!("{name}.log"));
        let (out, err) = (
            File::create(&log)?,
            File::options().append(true).open(&log)?,
        );
        let mut command = command(&address);
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let process = command
            .spawn()
            .with_context(|| format!("{} cannot be started", command.get_program().display()))?;
        Ok((Self { process, address }, log))
    }

    /// Where it serves, as `HOST:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        Client::new(&self.address)
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The status of the answer to a request for this path; none where nobody listens yet. It has a connection of its own
/// and no library's warm-up, so that it can be timed.
pub(crate) fn status(address: &str, path: &str) -> Option<u16> {
    answered(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"),
    )
}

/// The status of the answer to this request.
pub(crate) fn answered(address: &str, request: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(START)).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.split(' ').nth(1)?.parse().ok()
}
