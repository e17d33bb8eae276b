//! A Redis server of the test's own.

use crate::{START, free_port, wait_until};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running Redis, every write on disk before it is answered. It is killed when it is dropped.
#[derive(Debug)]
pub struct Redis {
    process: Child,
    port: u16,
    dir: PathBuf,
}

impl Redis {
    /// Starts a Redis over this folder and waits until it answers.
    ///
    /// # Panics
    /// When `redis-server` is not installed or does not come up.
    #[must_use]
    pub fn start(dir: &Path) -> Self {
        let port = free_port();
        Self {
            process: launch(dir, port),
            port,
            dir: dir.to_owned(),
        }
    }

    /// Kills it with SIGKILL.
    ///
    /// # Panics
    /// When the process cannot be killed or waited for.
    pub fn kill(&mut self) {
        self.process
            .kill()
            .expect("a running process can be killed");
        self.process.wait().expect("a killed process ends");
    }

    /// Starts it again over its folder, on its port.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn restart(&mut self) {
        self.process = launch(&self.dir, self.port);
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

    /// Everything that is in it: keys and values.
    ///
    /// # Panics
    /// When Redis does not say.
    #[must_use]
    pub fn dump(&self) -> BTreeMap<String, Vec<u8>> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("Redis listens");
        let mut answers = BufReader::new(&stream);
        let mut ask = |command: String| {
            (&stream)
                .write_all(format!("{command}\r\n").as_bytes())
                .expect("Redis listens");
            read_strings(&mut answers)
        };
        let keys = ask("KEYS *".to_owned());
        let keys = keys
            .into_iter()
            .map(|key| String::from_utf8(key).expect("keys are text"));
        keys.map(|key| {
            let value = ask(format!("GET {key}")).pop();
            (key, value.expect("nobody deletes meanwhile"))
        })
        .collect()
    }

    fn command(&self, command: &str) -> Option<String> {
        ask(self.port, command)
    }
}

fn launch(dir: &Path, port: u16) -> Child {
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
    let process = command
        .spawn()
        .unwrap_or_else(|error| panic!("redis-server (Debian's package of that name): {error}"));
    wait_until("a Redis", START, || {
        ask(port, "PING").is_some_and(|pong| pong.contains("PONG"))
    });
    process
}

/// Sends one command, and gives the first piece of the answer.
fn ask(port: u16, command: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
    let mut answer = [0; 512];
    let length = stream.read(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer[..length]).into_owned())
}

/// Reads a string, or an array of strings.
fn read_strings(answers: &mut impl BufRead) -> Vec<Vec<u8>> {
    let mut line = String::new();
    answers.read_line(&mut line).expect("Redis answers");
    let (kind, length) = line.trim_end().split_at(1);
    // The absent string has the length -1.
    let length: Option<usize> = length.parse().ok();
    match (kind, length) {
        ("*", Some(length)) => (0..length).flat_map(|_| read_strings(answers)).collect(),
        ("$", Some(length)) => {
            let mut bytes = vec![0; length + 2];
            answers.read_exact(&mut bytes).expect("Redis answers");
            bytes.truncate(length);
            vec![bytes]
        }
        ("$", None) => Vec::new(),
        _ => panic!("Redis answers {line:?}"),
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
