//! An API that is put behind Reprise by configuration alone: what the upstream gets, what of its response comes back, and
//! what a failure means. The upstream here is the test's own, down to the bytes on the wire.

use reprise_e2e::{Answer, Client, Host, Options, Seen, Sent, State, Upstream, wait_until};
use std::net::TcpListener;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// An operation on `/items/{item}/parts`, with short times.
fn config(upstream: &str, more: &str) -> String {
    format!(
        r#"
[upstreams.parts]
url = "{upstream}/base"
headers = {{ authorization = "Bearer upstream-secret-7c1" }}

[[operations]]
name = "parts"
route = "/items/{{item}}/parts"
method = "PUT"
handler = "forward"
upstream = "parts"
upstream_path = "/v1/{{item}}/parts"
fingerprint = "raw"
max_attempts = 3
backoff = {{ kind = "constant", delay = "100ms" }}
attempt_timeout = "1s"
lease = "3s"
forward_headers = ["content-type", "x-shop"]
replay_headers = ["content-type", "location", "etag", "link", "x-kept"]
{more}
"#
    )
}

struct Setting {
    state: State,
    host: Host,
    client: Client,
}

fn start(upstream: &str, more: &str) -> Setting {
    let state = State::new();
    let host = Host::start(&state, &Options::default().config(&config(upstream, more)));
    let client = host.client();
    Setting {
        state,
        host,
        client,
    }
}

const PATH: &str = "/items/a%20b/parts?q=1&q=%2F";

fn put(client: &Client, key: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let headers = [&[("idempotency-key", key)], headers].concat();
    client
        .send("PUT", PATH, &headers, body)
        .unwrap_or_else(|error| panic!("{key}: {error}"))
}

/// Repeats until the operation has ended.
fn until_ended(client: &Client, key: &str) -> Answer {
    let mut last = None;
    wait_until("the end", SOON, || {
        let answer = put(client, key, &[], b"x");
        let has_ended = !matches!(answer.status, 202 | 409);
        last = Some(answer);
        has_ended
    });
    last.expect("there was one")
}

fn no_header(seen: &Seen, names: &[&str]) {
    for name in names {
        assert_eq!(seen.header(name), None, "{seen:?}");
    }
}

#[test]
fn an_upstream_gets_the_request_and_only_what_is_listed_of_its_headers() {
    let upstream = Upstream::start(|_, _| Sent::new(200, &[], b"ok"));
    let Setting { client, .. } = &start(&upstream.url(), "");
    let body: Vec<u8> = (0..=255).collect();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let answer = put(
        client,
        "client-key",
        &[
            ("content-type", "application/octet-stream"),
            ("x-shop", "berlin"),
            ("x-not-listed", "1"),
            ("authorization", "Bearer client-secret"),
            ("cookie", "session=1"),
            ("te", "trailers"),
            ("traceparent", trace),
            ("tracestate", "vendor=1"),
        ],
        &body,
    );
    assert_eq!((answer.status, answer.body.as_str()), (200, "ok"));
    let [seen] = &upstream.seen()[..] else {
        panic!("one call: {:?}", upstream.seen())
    };
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("PUT", "/base/v1/a%20b/parts?q=1&q=%2F")
    );
    assert_eq!(seen.body, body);
    assert_eq!(
        seen.header("content-type"),
        Some("application/octet-stream")
    );
    assert_eq!(seen.header("content-length"), Some("256"));
    assert_eq!(seen.header("x-shop"), Some("berlin"));
    assert_eq!(
        seen.header("authorization"),
        Some("Bearer upstream-secret-7c1")
    );
    no_header(seen, &["x-not-listed", "cookie", "te", "transfer-encoding"]);
    let key = seen.header("idempotency-key").expect("a key");
    assert!(
        key.starts_with("reprise-") && !key.contains("client-key"),
        "{key}"
    );
    let passed_on = seen.header("traceparent").expect("a trace");
    assert!(
        passed_on.starts_with(&trace[..36]) && passed_on.ends_with("-01"),
        "{passed_on}"
    );
    assert_ne!(passed_on, trace, "an attempt is a span of its own");
    assert_eq!(seen.header("tracestate"), Some("vendor=1"));
}

