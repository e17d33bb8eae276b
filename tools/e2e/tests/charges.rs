//! `POST /charge`: the row of charges in the table of the three systems, cell by cell, against the payment sandbox.

use reprise_e2e::{Answer, Client, Host, Options, State, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

/// The attempt time-out that these tests set; the sandbox's slow answer takes ten seconds.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Beyond the attempt's time-out, what a request may take while all these tests run at once. `timing` is exact.
const SLACK: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(30);

const APPROVED: u64 = 1_999;
const DECLINED: u64 = 40_200;
const TWICE_503: u64 = 50_300;
const RETRY_AFTER_S: u64 = 50_301;
const RETRY_AFTER_DATE: u64 = 50_302;
const THROTTLED: u64 = 42_900;
const SLOW: u64 = 40_800;
const CUT: u64 = 50_200;
const LARGE: u64 = 41_300;
const COOKIE: u64 = 40_100;

fn options() -> Options {
    Options::default().edit("attempt_timeout = \"5s\"", "attempt_timeout = \"2s\"")
}

fn with_host(test: impl FnOnce(&Client)) {
    let state = State::new();
    let host = Host::start(&state, &options());
    test(&host.client());
}

fn body(amount: u64, reference: &str) -> String {
    json!({"amount": amount, "currency": "EUR", "reference": reference}).to_string()
}

fn charge(client: &Client, key: &str, amount: u64) -> Answer {
    let start = Instant::now();
    let answer = client.post("/charge", Some(key), &body(amount, key));
    let took = start.elapsed();
    assert!(took < TIMEOUT + SLACK, "{amount} took {took:?}: {answer:?}");
    answer
}

/// What the sandbox has counted for a reference: charges and calls.
fn counted(client: &Client, reference: &str) -> (u64, u64) {
    let counts = client
        .get(&format!("/payment-sandbox/charges?reference={reference}"))
        .json();
    let count = |name: &str| counts[name].as_u64().unwrap_or_else(|| panic!("{counts}"));
    (count("charges"), count("calls"))
}

/// Repeats a charge until it has ended. No answer before that may read like success, and each says when to come back.
fn repeat_until_done(client: &Client, key: &str, amount: u64) -> Answer {
    let mut last = None;
    wait_until("the end of a charge", SOON, || {
        let answer = charge(client, key, amount);
        if answer.status == 409 {
            assert_eq!(answer.problem(), "operation-in-progress");
            assert_eq!(answer.json()["retryable"], true);
            let seconds: u64 = answer
                .header("retry-after")
                .expect("a time")
                .parse()
                .expect("seconds");
            assert!((1..=300).contains(&seconds), "{seconds}");
            return false;
        }
        last = Some(answer);
        true
    });
    last.expect("it has ended")
}

/// Scenario 8.
#[test]
fn a_charge_needs_a_key() {
    with_host(|client| {
        let answer = client.post("/charge", None, &body(APPROVED, "r"));
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (400, "idempotency-key-missing")
        );
        assert_eq!(counted(client, "r"), (0, 0));
    });
}

#[test]
fn a_client_that_lost_the_answer_is_charged_once_and_with_a_fresh_key_twice() {
    with_host(|client| {
        let lost = client.post_unheard("/charge", "lost", &body(APPROVED, "r"));
        wait_until("the charge", SOON, || counted(client, "r").0 == 1);
        drop(lost);
        let repeat = |key| client.post("/charge", Some(key), &body(APPROVED, "r"));
        wait_until("the answer", SOON, || repeat("lost").status == 201);
        let (one, two) = (repeat("lost"), repeat("lost"));
        assert!(one.is_replayed() && two.is_replayed());
        assert_eq!(one.lasting(), two.lasting());
        assert_eq!(counted(client, "r").0, 1);

        assert_eq!(repeat("fresh").status, 201);
        assert_eq!(counted(client, "r").0, 2, "a fresh key is a new operation");
    });
}

#[test]
fn a_client_that_vanishes_at_any_moment_is_charged_once() {
    with_host(|client| {
        for ms in [0, 1, 2, 4, 8, 16, 32, 64] {
            let key = format!("k{ms}");
            let vanishing = client.post_unheard("/charge", &key, &body(APPROVED, &key));
            thread::sleep(Duration::from_millis(ms));
            drop(vanishing);
        }
        for ms in [0, 1, 2, 4, 8, 16, 32, 64] {
            let key = format!("k{ms}");
            assert_eq!(
                repeat_until_done(client, &key, APPROVED).status,
                201,
                "{key}"
            );
            assert_eq!(counted(client, &key).0, 1, "{key}");
        }
    });
}

