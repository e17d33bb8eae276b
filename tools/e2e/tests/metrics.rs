//! Metrics and the log of the running service: a history whose numbers are known, told by `/-/metrics` and line by line.
//!
//! `promtool`, which Prometheus comes with, checks the page. `cargo xtask test` installs it and names it in
//! `REPRISE_PROMTOOL`; without that it is looked for on the PATH.

use reprise_e2e::{Client, Host, Options, Sent, State, Upstream, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::env;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const TOKEN: &str = "metrics-of-a-test";
const CHARGE: &str = r#"{"amount":1999,"currency":"EUR","reference":"secret-reference"}"#;
const ORDER: &str = r#"{"product_id":42,"quantity":3}"#;

fn ask(client: &Client, method: &str, path: &str) -> reprise_e2e::Answer {
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", bearer.as_str())];
    client
        .send(method, path, &headers, b"")
        .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

fn metrics(client: &Client) -> String {
    let answer = ask(client, "GET", "/-/metrics");
    assert_eq!(answer.status, 200, "{answer:?}");
    let media_type = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!(answer.header("content-type"), Some(media_type));
    answer.body
}

/// The series that are whole numbers and not 0, without their common start.
fn series(page: &str) -> BTreeMap<String, u64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let name = name.trim_start_matches("reprise_").to_owned();
        Some((name, value.parse::<u64>().ok()?))
    });
    pairs.filter(|(_, value)| *value != 0).collect()
}

/// Has Prometheus' own tool read a page: it ends well and without a word.
fn check(page: &str) {
    let program = env::var_os("REPRISE_PROMTOOL").unwrap_or_else(|| "promtool".into());
    let mut promtool = Command::new(program)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is there: it comes with Debian's package prometheus");
    let mut input = promtool.stdin.take().expect("its input is piped");
    input.write_all(page.as_bytes()).expect("it reads");
    drop(input);
    let output = promtool.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.is_empty(), "{said}\n{page}");
}