/// Scenarios 19 and 20.
#[test]
fn of_a_response_only_what_is_listed_comes_back_and_a_repeat_gets_the_same() {
    let upstream = Upstream::start(|_, _| {
        let headers = [
            ("Content-Type", "text/plain; charset=latin1"),
            ("Content-Encoding", "x-own"),
            ("Location", "https://elsewhere.example/parts/1"),
            ("ETag", "\"1\""),
            ("Link", "</a>; rel=\"next\""),
            ("Link", "</b>; rel=\"prev\""),
            ("X-Kept", "1"),
            ("X-Not-Listed", "1"),
            ("Set-Cookie", "session=1"),
            ("WWW-Authenticate", "Basic"),
            ("Keep-Alive", "timeout=5"),
        ];
        Sent::new(201, &headers, b"\xff\xfe\x00part")
    });
    let Setting { client, .. } = &start(&upstream.url(), "");
    let first = put(client, "k", &[], b"x");
    assert_eq!(first.status, 201);
    let kept = |name| {
        first
            .headers
            .get_all(name)
            .iter()
            .map(|value| value.to_str().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(kept("location"), ["https://elsewhere.example/parts/1"]);
    assert_eq!(kept("link"), ["</a>; rel=\"next\"", "</b>; rel=\"prev\""]);
    assert_eq!(kept("content-type"), ["text/plain; charset=latin1"]);
    assert_eq!(
        (kept("etag"), kept("x-kept"), kept("content-encoding")),
        (vec!["\"1\""], vec!["1"], vec!["x-own"])
    );
    for name in [
        "x-not-listed",
        "set-cookie",
        "www-authenticate",
        "keep-alive",
    ] {
        assert_eq!(first.header(name), None, "{name}");
    }
    let repeat = put(client, "k", &[], b"x");
    assert!(repeat.is_replayed() && !first.is_replayed());
    assert_eq!(repeat.lasting(), first.lasting());
    assert_eq!(upstream.seen().len(), 1);
    let record = client
        .get(first.header("operation-location").expect("a record"))
        .json();
    assert_eq!(record["response"]["body_base64"], "//4AcGFydA==");
}

#[test]
fn every_attempt_carries_the_same_key_and_each_operation_its_own() {
    let upstream = Upstream::start(|before, _| match before {
        0 | 1 => Sent::new(503, &[], b""),
        _ => Sent::new(200, &[], b"done"),
    });
    let Setting { client, .. } = &start(&upstream.url(), "");
    assert_eq!(put(client, "a", &[], b"x").status, 202);
    assert_eq!(until_ended(client, "a").status, 200);
    assert_eq!(put(client, "b", &[], b"x").status, 200);
    let seen = upstream.seen();
    let keys: Vec<_> = seen
        .iter()
        .map(|seen| seen.header("idempotency-key").expect("a key"))
        .collect();
    assert_eq!(keys.len(), 4);
    assert!(
        keys[0] == keys[1] && keys[1] == keys[2] && keys[2] != keys[3],
        "{keys:?}"
    );
    let spans: Vec<_> = seen[..3]
        .iter()
        .map(|seen| seen.header("traceparent").expect("a trace"))
        .collect();
    assert!(
        spans[0][..36] == spans[1][..36] && spans[0] != spans[1],
        "{spans:?}"
    );
}

#[test]
fn what_is_raw_is_compared_byte_for_byte_and_so_are_path_and_query() {
    let upstream = Upstream::start(|_, _| Sent::new(200, &[], b"ok"));
    let Setting { client, .. } = &start(&upstream.url(), "");
    let send = |path: &str, body: &[u8]| {
        client
            .send("PUT", path, &[("idempotency-key", "k")], body)
            .unwrap()
            .status
    };
    assert_eq!(send("/items/1/parts?a=1", b"{\"a\":1}"), 200);
    assert_eq!(send("/items/1/parts?a=1", b"{\"a\":1}"), 200);
    assert_eq!(send("/items/1/parts?a=1", b"{\"a\": 1}"), 422);
    assert_eq!(send("/items/1/parts?a=2", b"{\"a\":1}"), 422);
    assert_eq!(send("/items/2/parts?a=1", b"{\"a\":1}"), 422);
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn redirects_and_refusals_are_results_and_nobody_follows_them() {
    let elsewhere = Upstream::start(|_, _| Sent::new(200, &[], b"followed"));
    let target = format!("{}/there", elsewhere.url());
    let statuses = [204_u16, 303, 307, 400, 404, 409, 410, 422];
    let upstream = Upstream::start(move |before, _| {
        Sent::new(statuses[before], &[("Location", &target)], b"")
    });
    let Setting { client, .. } = &start(&upstream.url(), "");
    for status in statuses {
        let key = format!("k{status}");
        let first = put(client, &key, &[], b"x");
        assert_eq!((first.status, first.is_replayed()), (status, false));
        assert_eq!(
            put(client, &key, &[], b"x").lasting(),
            first.lasting(),
            "{status}"
        );
    }
    assert_eq!(upstream.seen().len(), statuses.len());
    assert_eq!(elsewhere.seen(), []);
}

/// Responses that are odd on the wire, each with what a client gets of it and whether it is asked for again.
#[test]
fn an_odd_response_is_a_result_or_another_attempt_and_never_passed_on_by_halves() {
    let table: [(&str, u16); 8] = [
        ("204 X\r\nContent-Length: 5\r\n\r\n", 204),
        ("304 X\r\nContent-Length: 5\r\n\r\n", 304),
        (
            "103 X\r\n\r\nHTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok",
            200,
        ),
        // It is too large to be kept, so nobody waits for a body that never comes.
        ("200 X\r\nContent-Length: 99999999\r\n\r\n", 200),
        ("101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 202),
        ("600 X\r\nContent-Length: 0\r\n\r\n", 202),
        ("999 X\r\nContent-Length: 0\r\n\r\n", 202),
        (
            "200 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
            202,
        ),
    ];
    let upstream = Upstream::start(move |before, _| Sent {
        delay: Duration::ZERO,
        bytes: format!("HTTP/1.1 {}", table[before].0).into_bytes(),
    });
    let Setting { client, .. } = &start(&upstream.url(), "");
    for (number, (response, status)) in table.iter().enumerate() {
        let first = put(client, &format!("k{number}"), &[], b"x");
        assert_eq!(first.status, *status, "{response:?}: {first:?}");
        if *status != 202 {
            let repeat = put(client, &format!("k{number}"), &[], b"x");
            assert!(repeat.is_replayed(), "{response:?}: {repeat:?}");
            assert_eq!(repeat.lasting(), first.lasting(), "{response:?}");
        }
    }
    assert_eq!(upstream.seen().len(), table.len());
}

#[test]
fn what_may_pass_is_attempted_until_the_attempts_are_used_up_and_then_failed_for_good() {
    let upstream =
        Upstream::start(|before, _| Sent::new([401, 425, 500][before % 3], &[], b"secret detail"));
    let Setting { client, .. } = &start(&upstream.url(), "");
    assert_eq!(put(client, "k", &[], b"x").status, 202);
    let failed = until_ended(client, "k");
    assert_eq!(
        (failed.status, failed.problem().as_str()),
        (502, "operation-failed")
    );
    assert!(
        failed.body.contains("3 attempts") && failed.body.contains("500"),
        "{failed:?}"
    );
    assert!(!failed.body.contains("secret detail"), "{failed:?}");
    assert_eq!(failed.json()["retryable"], false);
    let repeat = put(client, "k", &[], b"x");
    assert!(repeat.is_replayed());
    assert_eq!((repeat.status, repeat.body), (502, failed.body));
    assert_eq!(upstream.seen().len(), 3);
}

#[test]
fn an_upstream_that_may_not_be_called_twice_is_not_when_nobody_knows_what_it_did() {
    for sent in [
        Sent::new(200, &[], b"too late").after(Duration::from_millis(1_500)),
        Sent::new(200, &[], b"a body that breaks off").cut(5),
        Sent {
            delay: Duration::ZERO,
            bytes: Vec::new(),
        },
    ] {
        let upstream = Upstream::start(move |_, _| sent.clone());
        let Setting { client, .. } = &start(&upstream.url(), "on_lost_attempt = \"fail\"");
        let failed = put(client, "k", &[], b"x");
        assert_eq!(
            (failed.status, failed.problem().as_str()),
            (502, "operation-failed"),
            "{failed:?}"
        );
        assert_eq!(put(client, "k", &[], b"x").status, 502);
        assert_eq!(upstream.seen().len(), 1);
    }
}

#[test]
fn an_upstream_that_is_not_there_is_called_again_and_again() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let Setting { client, .. } = &start(
        &format!("http://127.0.0.1:{port}"),
        "on_lost_attempt = \"fail\"",
    );
    let first = put(client, "k", &[], b"x");
    let expected =
        serde_json::json!({"kind": "unreachable", "detail": "the connection was refused"});
    assert_eq!(
        (first.status, first.json()["last_error"].clone()),
        (202, expected),
        "{first:?}"
    );
    let failed = until_ended(client, "k");
    assert!(
        failed.status == 502 && failed.body.contains("unreachable"),
        "{failed:?}"
    );
}

#[test]
fn an_operation_ends_at_its_total_deadline_with_its_last_error() {
    let upstream = Upstream::start(|_, _| Sent::new(503, &[("Retry-After", "30")], b""));
    let Setting { client, .. } = &start(&upstream.url(), "total_deadline = \"10s\"");
    let failed = put(client, "k", &[], b"x");
    assert_eq!(
        (failed.status, failed.problem().as_str()),
        (502, "operation-failed")
    );
    assert!(
        failed.body.contains("503") && failed.body.contains("time was over"),
        "{failed:?}"
    );
    assert_eq!(upstream.seen().len(), 1);
}

/// What a repeat of a text task would get before its end; ours end at once, so the upstream's part is played here.
/// Scenario 28: the first id, whenever it is asked for.
#[test]
fn an_operation_may_show_its_record_before_and_after_its_end() {
    let upstream = Upstream::start(|before, _| match before {
        0 => Sent::new(503, &[("Retry-After", "1")], b""),
        _ => Sent::new(201, &[], b"ok"),
    });
    let record = "while_unfinished = \"record\"\nwhen_finished = \"record\"\nkey = \"optional\"";
    let Setting { client, .. } = &start(&upstream.url(), record);
    let first = put(client, "k", &[], b"x");
    assert_eq!((first.status, first.is_replayed()), (202, false));
    let repeat = put(client, "k", &[], b"x");
    assert_eq!((repeat.status, repeat.is_replayed()), (200, true));
    assert_eq!(
        (repeat.id(), repeat.json()["status"].clone()),
        (first.id(), "waiting".into())
    );
    assert!(repeat.header("retry-after").is_some());
    wait_until("the end", SOON, || {
        put(client, "k", &[], b"x").json()["status"] == "done"
    });
    let done = put(client, "k", &[], b"x");
    assert_eq!(
        (done.status, done.id(), done.is_replayed()),
        (200, first.id(), true)
    );
    assert_eq!(done.json()["response"]["body"], "ok");
    // Without a key each is an operation of its own.
    let ids = [(); 2].map(|()| client.send("PUT", PATH, &[], b"x").expect("an answer").id());
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn an_empty_retry_budget_ends_the_retries_of_all_operations_that_share_it() {
    let upstream = Upstream::start(|_, _| Sent::new(503, &[], b""));
    let budget = "\n[upstreams.parts.retry_budget]\ncapacity = 2\nper_second = \"0.001\"\n";
    let Setting { client, .. } = &start(&upstream.url(), budget);
    let statuses: Vec<u16> = (0..4)
        .map(|n| put(client, &format!("k{n}"), &[], b"x").status)
        .collect();
    assert_eq!(statuses, [202, 202, 502, 502]);
    assert!(put(client, "k3", &[], b"x").body.contains("budget"));
    assert_eq!(upstream.seen().len(), 4);
}

#[test]
fn secrets_never_reach_the_store() {
    let upstream = Upstream::start(|_, _| {
        let secret = [
            ("Set-Cookie", "upstream-cookie-31f"),
            ("X-Kept", "kept-canary-9a2"),
        ];
        Sent::new(200, &secret, b"body-canary-44e")
    });
    let Setting {
        state,
        mut host,
        client,
    } = start(&upstream.url(), "");
    let headers = [
        ("authorization", "Bearer client-secret-5d3"),
        ("cookie", "client-cookie-5d3"),
        ("x-api-key", "client-api-key-5d3"),
        ("x-shop", "shop-canary-5d3"),
    ];
    let headers = [
        &[("idempotency-key", "client-chosen-key-5d3")],
        &headers[..],
    ]
    .concat();
    let answer = client
        .send("PUT", PATH, &headers, b"request-canary-5d3")
        .expect("an answer");
    assert_eq!(answer.status, 200);
    host.kill();
    for kept in [
        "kept-canary-9a2",
        "body-canary-44e",
        "shop-canary-5d3",
        "request-canary-5d3",
    ] {
        assert!(
            state.holds(kept.as_bytes()),
            "{kept} is what the record is for"
        );
    }
    for secret in [
        "client-secret-5d3",
        "client-cookie-5d3",
        "client-api-key-5d3",
        "client-chosen-key-5d3",
        "upstream-secret-7c1",
        "upstream-cookie-31f",
    ] {
        assert!(!state.holds(secret.as_bytes()), "{secret} is in the store");
    }
}
