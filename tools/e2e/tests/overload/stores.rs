//! A store that takes seconds for each call, and is quick again later.

use reprise_e2e::{Answer, Client, Host, Options, Sent, State, Upstream, wait_until};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

const TOKEN: &str = "operators-token-of-a-test";
const SOON: Duration = Duration::from_mins(1);
/// After which a call of the store is given up.
const CALL_DEADLINE: Duration = Duration::from_secs(6);
/// Attempts at a charge, by the reference configuration.
const ATTEMPTS: usize = 4;
const SLACK: Duration = Duration::from_secs(2);

/// A host over a store whose speed can be set, and an upstream.
struct Setting {
    _state: State,
    delay: PathBuf,
    host: Host,
    upstream: Upstream,
}

impl Setting {
    fn start() -> Option<Self> {
        let state = State::only_on_sqlite("how slow it is, is the same on each store")?;
        let upstream = Upstream::start(|_, seen| {
            let is_slow = seen.body.windows(5).any(|window| window == b"begun");
            let delay = Duration::from_millis(if is_slow { 1_000 } else { 0 });
            Sent::new(201, &[], b"charged").after(delay)
        });
        let delay = state.path().join("delay");
        let options = Options::default()
            .variable("admin_token", TOKEN)
            .variable("payment_api_url", &upstream.url())
            .edit(
                "base = \"1s\", cap = \"1m\", floor = \"100ms\"",
                "base = \"1s\", cap = \"1s\"",
            )
            .tick("1s")
            .store_delay(&delay);
        Some(Self {
            host: Host::start(&state, &options),
            _state: state,
            delay,
            upstream,
        })
    }

    fn slow_down(&self, ms: u64) {
        fs::write(&self.delay, ms.to_string()).expect("the folder can be written to");
    }

    fn speed_up(&self) {
        fs::remove_file(&self.delay).expect("it was slow");
    }

    /// How often the upstream was called for each operation.
    fn calls(&self) -> BTreeMap<String, usize> {
        let mut calls = BTreeMap::new();
        for seen in self.upstream.seen() {
            let key = seen.header("idempotency-key").expect("a key").to_owned();
            *calls.entry(key).or_default() += 1;
        }
        calls
    }
}