/// Scenario 20.
#[test]
fn a_finished_charge_is_replayed_byte_for_byte() {
    with_host(|client| {
        let first = charge(client, "k", APPROVED);
        assert_eq!(first.status, 201);
        assert!(!first.is_replayed());
        for name in ["location", "etag", "link", "content-type"] {
            assert!(first.header(name).is_some(), "{name}: {first:?}");
        }
        assert!(
            first
                .header("location")
                .expect("one")
                .starts_with("/payment-sandbox/charges/")
        );
        let repeat = charge(client, "k", APPROVED);
        assert!(repeat.is_replayed());
        assert_eq!(repeat.lasting(), first.lasting());
        assert_eq!(counted(client, "k"), (1, 1));
    });
}

/// Scenarios 6 and 10.
#[test]
fn other_content_under_a_charge_s_key_is_422_also_while_it_runs() {
    with_host(|client| {
        let slow = thread::spawn({
            let client = client.clone();
            move || charge(&client, "k", SLOW)
        });
        wait_until("the call", SOON, || counted(client, "k").1 == 1);
        for _ in 0..2 {
            let answer = charge(client, "k", APPROVED);
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (422, "idempotency-key-reused")
            );
        }
        assert_eq!(slow.join().expect("it was answered").status, 202);
        assert_eq!(repeat_until_done(client, "k", SLOW).status, 201);
        assert_eq!(charge(client, "k", APPROVED).status, 422);
        assert_eq!(counted(client, "k").0, 1);
    });
}

/// Scenario 13.
#[test]
fn a_repeat_while_the_first_runs_is_409_at_once() {
    with_host(|client| {
        let slow = thread::spawn({
            let client = client.clone();
            move || charge(&client, "k", SLOW)
        });
        wait_until("the call", SOON, || counted(client, "k").1 == 1);
        let mut records = BTreeSet::new();
        for _ in 0..5 {
            let start = Instant::now();
            let answer = charge(client, "k", SLOW);
            records.insert(
                answer
                    .header("operation-location")
                    .expect("a record")
                    .to_owned(),
            );
            let took = start.elapsed();
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (409, "operation-in-progress")
            );
            assert!(answer.header("retry-after").is_some());
            assert!(took < TIMEOUT / 2, "it took {took:?}");
        }
        let first = slow.join().expect("it was answered");
        // Scenario 28: whoever asks, and whenever, is told of the one record.
        records.insert(first.header("location").expect("a record").to_owned());
        assert_eq!(records.len(), 1, "{records:?}");
        assert_eq!(counted(client, "k"), (1, 1));
    });
}

#[test]
fn a_charge_that_is_declined_is_a_result_like_any_other() {
    with_host(|client| {
        let first = charge(client, "k", DECLINED);
        assert_eq!(first.status, 402);
        assert_eq!(charge(client, "k", DECLINED).lasting(), first.lasting());
        assert_eq!(counted(client, "k"), (0, 1));
    });
}

#[test]
fn after_503_twice_a_charge_is_completed_by_later_requests_alone() {
    with_host(|client| {
        let first = charge(client, "k", TWICE_503);
        assert_eq!(first.status, 202);
        let location = first.header("location").expect("a record").to_owned();
        assert!(first.header("retry-after").is_some());
        let record = first.json();
        assert_eq!(
            (&record["status"], &record["attempts"]),
            (&"waiting".into(), &1.into())
        );
        assert_eq!(record["last_error"]["kind"], "status");

        // Nobody comes by, nothing moves.
        thread::sleep(Duration::from_secs(3));
        assert_eq!(counted(client, "k"), (0, 1));

        // A look at the record moves it on, and so does a repeat.
        wait_until("the second attempt", SOON, || {
            client.get(&location).json()["attempts"] == 2
        });
        assert_eq!(counted(client, "k"), (0, 2));
        let done = repeat_until_done(client, "k", TWICE_503);
        assert_eq!(done.status, 201);
        assert_eq!(charge(client, "k", TWICE_503).lasting(), done.lasting());
        assert_eq!(counted(client, "k"), (1, 3));
        let record = client.get(&location).json();
        assert_eq!(
            (&record["status"], &record["attempts"]),
            (&"done".into(), &3.into())
        );
        assert_eq!(record["response"]["status"], 201);
        assert_eq!(record["response"]["body"], done.json());
    });
}

