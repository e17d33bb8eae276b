//! A Redis server of the test's own.

use crate::{START, free_port, wait_until};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running Redis, every write on disk before it is answered. It is killed when it is dropped.
#[derive(Debug)]
pub struct Redis {
    process: Child,
    port: u16,
}

impl Redis {
    /// Starts a Redis over this folder and waits until it answers.
    ///
    /// # Panics
    /// When `redis-server` is not installed or does not come up.
    #[must_use]
    pub fn start(dir: &Path) -> Self {
        let port = free_port();
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
        ]);
        command
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            .arg("--dir")
            .arg(dir);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let process = command.spawn().unwrap_or_else(|error| {
            panic!("redis-server (Debian's package of that name): {error}")
        });
        let redis = Self { process, port };
        wait_until("a Redis", START, || {
            redis
                .command("PING")
                .is_some_and(|pong| pong.contains("PONG"))
        });
        redis
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// How many keys there are whose names begin like this.
    ///
    /// # Panics
    /// When Redis does not say.
    #[must_use]
    pub fn count_keys(&self, prefix: &str) -> usize {
        let script = format!("EVAL \"return #redis.call('keys','{prefix}*')\" 0");
        let answer = self.command(&script).expect("Redis answers");
        answer
            .trim_start_matches(':')
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{answer}"))
    }

    /// Sends one command, and gives the first piece of the answer.
    fn command(&self, command: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
        let mut answer = [0; 512];
        let length = stream.read(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer[..length]).into_owned())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
