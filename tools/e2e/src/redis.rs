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

    /// Everything that is in it at one instant: keys and values.
    ///
    /// # Panics
    /// When Redis does not say.
    #[must_use]
    pub fn dump(&self) -> BTreeMap<String, Vec<u8>> {
        const SCRIPT: &str = "local all = {} for _, key in ipairs(redis.call('keys', '*')) do \
            all[#all + 1] = key all[#all + 1] = redis.call('get', key) end return all";
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("Redis listens");
        stream
            .write_all(format!("EVAL \"{SCRIPT}\" 0\r\n").as_bytes())
            .expect("Redis listens");
        let strings = read_strings(&mut BufReader::new(stream));
        let pairs = strings.chunks_exact(2).map(|pair| {
            let key = String::from_utf8(pair[0].clone()).expect("keys are text");
            (key, pair[1].clone())
        });
        pairs.collect()
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
    let length: usize = length.parse().unwrap_or_else(|_| panic!("{line}"));
    match kind {
        "*" => (0..length).flat_map(|_| read_strings(answers)).collect(),
        "$" => {
            let mut bytes = vec![0; length + 2];
            answers.read_exact(&mut bytes).expect("Redis answers");
            bytes.truncate(length);
            vec![bytes]
        }
        _ => panic!("{line}"),
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