#[test]
fn the_upstream_s_word_on_when_to_come_back_is_kept() {
    with_host(|client| {
        for (amount, seconds) in [(RETRY_AFTER_S, 2), (RETRY_AFTER_DATE, 2), (THROTTLED, 1)] {
            let key = format!("k{amount}");
            let start = Instant::now();
            let first = charge(client, &key, amount);
            assert_eq!(first.status, 202, "{amount}");
            let done = repeat_until_done(client, &key, amount);
            assert_eq!(done.status, 201, "{amount}");
            // A date has whole seconds, so up to one of them has passed before it was written.
            let least = if amount == RETRY_AFTER_DATE {
                seconds - 1
            } else {
                seconds
            };
            assert!(
                start.elapsed() >= Duration::from_secs(least),
                "{amount}: {:?}",
                start.elapsed()
            );
            assert_eq!(counted(client, &key).0, 1, "{amount}");
        }
    });
}

#[test]
fn an_attempt_that_takes_too_long_is_given_up_and_charged_once() {
    with_host(|client| {
        let first = charge(client, "k", SLOW);
        assert_eq!(first.status, 202);
        assert_eq!(first.json()["last_error"]["kind"], "timed_out");
        assert_eq!(repeat_until_done(client, "k", SLOW).status, 201);
        assert_eq!(counted(client, "k").0, 1);
    });
}

/// Scenario 17.
#[test]
fn a_response_that_breaks_off_is_no_response() {
    with_host(|client| {
        let first = charge(client, "k", CUT);
        assert_eq!(first.status, 202, "{first:?}");
        assert_eq!(first.json()["last_error"]["kind"], "broken_off");
        let done = repeat_until_done(client, "k", CUT);
        assert_eq!(done.status, 201);
        assert_eq!(done.json()["reference"], "k", "it is whole");
        assert_eq!(counted(client, "k").0, 1);
    });
}

/// Scenario 18.
#[test]
fn a_response_that_is_too_large_is_done_without_its_body_and_never_asked_for_again() {
    with_host(|client| {
        let first = charge(client, "k", LARGE);
        assert_eq!(first.status, 201);
        let record = first.json();
        assert_eq!(record["status"], "done");
        let bytes = record["response"]["body_not_kept_bytes"].as_u64();
        assert!(bytes.is_some_and(|bytes| bytes > 3_000_000), "{record}");
        let repeat = charge(client, "k", LARGE);
        assert!(repeat.is_replayed());
        assert_eq!(repeat.lasting(), first.lasting());
        assert_eq!(counted(client, "k"), (1, 1));
    });
}

/// Scenario 19.
#[test]
fn cookies_and_challenges_are_never_passed_on() {
    with_host(|client| {
        for _ in 0..2 {
            let answer = charge(client, "k", COOKIE);
            assert_eq!(answer.status, 201);
            for name in [
                "set-cookie",
                "www-authenticate",
                "keep-alive",
                "proxy-authenticate",
                "trailer",
            ] {
                assert_eq!(answer.header(name), None, "{name}");
            }
        }
    });
}

#[test]
fn a_charge_that_waits_can_be_cancelled_and_is_never_attempted_again() {
    with_host(|client| {
        let first = charge(client, "k", TWICE_503);
        let location = first.header("location").expect("a record").to_owned();
        let cancel = || {
            client
                .send("DELETE", &location, &[], b"")
                .expect("an answer")
        };
        assert_eq!(
            (cancel().status, cancel().json()["status"].clone()),
            (200, Value::from("cancelled"))
        );
        let repeat = charge(client, "k", TWICE_503);
        assert_eq!(
            (repeat.status, repeat.problem().as_str()),
            (409, "operation-cancelled")
        );
        thread::sleep(Duration::from_secs(2));
        assert_eq!(client.get(&location).json()["attempts"], 1);
        assert_eq!(counted(client, "k"), (0, 1));
    });
}

#[test]
fn a_charge_survives_a_kill_while_its_attempt_runs() {
    let state = State::new();
    let options = options().edit("lease = \"15s\"", "lease = \"6s\"");
    let mut host = Host::start(&state, &options);
    let client = host.client();
    let lost = thread::spawn(move || client.try_post("/charge", Some("k"), &body(SLOW, "k")));
    wait_until("the call", SOON, || counted(&host.client(), "k").1 == 1);
    host.kill();
    assert!(lost.join().expect("the client lives").is_err());

    let host = Host::start(&state, &options);
    let client = host.client();
    // Until the lease is over nobody knows that the attempt is lost.
    assert_eq!(charge(&client, "k", SLOW).status, 409);
    assert_eq!(repeat_until_done(&client, "k", SLOW).status, 201);
    let (charges, calls) = counted(&client, "k");
    assert_eq!((charges, calls), (1, 2));
}
