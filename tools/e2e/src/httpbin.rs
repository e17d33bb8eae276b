//! httpbin: an HTTP service that somebody else wrote, started from the Python of `requirements.txt`.

use crate::{START, free_port, python, wait_until};
use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running httpbin. It is killed when it is dropped.
#[derive(Debug)]
pub struct Httpbin {
    process: Child,
    port: u16,
    log: PathBuf,
}

impl Httpbin {
    /// Starts one that keeps its access log in this folder, and waits until it listens.
    ///
    /// # Panics
    /// When nobody says where the Python is, or it does not come up.
    #[must_use]
    pub fn start(dir: &Path) -> Self {
        let port = free_port();
        let log = dir.join("httpbin.log");
        let file = File::create(&log).expect("the folder can be written to");
        let process = Command::new(python())
            .args(["-m", "httpbin.core", "--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("REPRISE_PYTHON names a program");
        let started = Self { process, port, log };
        wait_until("httpbin", START, || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        started
    }

    /// Its URL, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How many requests it has answered whose line in its own access log has this method and path.
    ///
    /// # Panics
    /// When the log cannot be read.
    #[must_use]
    pub fn answered(&self, request: &str) -> usize {
        let log = fs::read_to_string(&self.log).expect("the log is there");
        let line = format!("{request} HTTP/1.1");
        log.lines().filter(|logged| logged.contains(&line)).count()
    }
}

impl Drop for Httpbin {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