fn charge(client: &Client, key: &str) -> Answer {
    let body = format!(r#"{{"amount":1,"currency":"EUR","reference":"{key}"}}"#);
    client.post("/charge", Some(key), &body)
}

/// One of the answers that a client may get while the store is slow; with all but a result it is told when to come
/// back.
fn assert_is_sound(answer: &Answer) {
    match answer.status {
        200 | 201 => {}
        202 | 409 => assert!(answer.header("retry-after").is_some(), "{answer:?}"),
        503 => {
            assert_eq!(answer.problem(), "store-unavailable", "{answer:?}");
            assert_eq!(answer.json()["retryable"], true, "{answer:?}");
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
        }
        _ => panic!("{answer:?}"),
    }
}

/// Once the store is quick each charge is there, done, and was made once.
fn assert_recovers(setting: &Setting, keys: &[String]) {
    let client = setting.host.client();
    wait_until("the end of every charge", SOON, || {
        keys.iter().all(|key| {
            let answer = charge(&client, key);
            assert_is_sound(&answer);
            answer.status == 201
        })
    });
    for key in keys {
        let repeat = charge(&client, key);
        assert_eq!(
            (repeat.status, repeat.body.as_str()),
            (201, "charged"),
            "{key}"
        );
        assert!(repeat.is_replayed(), "{key}");
    }
    let calls = setting.calls();
    assert_eq!(
        calls.len(),
        keys.len(),
        "an operation for each key: {calls:?}"
    );
    // An attempt whose time is over when its answer is read is made again, under the same key.
    assert!(calls.values().all(|count| *count <= ATTEMPTS), "{calls:?}");
}

fn at_once(
    setting: &Setting,
    keys: &[String],
    work: impl Fn(&Client, &str) -> Answer + Copy + Send + Sync,
) -> Vec<Answer> {
    thread::scope(|scope| {
        let threads: Vec<_> = keys
            .iter()
            .map(|key| {
                let client = setting.host.client();
                scope.spawn(move || work(&client, key))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("it was answered"))
            .collect()
    })
}

fn keys(name: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{name}-{number}"))
        .collect()
}

/// How long a request that begins nothing may hold its client, the conditional writes of the others in its instance
/// included.
const HELD: Duration = Duration::from_secs(45);

#[test]
fn a_store_that_answers_after_five_seconds_loses_and_doubles_nothing() {
    let Some(setting) = Setting::start() else {
        return;
    };
    let client = setting.host.client();
    let before = client.task("before", Some("before"));
    let path = format!("/tasks/{}", before.id());
    let (begun, new) = (keys("begun", 1), keys("new", 8));
    thread::scope(|scope| {
        let begun = scope.spawn(|| at_once(&setting, &begun, charge));
        wait_until("the calls", SOON, || setting.upstream.seen().len() == 1);
        setting.slow_down(5_000);
        let start = Instant::now();
        let show = scope.spawn(|| client.get(&path));
        let repeat = scope.spawn(|| client.task("before", Some("before")));
        let task = scope.spawn(|| client.task("during", Some("during")));
        for answer in at_once(&setting, &new, charge) {
            assert_eq!(answer.status, 503, "{answer:?}");
            assert_is_sound(&answer);
        }
        let task = task.join().expect("it was answered");
        assert_eq!(task.status, 503, "{task:?}");
        assert_is_sound(&task);
        // They read alone, but may wait for the writes of what had been begun.
        for answer in [show, repeat].map(|thread| thread.join().expect("it was answered")) {
            assert_is_sound(&answer);
            assert!(
                answer.status == 503 || answer.id() == before.id(),
                "{answer:?}"
            );
        }
        let told = start.elapsed();
        // What was begun is brought to its end.
        let begun = begun.join().expect("they were answered");
        println!(
            "at 5 s a call all was told in {told:?}, and ended in {:?}",
            start.elapsed()
        );
        for answer in begun {
            assert_is_sound(&answer);
        }
        assert!(told < HELD, "{told:?}");
    });
    assert_eq!(
        setting.upstream.seen().len(),
        begun.len(),
        "nothing new was begun"
    );
    setting.speed_up();
    assert_recovers(&setting, &[begun, new].concat());
    assert_eq!(client.task("during", Some("during")).status, 201);
    assert_eq!(client.task("before", Some("before")).id(), before.id());
}

#[test]
fn a_store_that_answers_after_half_a_second_is_slow_and_nothing_else() {
    let Some(setting) = Setting::start() else {
        return;
    };
    assert_eq!(setting.host.client().task("before", None).status, 201);
    let keys = keys("slow", 4);
    setting.slow_down(500);
    for answer in at_once(&setting, &keys, charge) {
        assert_is_sound(&answer);
    }
    setting.speed_up();
    assert_recovers(&setting, &keys);
}

/// Sixteen requests of one instance wait for each other's conditional writes. That makes none of their calls slow.
#[test]
fn a_crowd_on_a_store_that_is_not_slow_is_not_taken_for_a_slow_store() {
    let Some(setting) = Setting::start() else {
        return;
    };
    assert_eq!(setting.host.client().task("before", None).status, 201);
    setting.slow_down(100);
    let answers = at_once(&setting, &keys("crowd", 32), |client, key| {
        client.post("/orders", Some(key), r#"{"product_id":42,"quantity":1}"#)
    });
    for answer in answers {
        assert_eq!(answer.status, 201, "{answer:?}");
    }
}

#[test]
fn a_call_that_takes_longer_than_its_deadline_is_given_up_and_told_so() {
    let Some(setting) = Setting::start() else {
        return;
    };
    let client = setting.host.client();
    let before = client.task("before", Some("before"));
    let path = format!("/tasks/{}", before.id());
    setting.slow_down(20_000);
    thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    let answers = thread::scope(|scope| {
        let show = scope.spawn(|| client.get(&path));
        let repeat = scope.spawn(|| client.task("before", Some("before")));
        let new = scope.spawn(|| charge(&client, "late-0"));
        [show, repeat, new].map(|thread| thread.join().expect("it was answered"))
    });
    let took = start.elapsed();
    for answer in answers {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_is_sound(&answer);
    }
    assert!(
        took >= CALL_DEADLINE && took < CALL_DEADLINE + SLACK,
        "{took:?}"
    );
    setting.speed_up();
    assert_recovers(&setting, &keys("late", 1));
    assert_eq!(client.get(&path).status, 200);
}
