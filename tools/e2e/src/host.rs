//! The host as processes of its own: one, or two that share a store.

use crate::START;
use crate::client::Client;
use crate::front::Front;
use crate::state::State;
use serde_json::Value;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// The folder of the operators' page, which the manifest mounts.
const PAGE: &str = "src/shell/console";

/// How a host is started.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Variables of the manifest.
    pub variables: Vec<(String, String)>,
    /// A whole `reprise.toml` that takes the place of the repository's.
    pub config: Option<String>,
    /// Replacements in `reprise.toml`.
    pub edits: Vec<(String, String)>,
    /// Replacements in `spin.toml`. With any, requests go where that file says and nowhere else.
    pub manifest_edits: Vec<(String, String)>,
    /// The folder of another application, which is then started as it is.
    pub from: Option<PathBuf>,
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

    /// Replaces a piece of `spin.toml`, which then says by itself where requests may go.
    #[must_use]
    pub fn manifest_edit(mut self, from: &str, to: &str) -> Self {
        self.manifest_edits.push((from.to_owned(), to.to_owned()));
        self
    }

    /// Starts the application in this folder as it is.
    #[must_use]
    pub fn from(mut self, folder: &Path) -> Self {
        self.from = Some(folder.to_owned());
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
}

impl Options {
    /// The manifest to start: the repository's, or with a configuration of its own a copy in the state's folder, which
    /// may send requests to any loopback port.
    ///
    /// # Panics
    /// When the copy cannot be made, or an edit finds nothing.
    #[must_use]
    pub fn application(&self, state: &Path) -> PathBuf {
        if let Some(folder) = &self.from {
            return folder.clone();
        }
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
        let mut text = read("spin.toml").replace("source = \"target/", &source);
        for (from, to) in &self.manifest_edits {
            assert!(text.contains(from), "{from:?} is not in the manifest");
            text = text.replace(from, to);
        }
        if self.manifest_edits.is_empty() {
            text = text.replace(
                "allowed_outbound_hosts = [\"",
                "allowed_outbound_hosts = [\"http://127.0.0.1:*\", \"",
            );
        }
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

/// The running service: the hosts of its store's arrangement, which are asked in turn. They are killed when it is dropped.
#[derive(Debug)]
pub struct Host {
    processes: Vec<Process>,
    /// Stands before several hosts for whoever needs one address.
    front: Option<Front>,
    /// How many requests its clients have sent, all together.
    turn: Arc<AtomicUsize>,
}

impl Host {
    /// Starts the hosts over this state, each on a port of its own, and waits until they serve.
    ///
    /// # Panics
    /// When one does not come up.
    #[must_use]
    pub fn start(state: &State, options: &Options) -> Self {
        let numbers = 0..state.arrangement().hosts();
        Self::launch(|| Command::new(host_program()), state, numbers, options)
    }

    /// Starts one host over this state, the one of this number; there may be others.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn start_one(state: &State, number: usize, options: &Options) -> Self {
        let numbers = number..number + 1;
        Self::launch(|| Command::new(host_program()), state, numbers, options)
    }

    /// Starts a host that cannot make any file longer than this many bytes, as on a disk that is full.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn start_with_file_limit(state: &State, options: &Options, bytes: u64) -> Self {
        // The signal that comes with the limit is ignored, so that a write fails as it does on a full disk.
        let program = || {
            let mut command = Command::new("sh");
            command.args(["-c", r#"trap "" XFSZ; exec prlimit --fsize="$0:" "$@""#]);
            command.arg(bytes.to_string()).arg(host_program());
            command
        };
        Self::launch(program, state, 0..1, options)
    }

    /// Lets hosts that could make no long files make them, as when a disk has room again.
    ///
    /// # Panics
    /// When the system does not let them.
    pub fn lift_file_limit(&self) {
        for process in &self.processes {
            let id = process.child.id().to_string();
            let lifted = Command::new("prlimit")
                .args(["--pid", &id, "--fsize=unlimited:"])
                .status();
            assert!(
                lifted.expect("prlimit is there").success(),
                "no limit is lifted"
            );
        }
    }

    /// How much memory the processes have in use, in bytes, their guests' included.
    ///
    /// # Panics
    /// When the system does not say.
    #[must_use]
    pub fn resident_bytes(&self) -> u64 {
        self.memory_bytes("VmRSS:")
    }

    /// The most memory that the processes have had in use since they began, in bytes, their guests' included.
    ///
    /// # Panics
    /// When the system does not say.
    #[must_use]
    pub fn most_resident_bytes(&self) -> u64 {
        self.memory_bytes("VmHWM:")
    }

    fn memory_bytes(&self, what: &str) -> u64 {
        let of_process = |process: &Process| {
            let status = fs::read_to_string(format!("/proc/{}/status", process.child.id()));
            let status = status.expect("a running process has a status");
            let line = status.lines().find_map(|line| line.strip_prefix(what));
            let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
            kib.expect("the status tells how much memory there is") * 1_024
        };
        self.processes.iter().map(of_process).sum()
    }

    fn launch(
        program: impl Fn() -> Command,
        state: &State,
        numbers: Range<usize>,
        options: &Options,
    ) -> Self {
        // Written once: no host may read it while it is written for the next one.
        let application = options.application(state.path());
        let starting: Vec<_> = numbers
            .map(|number| Starting::launch(program(), &application, state, number, options))
            .collect();
        let processes: Vec<_> = starting.into_iter().map(Starting::wait).collect();
        let front = (processes.len() > 1).then(|| {
            let front = Front::start(|_, _| false);
            let addresses = processes.iter().map(|process| process.address.clone());
            front.lead_to(addresses.collect());
            front
        });
        Self {
            processes,
            front,
            turn: Arc::default(),
        }
    }

    /// The last lines that the hosts and their components have written to the log, one host after the other.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        let logs = self.processes.iter().map(|process| &process.log);
        logs.flat_map(|log| log.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .collect()
    }

    /// Where it serves, as `HOST:PORT`. Connections to it go to the hosts in turn.
    #[must_use]
    pub fn address(&self) -> &str {
        let front = self.front.as_ref().map(Front::address);
        front.unwrap_or(&self.processes[0].address)
    }

    /// Where it serves, as a URL without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// A client with connections of its own, whose requests go to the hosts in turn.
    #[must_use]
    pub fn client(&self) -> Client {
        let addresses = self.processes.iter().map(|process| process.address.clone());
        Client::in_turn(addresses.collect(), Arc::clone(&self.turn))
    }

    /// Kills the hosts with SIGKILL, in the middle of whatever they do.
    ///
    /// # Panics
    /// When a process cannot be killed or waited for.
    pub fn kill(&mut self) {
        for Process { child, .. } in &mut self.processes {
            child.kill().expect("a running process can be killed");
        }
        for Process { child, .. } in &mut self.processes {
            child.wait().expect("a killed process ends");
        }
    }

    /// What the hosts have counted: key-value reads and writes since they began.
    ///
    /// # Panics
    /// When one does not say.
    #[must_use]
    pub fn key_value_calls(&self) -> (u64, u64) {
        let counts = self.processes.iter().map(|process| {
            let stats: Value = Client::new(&process.address).get("/.host/stats").json();
            let count = |name: &str| stats["kv"][name].as_u64().expect("the host counts");
            (count("reads"), count("writes"))
        });
        counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// One host. It is killed when it is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    address: String,
    log: Arc<Mutex<Vec<String>>>,
}

/// A host that may not serve yet.
struct Starting {
    child: Child,
    address: mpsc::Receiver<String>,
}

impl Starting {
    fn launch(
        mut command: Command,
        application: &Path,
        state: &State,
        number: usize,
        options: &Options,
    ) -> Self {
        command.arg("--from").arg(application);
        command.args(["--listen", "127.0.0.1:0", "--stats"]);
        command
            .arg("--state-dir")
            .arg(state.host_path(number))
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
        if let Some(redis) = state.redis() {
            command.args(["--redis", &redis.url()]);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| {
            panic!("{command:?} cannot be started: {error}; `cargo xtask test` builds the host")
        });
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let (sender, address) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("Serving http://") {
                    // Nobody waits for a second line.
                    let _ = sender.send(address.to_owned());
                }
            }
        });
        Self { child, address }
    }

    fn wait(mut self) -> Process {
        let Ok(address) = self.address.recv_timeout(START) else {
            let _ = self.child.kill();
            panic!("the host did not say where it serves within {START:?}");
        };
        let log = Arc::default();
        let lines = Arc::clone(&log);
        let output = BufReader::new(self.child.stderr.take().expect("its errors are piped"));
        std::thread::spawn(move || read_log(output, &lines));
        Process {
            child: self.child,
            address,
            log,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
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

/// The program of the host.
#[must_use]
pub fn host_program() -> PathBuf {
    env::var_os("REPRISE_HOST").map_or_else(|| target().join("host/reprise-host"), PathBuf::from)
}

/// The built component.
#[must_use]
pub fn component() -> PathBuf {
    let built = || workspace().join("target/wasm32-wasip2/release/reprise.wasm");
    env::var_os("REPRISE_WASM").map_or_else(built, PathBuf::from)
}

fn manifest() -> PathBuf {
    env::var_os("REPRISE_MANIFEST").map_or_else(|| workspace().join("spin.toml"), PathBuf::from)
}

/// All hosts of all tests compile the component once.
fn compile_cache() -> PathBuf {
    target().join("wasmtime-cache")
}
