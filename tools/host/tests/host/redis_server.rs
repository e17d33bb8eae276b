//! A Redis server for one test, on a free loopback port, without files.

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
    /// Starts a server and waits until it takes connections.
    pub(crate) fn start() -> Self {
        (0..ATTEMPTS)
            .find_map(|_| Self::try_start())
            .expect("redis-server starts on a free port")
    }

    fn try_start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("there is a free loopback port")
            .port();
        let mut child = Command::new("redis-server")
            .args([
                "--bind",
                "127.0.0.1",
                "--port",
                &port.to_string(),
                "--save",
                "",
                "--appendonly",
                "no",
            ])
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
        let client = redis::Client::open(self.url()).expect("the address is a Redis URL");
        let mut connection = client
            .get_multiplexed_async_connection()
            .await
            .expect("the server is up");
        let list: String = redis::cmd("CLIENT")
            .arg("LIST")
            .query_async(&mut connection)
            .await
            .expect("the server is up");
        list.lines().count() - 1
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
