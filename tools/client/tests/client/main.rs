//! The client against a scripted server: what it asks, how long it waits, and when it gives up.

#![expect(
    unreachable_pub,
    reason = "what one module of a test offers to another is public in the sense of the test"
)]

mod server;

use reprise_client::{
    Backoff, BaseError, BudgetPolicy, Call, CallError, Client, HeaderName, HeaderValue, Key, Last,
    Millis, Policy, Reason, Reply,
};
use server::Step::{Answer, BreakOff, Close, Stall};
use server::{Seen, Server, Step, Virtual};

const BODY: &str = r#"{"product_id":42,"quantity":1}"#;
const CREATED: Step = Answer(201, &["Location: /orders/1"], r#"{"id":"1"}"#);
const REPLAYED: Step = Answer(201, &["Idempotent-Replayed: true"], r#"{"id":"1"}"#);
const UNAVAILABLE: Step = Answer(503, &[], "");

/// A policy without jitter, so that each wait can be told; its waits are 100, 200, 400, …
fn policy() -> Policy {
    Policy {
        backoff: Backoff::Exponential {
            base_ms: Millis::new(100),
            cap_ms: Millis::from_secs(10),
        },
        ..Policy::default()
    }
}

/// What one call came to.
struct Told {
    result: Result<Reply, CallError>,
    seen: Vec<Seen>,
    sleeps_ms: Vec<u64>,
}

impl Told {
    /// Methods and paths, in their order.
    fn asked(&self) -> Vec<&str> {
        self.seen.iter().map(|seen| &*seen.what).collect()
    }

    fn reply(&self) -> &Reply {
        self.result
            .as_ref()
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn error(&self) -> &CallError {
        self.result.as_ref().expect_err("the call fails")
    }
}

fn send(script: &[Step], policy: Policy) -> Told {
    let server = Server::start(script);
    let surroundings = Virtual::default();
    let client = Client::with_surroundings(&server.base, policy, &surroundings).expect("a base");
    let result = client.send(&Call::post("/orders", BODY));
    Told {
        result,
        seen: server.seen(),
        sleeps_ms: surroundings.sleeps_ms(),
    }
}

#[test]
fn an_answer_at_once_is_the_reply() {
    let told = send(&[CREATED], policy());
    let reply = told.reply();
    assert!(reply.is_success() && !reply.is_replayed);
    assert_eq!((reply.status, reply.attempts, reply.polls), (201, 1, 0));
    assert_eq!(reply.headers["location"], "/orders/1");
    assert_eq!(reply.text(), r#"{"id":"1"}"#);
    let expected = Seen {
        what: "POST /orders".to_owned(),
        key: Some(format!("\"{}\"", reply.key.as_str())),
        body: BODY.to_owned(),
    };
    assert_eq!(told.seen, [expected]);
    assert_eq!(told.sleeps_ms, [0; 0]);
}

#[test]
fn every_attempt_is_the_same_request_under_the_same_key() {
    let told = send(&[Close, BreakOff, UNAVAILABLE, REPLAYED], policy());
    let reply = told.reply();
    assert_eq!(
        (reply.status, reply.attempts, reply.is_replayed),
        (201, 4, true)
    );
    assert_eq!(told.sleeps_ms, [100, 200, 400]);
    assert!(
        told.seen.iter().all(|seen| *seen == told.seen[0]),
        "{:?}",
        told.seen
    );
    assert!(told.seen[0].key.is_some());
}

#[test]
fn two_calls_have_two_keys_and_a_given_key_is_kept() {
    let server = Server::start(&[CREATED, CREATED, UNAVAILABLE, CREATED]);
    let surroundings = Virtual::default();
    let client = Client::with_surroundings(&server.base, policy(), &surroundings).expect("a base");
    let call = Call::post("/orders", BODY);
    let keys = [(); 2].map(|()| client.send(&call).expect("it is answered").key);
    assert_ne!(keys[0], keys[1]);
    let key = Key::new("mine-1").expect("a key");
    let reply = client
        .send(&call.with_key(key.clone()))
        .expect("it is answered");
    assert_eq!(reply.key, key);
    let seen = server.seen();
    let sent: Vec<_> = seen
        .iter()
        .map(|seen| seen.key.as_deref().expect("a key"))
        .collect();
    assert_eq!(sent[2..], ["\"mine-1\""; 2]);
}

#[test]
fn an_answer_that_no_repeat_would_change_is_the_reply() {
    let script = [
        Answer(202, &["Location: /upstream"], ""),
        Answer(400, &[], ""),
        Answer(401, &[], ""),
        Answer(404, &[], ""),
        Answer(
            409,
            &[],
            r#"{"type":"urn:reprise:problem:idempotency-key-reused"}"#,
        ),
        Answer(422, &["Retry-After: 1"], ""),
        Answer(307, &["Location: /elsewhere"], ""),
        Answer(502, &["Idempotent-Replayed: true"], ""),
        Answer(
            502,
            &["Content-Type: application/problem+json"],
            r#"{"retryable":false}"#,
        ),
    ];
    for step in script {
        let Answer(status, ..) = step else {
            unreachable!("all are answers")
        };
        let told = send(&[step], policy());
        let reply = told.reply();
        assert_eq!((reply.status, reply.attempts), (status, 1), "{step:?}");
        assert!(told.sleeps_ms.is_empty(), "{step:?}");
    }
}

#[test]
fn retry_after_is_waited_for_up_to_a_cap() {
    let table: &[(&'static [&'static str], u64)] = &[
        (&["Retry-After: 2"], 2_100),
        (&["Retry-After: Sun, 06 Nov 1994 08:49:37 GMT"], 37_100),
        (&["Retry-After: 3600"], 60_100),
        (&["Retry-After: Sat, 06 Nov 2094 08:49:37 GMT"], 60_100),
        (&["Retry-After: Sun, 06 Nov 1994 08:48:37 GMT"], 100),
        (&["Retry-After: -5"], 100),
        (&["Retry-After: soon"], 100),
        (&[], 100),
    ];
    for (lines, wait_ms) in table {
        let told = send(&[Answer(429, lines, ""), CREATED], policy());
        assert_eq!(told.reply().attempts, 2, "{lines:?}");
        assert_eq!(told.sleeps_ms, [*wait_ms], "{lines:?}");
    }
}

#[test]
fn waits_are_jittered_over_their_whole_range() {
    let mut seen = Vec::new();
    for _ in 0..4 {
        let server = Server::start(&[UNAVAILABLE; 5]);
        let surroundings = Virtual::default();
        surroundings.pass(seen.len() as u64);
        let policy = Policy {
            max_attempts: 5,
            ..Policy::default()
        };
        let client =
            Client::with_surroundings(&server.base, policy, &surroundings).expect("a base");
        let error = client
            .send(&Call::post("/orders", BODY))
            .expect_err("it fails");
        assert_eq!(error.reason, Reason::Attempts);
        server.seen();
        let sleeps_ms = surroundings.sleeps_ms();
        for (wait_ms, top_ms) in sleeps_ms.iter().zip([100, 200, 400, 800]) {
            assert!((1..=top_ms).contains(wait_ms), "{sleeps_ms:?}");
        }
        assert_eq!(sleeps_ms.len(), 4);
        seen.extend(sleeps_ms);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 3, "the waits are not drawn: {seen:?}");
}

#[test]
fn an_operation_that_goes_on_is_followed_and_its_reply_is_fetched() {
    let unfinished = Answer(202, &["Location: /orders/1", "Retry-After: 1"], "");
    let still = Answer(
        200,
        &["Location: /orders/1", "Retry-After: 3"],
        r#"{"status":"waiting"}"#,
    );
    let ended = Answer(200, &["Location: /orders/1"], r#"{"status":"done"}"#);
    let told = send(
        &[unfinished, still, Close, still, ended, REPLAYED],
        policy(),
    );
    let reply = told.reply();
    assert_eq!(
        (reply.status, reply.is_replayed, reply.text().as_str()),
        (201, true, r#"{"id":"1"}"#)
    );
    assert_eq!((reply.attempts, reply.polls), (2, 4));
    let (post, get) = ("POST /orders", "GET /orders/1");
    assert_eq!(told.asked(), [post, get, get, get, get, post]);
    assert_eq!(told.sleeps_ms, [1_100, 3_100, 100, 3_100]);
    assert_eq!(told.seen[0], told.seen[5]);
    assert_eq!((&told.seen[1].key, told.seen[1].body.as_str()), (&None, ""));
}

#[test]
fn a_key_in_progress_elsewhere_is_waited_for() {
    let busy = Answer(409, &["Retry-After: 2"], r#"{"retryable":true}"#);
    let told = send(&[busy, busy, REPLAYED], policy());
    assert_eq!((told.reply().status, told.reply().attempts), (201, 3));
    assert_eq!(told.sleeps_ms, [2_100, 2_100]);
    // Where nobody says when to come back, the waits grow.
    let accepted = Answer(202, &["Retry-After: later"], "");
    let told = send(&[accepted, accepted, accepted, CREATED], policy());
    assert_eq!(told.sleeps_ms, [100, 200, 400]);
    // It may say where its record is, too.
    let busy = Answer(409, &["Retry-After: 2", "Location: /orders/1"], "");
    let told = send(&[busy, Answer(200, &[], "{}"), REPLAYED], policy());
    assert_eq!(
        told.asked(),
        ["POST /orders", "GET /orders/1", "POST /orders"]
    );
}

#[test]
fn a_record_that_is_gone_is_not_begun_anew() {
    let unfinished = Answer(202, &["Location: /orders/1", "Retry-After: 1"], "");
    let told = send(&[unfinished, Answer(404, &[], "gone")], policy());
    let error = told.error();
    let body = b"gone".to_vec();
    assert_eq!(
        (error.reason, &error.last),
        (Reason::RecordGone, &Last::Answer { status: 404, body })
    );
    assert_eq!(error.attempts, 1);
}

#[test]
fn no_wait_begins_that_would_end_behind_the_deadline() {
    let policy = Policy {
        deadline: Millis::new(5_100),
        ..policy()
    };
    let told = send(&[Answer(503, &["Retry-After: 5"], "later")], policy);
    let body = b"later".to_vec();
    assert_eq!(told.error().reason, Reason::Deadline);
    assert_eq!(told.error().last, Last::Answer { status: 503, body });
    assert_eq!(told.sleeps_ms, [0; 0]);
    // Each wait is a bit over a second, so the fifth would be one too many.
    let busy = Answer(409, &["Retry-After: 1"], "");
    let told = send(&[busy; 5], policy);
    assert_eq!(
        (told.error().reason, told.error().attempts),
        (Reason::Deadline, 5)
    );
    assert_eq!(told.sleeps_ms, [1_100; 4]);
    assert!(
        told.error()
            .to_string()
            .contains("the last one answered 409")
    );
}

#[test]
fn an_attempt_that_is_not_answered_ends_by_its_timeout() {
    let policy = Policy {
        attempt_timeout: Millis::new(50),
        ..policy()
    };
    let told = send(&[Stall, CREATED], policy);
    assert_eq!((told.reply().status, told.reply().attempts), (201, 2));
    assert_eq!(told.seen[0], told.seen[1]);
}

#[test]
fn attempts_in_a_row_are_counted_and_the_first_counts() {
    let policy = Policy {
        max_attempts: 3,
        ..policy()
    };
    let told = send(&[Close, UNAVAILABLE, Close], policy);
    let error = told.error();
    assert_eq!((error.reason, error.attempts), (Reason::Attempts, 3));
    assert!(matches!(error.last, Last::NoAnswer(_)));
    assert_eq!(told.sleeps_ms, [100, 200]);
    // Progress in between starts the count again.
    let busy = Answer(409, &["Retry-After: 0"], "");
    let told = send(&[Close, Close, busy, Close, Close, CREATED], policy);
    assert_eq!(told.reply().attempts, 6);
}

#[test]
fn all_calls_of_a_client_share_one_retry_budget() {
    let policy = Policy {
        budget: BudgetPolicy {
            capacity_tokens: 2,
            deposit_per_second_millitokens: 100,
            deposit_per_success_millitokens: 500,
        },
        ..policy()
    };
    // Three requests of the first call, one each of the next two, and then those that time and success have paid for.
    let failing = [UNAVAILABLE; 8];
    let script = [&failing[..], &[CREATED; 2], &[UNAVAILABLE, CREATED]].concat();
    let server = Server::start(&script);
    let surroundings = Virtual::default();
    let client = Client::with_surroundings(&server.base, policy, &surroundings).expect("a base");
    let call = Call::post("/orders", BODY);
    let attempts_of_a_failure = || {
        let error = client.send(&call).expect_err("the server is not available");
        assert_eq!(error.reason, Reason::Budget);
        error.attempts
    };
    assert_eq!([(); 3].map(|()| attempts_of_a_failure()), [3, 1, 1]);
    // The budget counts in whole seconds.
    surroundings.pass(11_000);
    assert_eq!(attempts_of_a_failure(), 2);
    assert_eq!(attempts_of_a_failure(), 1);
    for _ in 0..2 {
        assert_eq!(client.send(&call).expect("it is answered").attempts, 1);
    }
    assert_eq!(client.send(&call).expect("it is answered").attempts, 2);
    assert_eq!(server.seen().len(), script.len());
}

#[test]
fn headers_are_sent_and_what_cannot_be_sent_is_said_at_once() {
    let server = Server::start(&[CREATED]);
    let surroundings = Virtual::default();
    let client = Client::with_surroundings(&server.base, policy(), &surroundings).expect("a base");
    let key = HeaderName::from_static("idempotency-key");
    let call = Call::post("/orders", BODY).with_header(key, HeaderValue::from_static("other"));
    let reply = client.send(&call).expect("it is answered");
    // The key of a call is the client's to set.
    assert_eq!(
        server.seen()[0].key,
        Some(format!("\"{}\"", reply.key.as_str()))
    );
    let error = client.send(&Call::post("/a b", BODY)).expect_err("no path");
    assert_eq!(
        (error.reason, surroundings.sleeps_ms()),
        (Reason::Unsendable, vec![])
    );
}

#[test]
fn a_base_has_a_scheme_a_host_and_no_path() {
    let made = |base| Client::new(base, Policy::default()).map(drop);
    for base in [
        "http://127.0.0.1:3000",
        "http://127.0.0.1:3000/",
        "http://a.example",
    ] {
        assert_eq!(made(base), Ok(()), "{base}");
    }
    for base in [
        "",
        "127.0.0.1:3000",
        "/orders",
        "http://a.example/api",
        "http://",
    ] {
        assert_eq!(made(base), Err(BaseError), "{base}");
    }
}
