//! Upstreams that take a call and never come to an end: each attempt ends by its own time, nobody else waits for it,
//! and every operation comes to an end.

use reprise_e2e::{Client, Host, Options, State, wait_until};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(1);
/// Beyond an attempt's time-out, while other tests run at once. `timing` is exact.
const SLACK: Duration = Duration::from_secs(5);
/// As many as two instances take at once.
const CALLS: usize = 32;
const ATTEMPTS: usize = 2;
const MEMORY_BYTES: u64 = 256 << 20;

/// What an upstream says first, and what it goes on to say every tenth of a second.
#[derive(Clone, Copy)]
struct Manner {
    first: &'static str,
    then: &'static str,
}

/// An upstream of such a manner, and how often it was called.
fn start(manner: Manner) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let url = format!(
        "http://{}",
        listener.local_addr().expect("it has an address")
    );
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            count.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || hold_on(stream, manner));
        }
    });
    (url, calls)
}

fn hold_on(mut stream: TcpStream, manner: Manner) {
    let mut piece = [0; 4_096];
    let _ = stream.read(&mut piece);
    let _ = stream.write_all(manner.first.as_bytes());
    // Until the other side has had enough.
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    loop {
        if matches!(stream.read(&mut piece), Ok(0))
            || stream.write_all(manner.then.as_bytes()).is_err()
        {
            return;
        }
    }
}

fn config(upstream: &str) -> String {
    format!(
        r#"
[operators]
token = "{{{{ admin_token }}}}"

[upstreams.silent]
url = "{upstream}"

[[operations]]
name = "charge"
route = "/charge"
handler = "forward"
upstream = "silent"
max_attempts = {ATTEMPTS}
backoff = {{ kind = "constant", delay = "100ms" }}
attempt_timeout = "1s"
lease = "5s"

[[operations]]
name = "tasks"
route = "/tasks"
handler = "analyze"
"#
    )
}

/// Charges with one upstream, all at once, each with a repeat while it runs.
fn charge_all(client: &Client, calls: &AtomicUsize) {
    thread::scope(|scope| {
        for number in 0..CALLS {
            let client = client.clone();
            scope.spawn(move || {
                let start = Instant::now();
                let answer = client.post("/charge", Some(&format!("k{number}")), "{}");
                let took = start.elapsed();
                // The repeat below may be faster than the request; and where the claim took the attempt's time, nothing
                // was called.
                assert!(matches!(answer.status, 202 | 409), "{answer:?}");
                if answer.status == 202 {
                    let kind = &answer.json()["last_error"]["kind"];
                    assert!(kind == "timed_out" || kind == "unreachable", "{answer:?}");
                }
                assert!(took < TIMEOUT + SLACK, "an attempt took {took:?}");
            });
        }
        wait_until("some calls", SOON, || {
            calls.load(Ordering::SeqCst) >= CALLS / 2
        });
        let start = Instant::now();
        let repeat = client.post("/charge", Some("k0"), "{}");
        assert!(matches!(repeat.status, 202 | 409 | 502), "{repeat:?}");
        let task = client.task("somebody else's", Some("other"));
        assert_eq!(task.status, 201, "{task:?}");
        let took = start.elapsed();
        assert!(took < TIMEOUT + SLACK, "a repeat and a task took {took:?}");
    });
}

fn an_upstream(manner: Manner) {
    let (url, calls) = start(manner);
    let Some(state) = State::only_on_sqlite("what it may take is measured for one host on a file")
    else {
        return;
    };
    let options = Options::default()
        .config(&config(&url))
        .variable("admin_token", "operators-token-of-a-test")
        .tick("100ms");
    let host = Host::start(&state, &options);
    let client = host.client();
    assert_eq!(client.task("first", Some("first")).status, 201);
    let memory = host.resident_bytes();
    charge_all(&client, &calls);
    let most = host.most_resident_bytes();
    assert!(
        most.saturating_sub(memory) < MEMORY_BYTES,
        "{most} bytes, before {memory}"
    );
    wait_until("the end of every charge", SOON, || {
        (0..CALLS).all(|number| {
            let answer = client.post("/charge", Some(&format!("k{number}")), "{}");
            assert!(matches!(answer.status, 202 | 409 | 502), "{answer:?}");
            answer.status == 502
        })
    });
    let failed = client.post("/charge", Some("k0"), "{}");
    assert_eq!(failed.problem(), "operation-failed");
    assert!(
        failed.body.contains("2 attempts") && failed.body.contains("timed_out"),
        "{failed:?}"
    );
    let calls = calls.load(Ordering::SeqCst);
    assert!(calls <= CALLS * ATTEMPTS, "{calls} calls");
}

#[test]
fn one_that_says_nothing() {
    an_upstream(Manner {
        first: "",
        then: "",
    });
}

#[test]
fn one_that_says_a_head_and_no_body() {
    an_upstream(Manner {
        first: "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n",
        then: "",
    });
}

#[test]
fn one_whose_body_never_ends() {
    an_upstream(Manner {
        first: "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n",
        then: "1\r\nx\r\n",
    });
}

#[test]
fn one_whose_head_never_ends() {
    an_upstream(Manner {
        first: "HTTP/1.1 200 X\r\n",
        then: "X-More: x\r\n",
    });
}

#[test]
fn one_that_is_about_to_answer_for_ever() {
    an_upstream(Manner {
        first: "",
        then: "HTTP/1.1 103 Early Hints\r\n\r\n",
    });
}