/// An upstream that is down for the first charge's first attempt, a receiver that refuses the second event, and a store
/// of which each tick visits all buckets.
fn started() -> (State, Host) {
    let upstream = Upstream::start(|_, seen| {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        let is_first_charge = seen.target == "/payment-sandbox/charges";
        if is_first_charge && body.contains("fails") {
            Sent::new(503, &[], b"down")
        } else if is_first_charge {
            Sent::new(201, &[], br#"{"approved":true}"#)
        } else if body.contains("\"quantity\":4") {
            Sent::new(400, &[], b"no")
        } else {
            Sent::new(204, &[], b"")
        }
    });
    let state = State::new();
    let options = Options::default()
        .variable("admin_token", TOKEN)
        .variable("payment_api_url", &upstream.url())
        .variable("events_host", &upstream.url())
        .variable("payment_api_authorization", "Bearer secret-of-the-upstream")
        .edit("bucket_bits = 14", "bucket_bits = 4");
    let host = Host::start(&state, &options);
    (state, host)
}

#[test]
fn a_history_over_http_is_counted_logged_and_read_by_prometheus() {
    let (_state, host) = started();
    let client = host.client();
    check(&metrics(&client));
    let status = |path: &str, key: &str, body: &str| client.post(path, Some(key), body).status;
    let failing = CHARGE.replace("secret-reference", "fails");
    let statuses = [
        status("/charge", "secret-key", CHARGE),
        status("/charge", "secret-key", CHARGE),
        status("/charge", "secret-key", ORDER),
        status("/charge", "down", &failing),
        status("/charge", "down", &failing),
        status("/orders", "o", ORDER),
        status("/orders", "p", &ORDER.replace('3', "4")),
        client.task("secret-text", None).status,
        client.get("/nowhere").status,
    ];
    assert_eq!(statuses, [201, 201, 422, 202, 409, 201, 201, 201, 404]);
    // Events are delivered after the answers. Asking brings what was counted to the store, so nothing of it is lost.
    let dead = r#"deliveries_total{sink="projection",outcome="dead"}"#;
    wait_until("both deliveries", SOON, || {
        series(&metrics(&client)).contains_key(dead)
    });
    assert_eq!(ask(&client, "POST", "/-/tick").status, 200);
    let page = metrics(&client);
    check(&page);
    let shown = series(&page);
    let count = |name: &str| shown.get(name).copied().unwrap_or_default();
    for (name, expected) in [
        (r#"requests_total{operation="charge",status="2xx"}"#, 3),
        (r#"requests_total{operation="charge",status="4xx"}"#, 2),
        (r#"requests_total{operation="orders",status="2xx"}"#, 2),
        (r#"requests_total{operation="tasks",status="2xx"}"#, 1),
        (r#"requests_total{operation="(none)",status="4xx"}"#, 1),
        (r#"operations_created_total{operation="charge"}"#, 2),
        (r#"operations_created_total{operation="orders"}"#, 2),
        (r#"operations_created_total{operation="tasks"}"#, 1),
        (r#"replays_total{operation="charge"}"#, 1),
        (r#"mismatches_total{operation="charge"}"#, 1),
        (r#"conflicts_total{operation="charge"}"#, 1),
        (
            r#"attempts_total{operation="charge",outcome="succeeded"}"#,
            1,
        ),
        (
            r#"deliveries_total{sink="projection",outcome="delivered"}"#,
            1,
        ),
        (dead, 1),
        (r#"operations{operation="charge",state="done"}"#, 1),
        (r#"operations{operation="orders",state="done"}"#, 2),
        (r#"operations{operation="tasks",state="done"}"#, 1),
        (r#"dead_letters{sink="projection"}"#, 1),
        (r#"store_errors_total{kind="unavailable"}"#, 0),
    ] {
        assert_eq!(count(name), expected, "{name}\n{page}");
    }
    // The second charge may have been attempted again by now: each attempt so far has failed.
    let attempts = count(r#"attempts_total{operation="charge",outcome="retrying"}"#);
    assert!(attempts >= 1, "{page}");
    let durations = r#"attempt_duration_seconds_count{operation="charge",upstream="payments"}"#;
    assert_eq!(count(durations), 1 + attempts, "{page}");

    let log = host.log();
    let lines: Vec<Value> = log
        .iter()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("[reprise] ")?).ok())
        .collect();
    let of = |event: &str, to: &str| {
        let is_it = |line: &&Value| line["event"] == event && line["to"] == to;
        lines.iter().filter(is_it).count()
    };
    assert_eq!(of("operation", "done"), 4, "{log:#?}");
    assert_eq!(
        (of("delivery", "delivered"), of("delivery", "dead")),
        (1, 1),
        "{log:#?}"
    );
    let all = log.join("\n");
    assert!(!all.contains("secret"), "{all}");
    assert!(!all.contains(TOKEN), "{all}");
}

#[test]
fn counters_survive_a_restart() {
    let (state, mut host) = started();
    let client = host.client();
    assert_eq!(client.task("a", Some("k")).status, 201);
    assert_eq!(client.task("a", Some("k")).status, 200);
    // An instance brings what it has counted to the store when it is asked: each host's is.
    let hosts = 0..state.arrangement().hosts();
    let pages: Vec<_> = hosts.map(|_| metrics(&client)).collect();
    let before = series(pages.last().expect("there is a host"));
    host.kill();
    let options = Options::default()
        .variable("admin_token", TOKEN)
        .edit("bucket_bits = 14", "bucket_bits = 4");
    let host = Host::start(&state, &options);
    let after = series(&metrics(&host.client()));
    for name in [
        r#"replays_total{operation="tasks"}"#,
        r#"operations_created_total{operation="tasks"}"#,
    ] {
        assert_eq!((before[name], after[name]), (1, 1), "{name}");
    }
}

#[test]
fn a_level_that_is_none_is_a_clear_error() {
    let state = State::new();
    let host = Host::start(&state, &Options::default().variable("log_level", "all"));
    let answer = host.client().task("a", None);
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (503, "misconfigured")
    );
    let detail = answer.json()["detail"].as_str().expect("a text").to_owned();
    assert!(
        detail.contains("log.level: is not one of off, error, info, debug"),
        "{detail}"
    );
    let is_refusal =
        |line: &String| line.contains("\"event\":\"configuration\"") && line.contains("log.level");
    wait_until("the line", SOON, || host.log().iter().any(is_refusal));
}
