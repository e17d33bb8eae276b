//! Where a document is played: a folder that commands run in, and a service that they talk to.
//!
//! The service is what the document has said so far: it is started when it is first needed, and again, over the same
//! data, when a piece of configuration has come since.

use crate::block::root;
use crate::elsewhere;
use crate::pattern::{Names, first_missing, lines_match};
use crate::transcript::Step;
use reprise_e2e::{Host, Httpbin, Options, State};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long what follows an answer may take: an event's delivery, a retry.
const SOON: Duration = Duration::from_secs(15);

/// The operators' token, which documents call `$TOKEN`.
const TOKEN: &str = "token-of-a-document";

/// Where documents have the service.
const SERVICE: [&str; 2] = ["localhost:3000", "127.0.0.1:3000"];

/// Where documents have an API that knows nothing of keys.
const HTTPBIN: &str = "127.0.0.1:8080";

/// What commands find in their folder beside the service's data.
const LINKED: [&str; 3] = ["deploy", "reprise.toml", "spin.toml"];

/// A folder and a service.
pub(crate) struct World {
    folder: TempDir,
    options: Options,
    config: String,
    host: Option<Host>,
    log: Vec<String>,
    httpbin: Option<Httpbin>,
    names: Names,
}

impl World {
    /// An empty folder. Nothing runs yet.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("there is room for a folder");
        for name in LINKED {
            symlink(root().join(name), folder.path().join(name)).expect("it can be linked");
        }
        let reference = std::fs::read_to_string(root().join("reprise.toml"));
        // A wait that cannot be over by the time of the next command, whatever else the machine does.
        let options = Options::default()
            .variable("admin_token", TOKEN)
            .tick("1s")
            .edit(
                "cap = \"1m\", floor = \"100ms\"",
                "cap = \"1m\", floor = \"900ms\"",
            );
        Self {
            folder,
            options,
            config: reference.expect("the reference configuration is here"),
            host: None,
            log: Vec::new(),
            httpbin: None,
            names: Names::default(),
        }
    }

    /// Adds a piece to `reprise.toml`, which the service reads when it is next needed.
    pub(crate) fn add_config(&mut self, piece: &str) {
        self.stop();
        let piece = self.here(piece);
        self.config.push_str(&piece);
        self.options = self.options.clone().config(&self.config);
    }

    /// Puts a line in the place of that in `spin.toml` which begins alike.
    pub(crate) fn replace_in_manifest(&mut self, line: &str) {
        self.stop();
        let line = self.here(line.trim_end());
        let (name, _) = line.split_once(" = ").expect("a line of TOML has a name");
        let manifest = std::fs::read_to_string(root().join("spin.toml")).expect("it is here");
        let former = manifest.lines().find(|former| former.starts_with(name));
        let former = former.unwrap_or_else(|| panic!("spin.toml has no {name}"));
        self.options = self.options.clone().manifest_edit(former, &line);
    }

    /// Runs a command and compares what it prints.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        let written: Vec<String> = step.output.iter().map(|line| self.here(line)).collect();
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        let start = Instant::now();
        loop {
            let seen = self.run(&step.command)?;
            let lines: Vec<&str> = seen
                .lines()
                .map(|line| line.trim_end_matches('\r'))
                .collect();
            if written.is_empty() || lines_match(&written, &lines, &mut self.names) {
                return Ok(());
            }
            // What a command only looks at may take a moment: it is what follows an answer.
            if !only_looks(&step.command) || start.elapsed() > SOON {
                let missing = first_missing(&written, &lines, &self.names);
                return Err(format!(
                    "it does not print, at its place: {missing}\n--- but prints:\n{seen}"
                ));
            }
            sleep(Duration::from_millis(100));
        }
    }

    /// Runs a script, and gives what it prints.
    pub(crate) fn run(&mut self, script: &str) -> Result<String, String> {
        match script.trim() {
            "cargo xtask up" | "systemctl start reprise.service" => {
                let address = self.host().address().to_owned();
                return Ok(format!("Serving http://{address}\n"));
            }
            "systemctl stop reprise.service" => {
                self.stop();
                return Ok(String::new());
            }
            // It plays on a service of its own.
            "cargo xtask demo" => {
                let mut demo = patient("cargo");
                return output(demo.args(["xtask", "demo"]).current_dir(root()));
            }
            script if elsewhere::is_elsewhere(script) => {
                return elsewhere::check(script).map(|()| String::new());
            }
            _ => {}
        }
        let script = self.here(script);
        let script = self.names.here(&script);
        let mut bash = patient("bash");
        bash.args(["-e", "-u", "-o", "pipefail", "-c", &script]);
        bash.current_dir(self.folder.path());
        output(bash.env("TOKEN", TOKEN))
    }

    /// Every line of the service's log so far, without the component's name that our host puts before each.
    pub(crate) fn log(&self) -> Vec<String> {
        let running = self.host.iter().flat_map(Host::log);
        let lines = self.log.iter().cloned().chain(running);
        lines
            .filter_map(|line| line.strip_prefix("[reprise] ").map(str::to_owned))
            .collect()
    }

    /// Whether a line of the document is a line of the service's log.
    pub(crate) fn is_logged(&mut self, line: &str) -> bool {
        let log = self.log();
        log.iter()
            .any(|seen| lines_match(&[line], &[seen], &mut self.names))
    }

    fn host(&mut self) -> &Host {
        let state = self.folder.path().join(".spin");
        let options = &self.options;
        self.host.get_or_insert_with(|| {
            std::fs::create_dir_all(&state).expect("the folder can be written to");
            Host::start(&State::at(&state), options)
        })
    }

    fn stop(&mut self) {
        if let Some(mut host) = self.host.take() {
            host.kill();
            self.log.extend(host.log());
        }
    }

    /// A text of the document with the addresses of this run.
    fn here(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains(HTTPBIN) {
            let folder = self.folder.path();
            let httpbin = self.httpbin.get_or_insert_with(|| Httpbin::start(folder));
            text = text.replace(HTTPBIN, httpbin.url().trim_start_matches("http://"));
        }
        if SERVICE.iter().any(|address| text.contains(address)) {
            let here = self.host().address().to_owned();
            for address in SERVICE {
                text = text.replace(address, &here);
            }
        }
        text
    }
}

/// Whether a command asks and changes nothing, so that it may be asked again.
fn only_looks(command: &str) -> bool {
    let changes = [" -d", " -X", " --data", " --request"];
    let is_get =
        command.starts_with("curl ") && !changes.iter().any(|option| command.contains(option));
    let is_query = command.starts_with("sqlite3 ") && command.contains("\"SELECT ");
    is_get || is_query
}

/// How long a command of a document may take.
const PATIENCE_S: u64 = 120;

/// A command of a document, which is given up after a while: one that does not end would hold up the whole run.
fn patient(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.arg(PATIENCE_S.to_string()).arg(program);
    command.stdin(Stdio::null());
    command
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        let (printed, errors) = (text(&output.stdout), text(&output.stderr));
        Err(format!(
            "it ends with {}\n{printed}\n{errors}",
            output.status
        ))
    }
}
