//! The host as a process of its own.

use crate::START;
use crate::client::Client;
use serde_json::Value;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// The folder of the operators' page, which the manifest mounts.
const PAGE: &str = "src/shell/console";

/// How a host is started.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Variables of the manifest.
    pub variables: Vec<(String, String)>,
    /// The URL of a Redis that takes the place of SQLite.
    pub redis: Option<String>,
    /// A whole `reprise.toml` that takes the place of the repository's.
    pub config: Option<String>,
    /// Replacements in `reprise.toml`.
    pub edits: Vec<(String, String)>,
    /// How often the host ticks, if at all.
    pub tick: Option<String>,
    /// A file that says how slow the store is, in milliseconds for each call.
    pub store_delay: Option<PathBuf>,
    /// The journal of the SQLite file, where it is not to be the host's choice.
    pub journal: Option<String>,
}

impl Options {
    /// Sets a variable of the manifest.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Puts this in the place of the repository's `reprise.toml`.
    #[must_use]
    pub fn config(mut self, text: &str) -> Self {
        self.config = Some(text.to_owned());
        self
    }

    /// Replaces a piece of `reprise.toml`, everywhere that it comes.
    #[must_use]
    pub fn edit(mut self, from: &str, to: &str) -> Self {
        self.edits.push((from.to_owned(), to.to_owned()));
        self
    }

    /// Lets the host tick this often, which takes an operators' token.
    #[must_use]
    pub fn tick(mut self, every: &str) -> Self {
        self.tick = Some(every.to_owned());
        self
    }

    /// Has the SQLite file keep this journal.
    #[must_use]
    pub fn journal(mut self, journal: &str) -> Self {
        self.journal = Some(journal.to_owned());
        self
    }

    /// Has the store take as long for each call as this file says at that moment, in milliseconds.
    #[must_use]
    pub fn store_delay(mut self, file: &Path) -> Self {
        self.store_delay = Some(file.to_owned());
        self
    }

    /// Uses a Redis.
    #[must_use]
    pub fn redis(mut self, url: &str) -> Self {
        self.redis = Some(url.to_owned());
        self
    }
}

impl Options {
    /// The manifest to start: the repository's, or with a configuration of its own a copy in the state's folder, which
    /// may send requests to any loopback port.
    ///
    /// # Panics
    /// When the copy cannot be made, or an edit finds nothing.
    #[must_use]
    pub fn application(&self, state: &Path) -> PathBuf {
        let manifest = manifest();
        let root = manifest.parent().expect("a manifest is in a folder");
        let read = |name: &str| {
            let path = root.join(name);
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let mut config = self.config.clone().unwrap_or_else(|| read("reprise.toml"));
        for (from, to) in &self.edits {
            assert!(
                config.contains(from),
                "{from:?} is not in the configuration"
            );
            config = config.replace(from, to);
        }
        let source = format!("source = \"{}/target/", root.display());
        let text = read("spin.toml")
            .replace("source = \"target/", &source)
            .replace(
                "allowed_outbound_hosts = [\"",
                "allowed_outbound_hosts = [\"http://127.0.0.1:*\", \"",
            );
        let copy = state.join("application");
        let write = |name: &str, text: &str| {
            fs::write(copy.join(name), text).expect("the state's folder can be written to");
        };
        fs::create_dir_all(&copy).expect("the state's folder can be written to");
        write("spin.toml", &text);
        write("reprise.toml", &config);
        write("openapi.yaml", &read("openapi.yaml"));
        let page = copy.join(PAGE);
        fs::create_dir_all(&page).expect("the state's folder can be written to");
        for file in fs::read_dir(root.join(PAGE)).expect("the operators' page is here") {
            let file = file.expect("the operators' page can be read");
            fs::copy(file.path(), page.join(file.file_name()))
                .expect("the state's folder can be written to");
        }
        copy
    }
}

/// A running host. It is killed when it is dropped.
#[derive(Debug)]
pub struct Host {
    process: Child,
    address: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl Host {
    /// Starts a host over the state in this folder, on a port of its own, and waits until it serves.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn start(state: &Path, options: &Options) -> Self {
        Self::run(Command::new(host_program()), state, options)
    }

