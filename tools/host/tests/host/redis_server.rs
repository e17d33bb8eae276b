//! A Redis server for one test, on a free loopback port.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};

/// How often another port is tried if somebody took the one that was free.
const ATTEMPTS: u32 = 5;

/// A running server; it ends with this value.
pub(crate) struct RedisServer {
    child: Child,
    port: u16,
    /// Read to its end by nobody, and kept so that the server's writes do not fail.
    _output: BufReader<ChildStdout>,
}

impl RedisServer {
    /// Starts a server without files and waits until it takes connections.
    pub(crate) fn start() -> Self {
        Self::start_with(&["--save", "", "--appendonly", "no"])
    }

    /// Starts a server with these arguments and waits until it takes connections.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        (0..ATTEMPTS)
            .find_map(|_| Self::launch(arguments))
            .expect("redis-server starts on a free port")
    }

    fn launch(arguments: &[&str]) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("there is a free loopback port")
            .port();
        let mut child = Command::new("redis-server")
            // A file of settings comes first.
            .args(arguments)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("these tests need the program redis-server (Debian's package redis-server)");
        let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut line = String::new();
        while output.read_line(&mut line).expect("the server writes text") > 0 {
            if line.contains("Ready to accept connections") {
                return Some(Self {
                    child,
                    port,
                    _output: output,
                });
            }
            line.clear();
        }
        // It has closed its output, so it has ended.
        child.wait().expect("the server was started");
        None
    }

    /// The server's address.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// How many connections the server has, without the one that asks.
    pub(crate) async fn connections(&self) -> usize {
        let list = self.ask(&["CLIENT", "LIST"]).await;
        list.concat().lines().count() - 1
    }

    /// What the server answers to a command: a text, or a list of texts.
    pub(crate) async fn ask(&self, words: &[&str]) -> Vec<String> {
        let client = redis::Client::open(self.url()).expect("the address is a Redis URL");
        let mut connection = client
            .get_multiplexed_async_connection()
            .await
            .expect("the server is up");
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        let answer = command.query_async(&mut connection).await;
        answer.expect("the server is up")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
