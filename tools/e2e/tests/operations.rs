//! The operators' view over HTTP, on a real host and its store: the list, one operation, cancel, the retry of a failed charge
//! that then succeeds, and what a key is bound to.

use reprise_e2e::{Answer, Arrangement, Client, Host, Options, Sent, State, Upstream};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TOKEN: (&str, &str) = ("authorization", "Bearer token");
const CHARGE: &str = r#"{"amount":1000,"currency":"EUR","reference":"a"}"#;

struct Setting {
    host: Host,
    client: Client,
    state: State,
}

fn start(options: &Options) -> Setting {
    let state = State::new();
    let options = options.clone().variable("admin_token", "token");
    let host = Host::start(&state, &options);
    let client = host.client();
    Setting {
        host,
        client,
        state,
    }
}

/// A shop whose charges go to this upstream, and have one attempt.
fn before(upstream: &Upstream) -> Options {
    Options::default()
        .variable("payment_api_url", &upstream.url())
        .edit("max_attempts = 4", "max_attempts = 1")
}

fn operate(client: &Client, method: &str, path: &str) -> Answer {
    client.send(method, path, &[TOKEN], b"").expect("an answer")
}

fn get(client: &Client, path: &str) -> Value {
    let answer = operate(client, "GET", path);
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json()
}

/// All pages of a list: the operations, and how many pages there were.
fn pass(client: &Client, path: &str) -> (Vec<Value>, u32) {
    let (mut all, mut pages) = (Vec::new(), 0);
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        let page = get(client, &path);
        all.extend(page["operations"].as_array().expect("a list").clone());
        pages += 1;
        next = page["next"].as_str().map(str::to_owned);
    }
    (all, pages)
}

fn ids(operations: &[Value]) -> BTreeSet<String> {
    let ids = operations
        .iter()
        .map(|one| one["id"].as_str().expect("an id"));
    ids.map(str::to_owned).collect()
}

#[test]
fn a_failed_charge_is_found_and_retried_and_then_it_is_done() {
    let is_down = Arc::new(AtomicBool::new(true));
    let told = Arc::clone(&is_down);
    let upstream = Upstream::start(move |_, _| {
        if told.load(Ordering::SeqCst) {
            Sent::new(503, &[], b"")
        } else {
            Sent::new(201, &[("content-type", "text/plain")], b"charged")
        }
    });
    let Setting { client, .. } = &start(&before(&upstream));
    let failed = client.post("/charge", Some("k"), CHARGE);
    assert_eq!(failed.problem(), "operation-failed");

    let (listed, _) = pass(client, "/-/operations?operation=charge&state=failed");
    let [summary] = &listed[..] else {
        panic!("one has failed: {listed:?}")
    };
    assert_eq!(summary["failure"], "attempts_exhausted");
    assert_eq!(*summary, get(client, "/-/keys?operation=charge&key=k"));
    let id = summary["id"].as_str().expect("an id");
    let shown = get(client, &format!("/-/operations/{id}"));
    assert_eq!(shown["history"][0]["outcome"], "failed");
    assert_eq!(shown["history"][0]["end_reason"], "attempts_exhausted");

    is_down.store(false, Ordering::SeqCst);
    let retried = operate(client, "POST", &format!("/-/operations/{id}/retry"));
    assert_eq!(
        (retried.status, &retried.json()["state"]),
        (200, &"done".into())
    );
    let repeat = client.post("/charge", Some("k"), CHARGE);
    assert_eq!(
        (repeat.status, repeat.body.as_str(), repeat.is_replayed()),
        (201, "charged", true)
    );
    assert_eq!(upstream.seen().len(), 2);
    let again = operate(client, "POST", &format!("/-/operations/{id}/retry"));
    assert_eq!(again.problem(), "operation-not-to-retry");
    let keys: BTreeSet<Option<String>> = upstream
        .seen()
        .iter()
        .map(|seen| seen.header("idempotency-key").map(str::to_owned))
        .collect();
    assert_eq!(
        keys,
        BTreeSet::from([shown["upstream_key"].as_str().map(str::to_owned)]),
        "one key for both calls"
    );
}

#[test]
fn a_charge_that_waits_is_called_off() {
    let upstream = Upstream::start(|_, _| Sent::new(503, &[("retry-after", "100")], b""));
    let options = before(&upstream).edit("max_attempts = 1", "max_attempts = 2");
    let Setting { client, host, .. } = &start(&options);
    assert_eq!(client.post("/charge", Some("k"), CHARGE).status, 202);
    let (listed, _) = pass(client, "/-/operations?state=waiting");
    let id = listed[0]["id"].as_str().expect("an id");
    for _ in 0..2 {
        let cancelled = operate(client, "POST", &format!("/-/operations/{id}/cancel"));
        assert_eq!(
            (cancelled.status, &cancelled.json()["state"]),
            (200, &"cancelled".into())
        );
    }
    assert_eq!(
        client.post("/charge", Some("k"), CHARGE).problem(),
        "operation-cancelled"
    );
    let unauthorized = client.get("/-/operations");
    assert_eq!(
        (unauthorized.status, unauthorized.problem().as_str()),
        (401, "unauthorized")
    );
    drop(host.client());
}

/// A store of the usual size with a few hundred records is seen in a moment; while others create, nothing is missed.
#[test]
fn a_pass_over_a_few_hundred_operations_takes_a_moment_and_misses_none() {
    let Setting {
        state,
        host,
        client,
    } = &start(&Options::default());
    let create = |client: &Client, key: &str| client.task("a text", Some(key)).id();
    let there: BTreeSet<String> = (0..200)
        .map(|key| create(client, &format!("k-{key}")))
        .collect();
    let begun = Instant::now();
    let (listed, pages) = pass(client, "/-/operations?limit=200");
    let took = begun.elapsed();
    println!("200 operations in {pages} pages, in {took:?}");
    assert_eq!(ids(&listed), there);
    // A page reads 16,384 words of buckets where it reads many at once, and else 1,024.
    let pages_max = match state.arrangement() {
        Arrangement::Sqlite => 2,
        Arrangement::Redis | Arrangement::RedisTwo => 18,
    };
    assert!(pages <= pages_max, "{pages} pages");
    assert!(took < Duration::from_secs(1) * pages, "{took:?}");

    let other = host.client();
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_over);
    let (listed, created) = std::thread::scope(|scope| {
        let creator = scope.spawn(move || {
            let mut created = 0;
            while !stop.load(Ordering::SeqCst) {
                let _ = other.task("another text", Some(&format!("more-{created}")));
                created += 1;
            }
            created
        });
        let (listed, pages) = pass(client, "/-/operations?limit=10&state=done");
        is_over.store(true, Ordering::SeqCst);
        assert!(pages >= 20, "{pages} pages");
        (listed, creator.join().expect("others create"))
    });
    assert!(created > 0);
    let seen = ids(&listed);
    assert!(seen.is_superset(&there), "an operation was missed");
    assert_eq!(seen.len(), listed.len(), "an operation came twice");
}
