//! Applications around the test component, and the host as a process of its own that runs them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

/// The host's program.
const HOST: &str = env!("CARGO_BIN_EXE_reprise-host");

/// Names the compiled test component, if it is not where its build puts it.
const GUEST_VARIABLE: &str = "REPRISE_HOST_GUEST";

/// Where the test component's build puts it, from the target directory.
const GUEST: &str = "wasm32-wasip2/release/reprise_host_guest.wasm";

/// How long to wait for what has to happen, and how often to look.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

/// The fields of the component that most tests need.
pub(crate) const STORE: &str = "key_value_stores = [\"default\"]";

/// An application directory with one component, `guest`, that takes all paths. It ends with this value.
pub(crate) struct Application {
    directory: tempfile::TempDir,
}

impl Application {
    /// The test component with these fields in its manifest entry.
    pub(crate) fn new(fields: &str) -> Self {
        Self::with_manifest(&format!(
            "[[trigger.http]]\nroute = \"/...\"\ncomponent = \"guest\"\n[component.guest]\nsource = {GUEST_KEY}\n{fields}\n"
        ))
    }

    /// A manifest's triggers and components, in which [`GUEST_KEY`] stands for the test component's source.
    pub(crate) fn with_manifest(manifest: &str) -> Self {
        let directory = tempfile::tempdir().expect("there is room for a directory");
        let guest = toml::Value::String(guest().display().to_string()).to_string();
        let manifest = manifest.replace(GUEST_KEY, &guest);
        let head = "spin_manifest_version = 2\napplication = { name = \"test\" }\n";
        fs::write(
            directory.path().join("spin.toml"),
            format!("{head}{manifest}"),
        )
        .expect("it can be written to");
        let application = Self { directory };
        fs::create_dir(application.temporary()).expect("it can be written to");
        application
    }

    /// The application's directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs the host on it until it serves.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let log = fs::File::create(self.log_path()).expect("the directory can be written to");
        let mut process = Process(
            self.command(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(log)
                .spawn()
                .expect("the host is a program"),
        );
        let mut line = String::new();
        let output = process.0.stdout.take().expect("stdout is piped");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("the host writes text");
        let Some(address) = line.trim_end().strip_prefix("Serving http://") else {
            panic!("the host said {line:?} and: {}", self.log());
        };
        Running {
            process,
            address: address.to_owned(),
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    /// Runs the host on something that it has to refuse, and returns what it says about it.
    pub(crate) async fn refusal(&self, arguments: &[&str]) -> String {
        let [output, log] = [self.path().join("stdout.log"), self.log_path()];
        let create = |path: &Path| fs::File::create(path).expect("the directory can be written to");
        let mut child = Process(
            self.command(arguments)
                .stdout(create(&output))
                .stderr(create(&log))
                .spawn()
                .expect("the host is a program"),
        );
        assert!(!child.ended().await.success(), "{arguments:?}");
        assert_eq!(
            fs::read_to_string(output).expect("it is there"),
            "",
            "it never served"
        );
        self.log()
    }

    /// Waits until the host has written a text to stderr.
    pub(crate) async fn logged(&self, text: &str) {
        eventually(async || self.log().contains(text)).await;
    }

    /// What the host wrote to stderr so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.path().join("stderr.log")
    }

    /// How many copies of the guest's manifest hosts have in the state directory.
    pub(crate) fn copies(&self) -> usize {
        let places = self.path().join(".spin/processes");
        let places = fs::read_dir(places).expect("hosts have places there");
        let copies = places.map(|place| place.expect("it can be read").path().join("files/guest"));
        copies
            .filter(|files| files.join("spin.toml").exists())
            .count()
    }

    /// How many files there are where programs put their temporary ones.
    pub(crate) fn temporary_files(&self) -> usize {
        let files = fs::read_dir(self.temporary());
        files.expect("the directory is there").count()
    }

    /// Where the host would put temporary files.
    fn temporary(&self) -> PathBuf {
        self.path().join("temporary")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HOST);
        // The compiled component is shared by all tests.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wasmtime-cache");
        command
            .arg("--from")
            .arg(self.path())
            .arg("--cache-dir")
            .arg(cache)
            .args(arguments)
            .env("TMPDIR", self.temporary());
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command
    }
}

/// Stands for the test component's path in a manifest.
pub(crate) const GUEST_KEY: &str = "GUEST";

fn guest() -> PathBuf {
    let named = std::env::var_os(GUEST_VARIABLE).map(PathBuf::from);
    let path = named.unwrap_or_else(|| {
        let target = Path::new(HOST)
            .ancestors()
            .nth(2)
            .expect("programs are two levels below the target directory");
        target.join(GUEST)
    });
    assert!(
        path.is_file(),
        "there is no test component at {}: build the package reprise-host-guest for wasm32-wasip2 in release mode, \
         or name it in {GUEST_VARIABLE}",
        path.display()
    );
    path
}

/// Waits for something that has to become true by itself, and fails the test if it does not.
pub(crate) async fn eventually(condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("it becomes true");
}

/// A process that is killed with this value.
struct Process(Child);

impl Process {
    /// Waits for the process to end by itself.
    async fn ended(&mut self) -> ExitStatus {
        let waiting = async {
            loop {
                if let Some(status) = self.0.try_wait().expect("it was started") {
                    return status;
                }
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .expect("the host ends")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host that serves; it is killed with this value.
pub(crate) struct Running {
    process: Process,
    /// Where it listens.
    pub(crate) address: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Running {
    /// Asks for a path and returns the status and the body's text.
    pub(crate) async fn get(&self, path: &str) -> (StatusCode, String) {
        self.send(
            Request::get(self.url(path))
                .body(Full::default())
                .expect("tests ask for valid paths"),
        )
        .await
    }

    /// Asks for a path that answers 200 with JSON.
    pub(crate) async fn json(&self, path: &str) -> Value {
        Self::ok(path, self.get(path).await)
    }

    /// Runs a script of the test component, which answers 200.
    pub(crate) async fn script(&self, path: &str, script: &Value) -> Value {
        Self::ok(path, self.post(path, script.to_string()).await)
    }

    /// Posts a body and returns the status and the answer's text.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Bytes>) -> (StatusCode, String) {
        let request = Request::post(self.url(path)).body(Full::new(body.into()));
        self.send(request.expect("tests ask for valid paths")).await
    }

    /// Sends a request and returns the status and the body's text.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> (StatusCode, String) {
        let response = self
            .client
            .request(request)
            .await
            .expect("the host answers");
        let (head, body) = Response::into_parts(response);
        let body = body
            .collect()
            .await
            .expect("the answer is whole")
            .to_bytes();
        (
            head.status,
            String::from_utf8(body.to_vec()).expect("the answer is text"),
        )
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.process.0.id().to_string()])
            .status();
        assert!(sent.expect("kill is a program").success());
    }

    /// Closes the process' input, as the system does when whoever started it has ended.
    pub(crate) fn close_input(&mut self) {
        drop(self.process.0.stdin.take());
    }

    /// Waits for the process to end by itself.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        self.process.ended().await
    }

    fn ok(path: &str, (status, body): (StatusCode, String)) -> Value {
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        serde_json::from_str(&body).expect("the test component answers JSON")
    }
}

/// Reads a request's head from a connection.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("the head is whole"));
    }
    String::from_utf8(head).expect("a head is text")
}
