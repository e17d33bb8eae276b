//! A Redis server of the test's own.

use crate::{START, free_port, wait_until};
use std::collections::BTreeMap;
use std::fs;
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
        fs::create_dir_all(dir).expect("a folder can be made");
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

    /// The folder with its file.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Everything that is in it at one instant: keys and values.
    ///
    /// # Panics
    /// When Redis does not say.
    #[must_use]
    pub fn dump(&self) -> BTreeMap<String, Vec<u8>> {
        const SCRIPT: &str = "local all = {} for _, key in ipairs(redis.call('keys', '*')) do \
            all[#all + 1] = key all[#all + 1] = redis.call('get', key) end return all";
        let strings = self.command(&[b"EVAL", SCRIPT.as_bytes(), b"0"]);
        let pairs = strings.chunks_exact(2).map(|pair| {
            let key = String::from_utf8(pair[0].clone()).expect("keys are text");
            (key, pair[1].clone())
        });
        pairs.collect()
    }

    /// Puts a value under a key.
    ///
    /// # Panics
    /// When Redis does not.
    pub fn set(&self, key: &str, value: &[u8]) {
        let said = self.command(&[b"SET", key.as_bytes(), value]);
        assert_eq!(said, [b"OK"]);
    }

    /// Sends one command, and gives the strings of its answer.
    ///
    /// # Panics
    /// When Redis does not answer, or with an error.
    #[must_use]
    pub fn command(&self, words: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("Redis listens");
        let mut sent = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            sent.extend(format!("${}\r\n", word.len()).bytes());
            sent.extend([word, &b"\r\n"[..]].concat());
        }
        stream.write_all(&sent).expect("Redis listens");
        read_strings(&mut BufReader::new(stream))
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

/// Reads a string, a number, or an array of these.
fn read_strings(answers: &mut impl BufRead) -> Vec<Vec<u8>> {
    let mut line = String::new();
    answers.read_line(&mut line).expect("Redis answers");
    let (kind, text) = line.trim_end().split_at(1);
    let length = || -> usize { text.parse().unwrap_or_else(|_| panic!("{line}")) };
    match kind {
        "+" | ":" => vec![text.as_bytes().to_vec()],
        "*" => (0..length()).flat_map(|_| read_strings(answers)).collect(),
        "$" => {
            let length = length();
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
