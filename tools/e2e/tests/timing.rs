//! How long a request may take. These tests are one after the other and alone in their program, because they are exact.

use reprise_e2e::{Host, Options, Sent, State, Upstream, wait_until};
use std::thread;
use std::time::{Duration, Instant};

const BODY: &str = r#"{"amount":1}"#;
const TIMEOUT: Duration = Duration::from_secs(1);
/// Beyond an attempt's time-out.
const SLACK: Duration = Duration::from_millis(100);
/// For a repeat while the first request runs.
const AT_ONCE: Duration = Duration::from_millis(50);

#[test]
fn a_request_takes_no_longer_than_its_attempt_and_a_repeat_no_time_at_all() {
    let upstream =
        Upstream::start(|_, _| Sent::new(200, &[], b"late").after(Duration::from_secs(5)));
    let state = State::new();
    let options = Options::default()
        .variable("payment_api_url", &upstream.url())
        .edit("attempt_timeout = \"5s\"", "attempt_timeout = \"1s\"");
    let host = Host::start(&state, &options);
    let client = host.client();
    // The first request finds out what the store is like.
    let _ = client.post("/tasks", None, r#"{"text":"a"}"#);
    let timed = |key: &str| {
        let start = Instant::now();
        let answer = client.post("/charge", Some(key), BODY);
        (answer, start.elapsed())
    };
    for key in ["a", "b", "c", "d", "e"] {
        let before = upstream.seen().len();
        let first = thread::scope(|scope| {
            let first = scope.spawn(|| timed(key));
            wait_until("the call", TIMEOUT, || upstream.seen().len() > before);
            for _ in 0..10 {
                let (repeat, took) = timed(key);
                assert_eq!(
                    (repeat.status, repeat.problem().as_str()),
                    (409, "operation-in-progress")
                );
                assert!(took < AT_ONCE, "a repeat took {took:?}");
            }
            first.join().expect("it was answered")
        });
        let (answer, took) = first;
        assert_eq!(
            (answer.status, &answer.json()["last_error"]["kind"]),
            (202, &"timed_out".into())
        );
        assert!(
            took >= TIMEOUT && took < TIMEOUT + SLACK,
            "an attempt took {took:?}"
        );
    }
    // Later attempts, which repeats and looks at the record run, are no longer.
    thread::sleep(TIMEOUT);
    for key in ["a", "b", "c"] {
        let (answer, took) = timed(key);
        assert!(took < TIMEOUT + SLACK, "a repeat took {took:?}: {answer:?}");
    }
}