    /// Starts a host that cannot make any file longer than this many bytes, as on a disk that is full.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn start_with_file_limit(state: &Path, options: &Options, bytes: u64) -> Self {
        // The signal that comes with the limit is ignored, so that a write fails as it does on a full disk.
        let mut command = Command::new("sh");
        command.args([
            "-c",
            r#"trap "" XFSZ; exec prlimit --fsize="$0:" "$@""#,
            &bytes.to_string(),
        ]);
        command.arg(host_program());
        Self::run(command, state, options)
    }

    /// Lets a host that could make no long files make them, as when a disk has room again.
    ///
    /// # Panics
    /// When the system does not let it.
    pub fn lift_file_limit(&self) {
        let process = self.process.id().to_string();
        let lifted = Command::new("prlimit")
            .args(["--pid", &process, "--fsize=unlimited:"])
            .status();
        assert!(
            lifted.expect("prlimit is there").success(),
            "no limit is lifted"
        );
    }

    fn run(mut command: Command, state: &Path, options: &Options) -> Self {
        command.arg("--from").arg(options.application(state)).args([
            "--listen",
            "127.0.0.1:0",
            "--stats",
        ]);
        command
            .arg("--state-dir")
            .arg(state)
            .arg("--cache-dir")
            .arg(compile_cache());
        for (name, value) in &options.variables {
            command.arg("--variable").arg(format!("{name}={value}"));
        }
        if let Some(every) = &options.tick {
            command.args(["--tick", every]);
        }
        if let Some(journal) = &options.journal {
            command.args(["--journal", journal]);
        }
        if let Some(file) = &options.store_delay {
            command.arg("--store-delay").arg(file);
        }
        if let Some(url) = &options.redis {
            command.args(["--redis", url]);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap_or_else(|error| {
            panic!("{command:?} cannot be started: {error}; `cargo xtask test` builds the host")
        });
        let output = BufReader::new(process.stdout.take().expect("its output is piped"));
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("Serving http://") {
                    // Nobody waits for a second line.
                    let _ = sender.send(address.to_owned());
                }
            }
        });
        let Ok(address) = receiver.recv_timeout(START) else {
            let _ = process.kill();
            panic!("the host did not say where it serves within {START:?}");
        };
        let log = Arc::default();
        let lines = Arc::clone(&log);
        let output = BufReader::new(process.stderr.take().expect("its errors are piped"));
        std::thread::spawn(move || read_log(output, &lines));
        Self {
            process,
            address,
            log,
        }
    }

    /// The last lines that the host and its components have written to the log.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Where it serves, as `HOST:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Where it serves, as a URL without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client of this host, with connections of its own.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(&self.address)
    }

    /// Kills the host with SIGKILL, in the middle of whatever it does.
    ///
    /// # Panics
    /// When the process cannot be killed or waited for.
    pub fn kill(&mut self) {
        self.process
            .kill()
            .expect("a running process can be killed");
        self.process.wait().expect("a killed process ends");
    }

    /// How much memory the process has in use, in bytes, its guests' included.
    ///
    /// # Panics
    /// When the system does not say.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("a running process has a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.expect("the status tells the resident memory") * 1_024
    }

    /// What the host has counted: key-value reads and writes since it began.
    ///
    /// # Panics
    /// When it does not say.
    #[must_use]
    pub fn key_value_calls(&self) -> (u64, u64) {
        let stats: Value = self.client().get("/.host/stats").json();
        let count = |name: &str| stats["kv"][name].as_u64().expect("the host counts");
        (count("reads"), count("writes"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Keeps the last lines of a log, and reads on until it ends: a pipe that nobody reads would hold the host up.
fn read_log(output: impl BufRead, kept: &Mutex<Vec<String>>) {
    const LINES: usize = 4_096;
    for line in output.lines().map_while(Result::ok) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= LINES {
            kept.drain(..LINES / 2);
        }
        kept.push(line);
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

fn host_program() -> PathBuf {
    env::var_os("REPRISE_HOST").map_or_else(|| target().join("host/reprise-host"), PathBuf::from)
}

fn manifest() -> PathBuf {
    env::var_os("REPRISE_MANIFEST").map_or_else(|| workspace().join("spin.toml"), PathBuf::from)
}

/// All hosts of all tests compile the component once.
fn compile_cache() -> PathBuf {
    target().join("wasmtime-cache")
}
