//! A thousand connections of clients that send a byte a second, or read nothing: whoever sends whole requests is served
//! as if they were not there.

use reprise_e2e::raw::{RawRequest, answers};
use reprise_e2e::{Host, Options, State, wait_until};
use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const HEADS: usize = 350;
const BODIES: usize = 350;
const READERS: usize = 300;
/// Far more than a task takes on a machine that has nothing else to do, and far less than the slow ones take.
const AT_ONCE: Duration = Duration::from_secs(3);
/// How long a body may take to come, and what an answer may take beyond.
const BODY_DEADLINE: Duration = Duration::from_mins(1);
const SLACK: Duration = Duration::from_secs(10);
/// What the host may need for them all: a slow body costs its share of an instance, and those are a few MB each.
const MEMORY_BYTES: u64 = 512 << 20;

/// Lets this process, and the hosts that it starts, have as many files open as they need.
fn allow_files(count: usize) {
    let process = std::process::id().to_string();
    let raised = Command::new("prlimit")
        .args(["--pid", &process, &format!("--nofile={count}:")])
        .status();
    assert!(
        raised.expect("prlimit is there").success(),
        "{count} open files are not allowed"
    );
}

fn connect(host: &Host) -> TcpStream {
    TcpStream::connect(host.address()).expect("the host takes the connection")
}

/// Clients whose requests come a byte a second, each from another byte on.
struct Slow {
    streams: Vec<TcpStream>,
    bytes: Vec<u8>,
    sent: usize,
}

impl Slow {
    /// Sends the first bytes of a request at once.
    fn start(host: &Host, count: usize, request: &RawRequest, at_once: usize) -> Self {
        let bytes = request.bytes();
        let mut streams: Vec<TcpStream> = (0..count).map(|_| connect(host)).collect();
        for stream in &mut streams {
            stream.write_all(&bytes[..at_once]).expect("the host reads");
        }
        Self {
            streams,
            bytes,
            sent: at_once,
        }
    }

    /// Sends one more byte of each.
    fn go_on(&mut self) {
        let Some(byte) = self.bytes.get(self.sent) else {
            return;
        };
        for stream in &mut self.streams {
            // One that was answered is closed.
            let _ = stream.write_all(&[*byte]);
        }
        self.sent += 1;
    }
}

#[test]
fn a_thousand_slow_clients_leave_room_for_everybody_else() {
    allow_files(2 * (HEADS + BODIES + READERS) + 1_000);
    let Some(state) = State::only_on_sqlite("what it may take is measured for one host on a file")
    else {
        return;
    };
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    assert_eq!(client.task("first", Some("first")).status, 201);
    let memory = host.resident_bytes();

    let task = |body: &str| {
        let request = RawRequest::new("POST", "/tasks").line("Content-Type: application/json");
        request.body(body)
    };
    let text = format!(r#"{{"text":"{}"}}"#, "slow".repeat(100));
    let long = task(&text);
    let head = long.bytes().len() - text.len();
    let mut heads = Slow::start(&host, HEADS, &task(&text).line("X-Slow: yes"), 20);
    let mut bodies = Slow::start(&host, BODIES, &long, head);
    let begun = Instant::now();
    let page = RawRequest::new("GET", "/-/openapi.yaml");
    let readers = Slow::start(&host, READERS, &page, page.bytes().len());

    let mut slowest = Duration::ZERO;
    let mut served = 0;
    let mut most = 0;
    while begun.elapsed() + Duration::from_secs(2) < BODY_DEADLINE {
        let second = Instant::now();
        heads.go_on();
        bodies.go_on();
        while second.elapsed() < Duration::from_secs(1) {
            let key = format!("normal-{served}");
            let start = Instant::now();
            assert_eq!(client.task("normal", Some(&key)).status, 201);
            assert_eq!(client.task("normal", Some(&key)).status, 200);
            slowest = slowest.max(start.elapsed());
            served += 1;
            thread::sleep(Duration::from_millis(100));
        }
        most = most.max(host.resident_bytes());
    }
    println!(
        "{served} tasks and repeats, the slowest pair in {slowest:?}; {most} bytes, before {memory}"
    );
    assert!(slowest < AT_ONCE, "a task and its repeat took {slowest:?}");
    assert!(
        most - memory < MEMORY_BYTES,
        "{most} bytes, before {memory}"
    );

    // Their time is over: each is told so.
    for mut stream in bodies.streams {
        let patience = (BODY_DEADLINE + SLACK).saturating_sub(begun.elapsed());
        stream
            .set_read_timeout(Some(patience.max(Duration::from_millis(1))))
            .expect("a time-out can be set");
        let answers = answers(&mut stream);
        let told: Vec<_> = answers
            .iter()
            .map(|answer| (answer.status, answer.problem()))
            .collect();
        assert_eq!(told, [(408, Some("request-timeout".to_owned()))]);
    }
    drop(heads);
    drop(readers);
    wait_until("quick answers", Duration::from_secs(20), || {
        let start = Instant::now();
        assert_eq!(client.task("after", None).status, 201);
        start.elapsed() < Duration::from_millis(200)
    });
}
