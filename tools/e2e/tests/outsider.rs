//! An API that somebody else wrote, httpbin, is put behind Reprise with configuration alone.
//!
//! httpbin knows nothing of keys: it answers each call anew, with what it was sent. So its answers show what reached it,
//! and its own access log how often.

use reprise_e2e::{Answer, Client, Host, Httpbin, Options, State};
use serde_json::{Value, json};
use std::thread;

/// All that it takes.
fn config(upstream: &str) -> String {
    format!(
        r#"
[upstreams.httpbin]
url = "{upstream}"

[[operations]]
name = "anything"
route = "/anything"
handler = "forward"
upstream = "httpbin"

[[operations]]
name = "profile"
route = "/customers/{{customer}}/profile"
method = "PATCH"
handler = "forward"
upstream = "httpbin"
upstream_path = "/anything/v1/{{customer}}"

[[operations]]
name = "teapot"
route = "/teapots/{{number}}"
method = "PUT"
handler = "forward"
upstream = "httpbin"
upstream_path = "/status/{{number}}"
"#
    )
}

struct Setting {
    httpbin: Httpbin,
    client: Client,
    _host: Host,
    _state: State,
}

fn start() -> Setting {
    let state = State::new();
    let httpbin = Httpbin::start(state.path());
    let host = Host::start(&state, &Options::default().config(&config(&httpbin.url())));
    Setting {
        httpbin,
        client: host.client(),
        _host: host,
        _state: state,
    }
}

fn send(client: &Client, method: &str, path: &str, body: &Value) -> Answer {
    let headers = [
        ("content-type", "application/json"),
        ("idempotency-key", "client-key"),
        ("authorization", "Bearer client-secret"),
        ("cookie", "session=client-secret"),
        (
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ),
    ];
    client
        .send(method, path, &headers, body.to_string().as_bytes())
        .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

/// A repeat gives the first answer again, byte for byte.
fn is_repeated(first: &Answer, repeat: &Answer) {
    assert!(!first.is_replayed() && repeat.is_replayed(), "{repeat:?}");
    assert_eq!(repeat.lasting(), first.lasting());
}

#[test]
fn a_post_reaches_the_outsider_once_without_the_client_s_secrets() {
    let Setting {
        httpbin, client, ..
    } = &start();
    let body = json!({"amount": 1});
    let first = send(client, "POST", "/anything?q=1&q=2", &body);
    assert_eq!(first.status, 200, "{first:?}");
    let seen = first.json();
    assert_eq!(
        (&seen["method"], &seen["json"], &seen["args"]),
        (&json!("POST"), &body, &json!({"q": ["1", "2"]}))
    );
    let header = |name: &str| seen["headers"][name].as_str();
    let key = header("Idempotency-Key").expect("a derived key");
    assert!(key.starts_with("reprise-"), "{key}");
    let trace = header("Traceparent").expect("a trace");
    assert!(
        trace.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && trace.ends_with("-01"),
        "{trace}"
    );
    assert_eq!((header("Authorization"), header("Cookie")), (None, None));
    for secret in ["client-secret", "client-key"] {
        assert!(!first.body.contains(secret), "{first:?}");
    }
    for _ in 0..3 {
        is_repeated(&first, &send(client, "POST", "/anything?q=1&q=2", &body));
    }
    assert_eq!(httpbin.answered("POST /anything?q=1&q=2"), 1);
    let other = send(client, "POST", "/anything?q=1&q=2", &json!({"amount": 2}));
    assert_eq!(
        (other.status, other.problem().as_str()),
        (422, "idempotency-key-reused")
    );
    assert_eq!(httpbin.answered("POST /anything?q=1&q=2"), 1);
}

#[test]
fn of_many_concurrent_posts_with_one_key_the_outsider_sees_one() {
    let Setting {
        httpbin, client, ..
    } = &start();
    let post = || client.clone().post("/anything", Some("k"), "{}").status;
    let statuses: Vec<u16> = thread::scope(|scope| {
        let calls: Vec<_> = (0..20).map(|_| scope.spawn(post)).collect();
        let status = |call: thread::ScopedJoinHandle<'_, u16>| call.join().expect("an answer");
        calls.into_iter().map(status).collect()
    });
    assert!(
        statuses.iter().all(|status| [200, 409].contains(status)),
        "{statuses:?}"
    );
    assert_eq!(post(), 200);
    assert_eq!(httpbin.answered("POST /anything"), 1);
}

#[test]
fn path_parameters_and_other_methods_reach_the_outsider() {
    let Setting {
        httpbin, client, ..
    } = &start();
    let body = json!({"name": "Ирина"});
    let patch = || send(client, "PATCH", "/customers/a%20b/profile?full=1", &body);
    let first = patch();
    assert_eq!(first.status, 200, "{first:?}");
    let seen = first.json();
    assert_eq!(
        (&seen["method"], &seen["json"], &seen["args"]),
        (&json!("PATCH"), &body, &json!({"full": "1"}))
    );
    let url = seen["url"].as_str().expect("httpbin tells the address");
    assert!(url.contains("/anything/v1/a"), "{url}");
    is_repeated(&first, &patch());
    assert_eq!(httpbin.answered("PATCH /anything/v1/a%20b?full=1"), 1);
}

#[test]
fn what_the_outsider_refuses_for_good_is_refused_again_without_asking() {
    let Setting {
        httpbin, client, ..
    } = &start();
    let put = || send(client, "PUT", "/teapots/418", &json!({}));
    let first = put();
    assert_eq!(first.status, 418);
    assert!(first.body.contains("teapot"), "{first:?}");
    is_repeated(&first, &put());
    assert_eq!(httpbin.answered("PUT /status/418"), 1);
}
