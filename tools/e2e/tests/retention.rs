//! Retention: an expired key is new again, and its space comes back.

use reprise_e2e::{Arrangement, Client, Host, Options, State, wait_until};
use std::thread;
use std::time::Duration;

const THREADS: usize = 16;
/// How long the clean-up may take; a slow disk writes some hundred times a second.
const CLEAN_UP: Duration = Duration::from_mins(5);

fn options() -> Options {
    Options::default()
        .variable("admin_token", "token")
        .variable("retention", "1s")
        .variable("purge_grace", "0s")
        .edit("bucket_bits = 14", "bucket_bits = 6")
}

fn tick(client: &Client) -> u64 {
    let headers = [("authorization", "Bearer token")];
    let answer = client
        .send("POST", "/-/tick", &headers, b"")
        .expect("a tick is answered");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["records_purged"]
        .as_u64()
        .expect("a tick counts")
}

/// Creates this many tasks with keys of their own.
fn create(host: &Host, prefix: &str, tasks: usize) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let client = host.client();
            scope.spawn(move || {
                for number in (thread..tasks).step_by(THREADS) {
                    let answer = client.task("short-lived", Some(&format!("{prefix}-{number}")));
                    assert_eq!(answer.status, 201, "{answer:?}");
                }
            });
        }
    });
}

#[test]
fn after_its_retention_a_key_is_new_again() {
    let state = State::new();
    let host = Host::start(&state, &options());
    let client = host.client();
    let first = client.task("first", Some("key"));
    assert_eq!(client.task("second", Some("key")).status, 409);
    let mut again = None;
    wait_until("the expiry", Duration::from_secs(30), || {
        let answer = client.task("second", Some("key"));
        let created = answer.status == 201;
        assert!(created || answer.status == 409, "{answer:?}");
        again = created.then_some(answer);
        created
    });
    let again = again.expect("it was created");
    assert_ne!(first.id(), again.id());
    assert_eq!(
        client.get(&format!("/tasks/{}", first.id())).status,
        404,
        "what has expired is absent"
    );
    assert_eq!(client.task("second", Some("key")).id(), again.id());
}

#[test]
fn a_record_lives_from_when_its_request_was_whole() {
    let state = State::new();
    let host = Host::start(&state, &options());
    let body = r#"{"text":"slow"}"#;
    // Longer on its way than the record is kept.
    let answer = host.client().slow_task(body, Duration::from_millis(1_500));
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let location = answer
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    let location = location.expect("a new task has a place").trim();
    assert_eq!(
        host.client().get(location).status,
        200,
        "what was just answered is there"
    );
}

#[test]
fn thousands_of_short_lived_tasks_leave_nothing_behind() {
    let state = State::new();
    // Each is created at the end of a long chain, whose reads are round trips to a Redis.
    let tasks = match state.arrangement() {
        Arrangement::Sqlite => 10_000,
        Arrangement::Redis | Arrangement::RedisTwo => 2_000,
    };
    let host = Host::start(&state, &options());
    let client = host.client();
    // All sixty-four words come into being; they stay.
    create(&host, "warm", 1_000);
    wait_until("the first clean-up", CLEAN_UP, || {
        tick(&client) == 0 && state.count() < 100
    });
    let baseline = state.count();
    assert_eq!(
        baseline,
        64 + 4,
        "the words of the buckets, of the wheel and of the layout; the walk's word and its document"
    );

    create(&host, "many", tasks);
    let full = state.count();
    // Some may have expired, but nothing was purged yet.
    assert_eq!(full, baseline + tasks);
    let mut purged = 0;
    wait_until("the clean-up", CLEAN_UP, || {
        purged += tick(&client);
        state.count() == baseline
    });
    assert_eq!(purged, tasks as u64);
    assert_eq!(
        client.task("alive", Some("many-0")).status,
        201,
        "the buckets work on"
    );
}
