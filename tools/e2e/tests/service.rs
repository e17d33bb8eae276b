//! The service as a whole: what it answers with a configuration that is wrong, to pages of other origins, and to methods
//! beside those that do something.

use reprise_e2e::{Host, Options, State};

#[test]
fn a_wrong_configuration_is_answered_with_the_line_and_the_field_and_nothing_is_done() {
    let table = [
        (
            "bucket_bits = 14",
            "bucket_bits = 21",
            "line 12, store.bucket_bits",
        ),
        (
            "handler = \"order\"",
            "handler = \"ordre\"",
            "operations.orders.handler",
        ),
        (
            "attempt_timeout = \"5s\"",
            "attempt_timeout = \"20s\"",
            "operations.charge.lease",
        ),
        (
            "upstream = \"payments\"",
            "upstream = \"payment\"",
            "operations.charge.upstream",
        ),
        ("sink = \"projection\"", "sink = \"projections\"", "sink"),
        ("[store]", "[store", "line "),
        (
            "{{ webhook_secret }}",
            "{{ webhook_secret_of_mine }}",
            "webhook_secret_of_mine",
        ),
        (
            "{{ webhook_secret }}",
            "no-secret",
            "sinks.projection.secrets",
        ),
    ];
    for (from, to, told) in table {
        let state = State::new();
        let host = Host::start(&state, &Options::default().edit(from, to));
        let client = host.client();
        for (path, body) in [
            ("/orders", r#"{"product_id":1,"quantity":1}"#),
            ("/tasks", r#"{"text":"a"}"#),
        ] {
            let answer = client.post(path, Some("k"), body);
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (503, "misconfigured"),
                "{to}"
            );
            let detail = answer.json()["detail"].clone();
            assert!(
                detail.as_str().is_some_and(|detail| detail.contains(told)),
                "{to}: {detail}"
            );
            assert!(!answer.body.contains("no-secret"), "{answer:?}");
        }
        assert_eq!(client.get("/-/healthz").status, 200);
        assert_eq!(host.key_value_calls().1, 0, "nothing was written");
    }
}

#[test]
fn pages_of_listed_origins_may_call_and_read_what_they_need() {
    let state = State::new();
    let origins = "allowed_origins = [\"https://shop.example\"]";
    let host = Host::start(
        &state,
        &Options::default().edit("allowed_origins = []", origins),
    );
    let client = host.client();
    let order = |origin| {
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "k"),
            ("origin", origin),
        ];
        client
            .send(
                "POST",
                "/orders",
                &headers,
                br#"{"product_id":1,"quantity":1}"#,
            )
            .expect("an answer")
    };
    let answer = order("https://shop.example");
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://shop.example")
    );
    assert_eq!(answer.header("vary"), Some("origin"));
    let exposed = answer
        .header("access-control-expose-headers")
        .expect("a list")
        .to_owned();
    for name in [
        "idempotent-replayed",
        "location",
        "operation-location",
        "retry-after",
        "etag",
    ] {
        assert!(
            exposed.split(", ").any(|one| one == name),
            "{name} in {exposed}"
        );
    }
    let other = order("https://evil.example");
    assert_eq!(other.header("access-control-allow-origin"), None);
    assert_eq!(
        other.header("vary"),
        Some("origin"),
        "a cache must not mix them up"
    );

    let preflight = |path, origin| {
        let headers = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
        ];
        client
            .send("OPTIONS", path, &headers, b"")
            .expect("an answer")
    };
    let allowed = preflight("/charge", "https://shop.example");
    assert_eq!(allowed.status, 204);
    assert_eq!(
        allowed.header("access-control-allow-methods"),
        Some("POST, OPTIONS")
    );
    assert_eq!(allowed.header("access-control-max-age"), Some("600"));
    let headers = allowed
        .header("access-control-allow-headers")
        .expect("a list");
    for name in [
        "idempotency-key",
        "content-type",
        "authorization",
        "traceparent",
    ] {
        assert!(
            headers.split(", ").any(|one| one == name),
            "{name} in {headers}"
        );
    }
    assert_eq!(
        preflight("/charge", "https://evil.example").header("access-control-allow-origin"),
        None
    );
}

#[test]
fn head_and_options_do_nothing_but_answer() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let order = client.post("/orders", Some("k"), r#"{"product_id":1,"quantity":1}"#);
    let location = order.header("location").expect("a record").to_owned();
    let get = client.get(&location);
    let head = client.send("HEAD", &location, &[], b"").expect("an answer");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for name in ["content-type", "location", "cache-control"] {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    for (path, allow) in [
        ("/orders", "POST, OPTIONS"),
        (location.as_str(), "GET, HEAD, DELETE, OPTIONS"),
    ] {
        let options = client.send("OPTIONS", path, &[], b"").expect("an answer");
        assert_eq!(
            (options.status, options.header("allow")),
            (204, Some(allow))
        );
        let wrong = client.send("PATCH", path, &[], b"").expect("an answer");
        assert_eq!((wrong.status, wrong.header("allow")), (405, Some(allow)));
    }
    let document = client.get("/-/openapi.yaml");
    assert_eq!(
        (document.status, document.header("content-type")),
        (200, Some("application/yaml"))
    );
    assert!(document.body.starts_with("openapi: 3.1"));
}
