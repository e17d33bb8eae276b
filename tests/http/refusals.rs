//! What is refused, row by row, and what a browser's page may see.

use crate::support::{JSON, KEY, REFERENCE, Service, Upstream, answered, reference};

/// An id that no record has.
const NOBODY_S: &str = "01a228f7-24e1-74a5-be33-c70543c6305d";

type Lines<'a> = &'a [(&'a str, &'a str)];

const PLAIN: Lines<'_> = &[JSON];
const KEYED: Lines<'_> = &[JSON, KEY];
const ORDER: &str = r#"{"product_id":42,"quantity":1}"#;
const TASK: &str = r#"{"text":"a"}"#;

/// Sends what is to be refused, and checks what every refusal has.
fn refused(service: &Service, request: &str, headers: Lines<'_>, body: &[u8], expected: &str) {
    let (method, target) = request.split_once(' ').expect("method and target");
    let answer = service.send(method, target, headers, body);
    let row = format!("{request} {headers:?}: {answer:?}");
    let problem = answer.problem().unwrap_or_default();
    assert_eq!(format!("{} {problem}", answer.status), expected, "{row}");
    assert_eq!(answer.json()["retryable"], false, "{row}");
    let has = |name| answer.header(name).is_some();
    assert_eq!(has("allow"), answer.status == 405, "{row}");
    assert_eq!(has("www-authenticate"), answer.status == 401, "{row}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{row}");
    assert_eq!(service.upstream.calls(), 0, "{row}");
}

#[test]
fn what_is_no_key_is_refused() {
    let service = reference();
    for route in ["/orders", "/charge"] {
        let request = format!("POST {route}");
        refused(
            &service,
            &request,
            PLAIN,
            b"{}",
            "400 idempotency-key-missing",
        );
    }
    let longest = "k".repeat(255);
    assert_eq!(service.post("/orders", &longest, ORDER).status, 201);
    let too_long = "k".repeat(256);
    for key in ["", "\"\"", "\"", "a b", "\"a\";b=1", "é", &too_long] {
        for route in ["/tasks", "/orders", "/charge"] {
            let headers = &[JSON, ("idempotency-key", key)];
            let request = format!("POST {route}");
            refused(
                &service,
                &request,
                headers,
                b"{}",
                "400 invalid-idempotency-key",
            );
        }
    }
    let twice = &[JSON, KEY, KEY];
    refused(
        &service,
        "POST /orders",
        twice,
        b"{}",
        "400 invalid-idempotency-key",
    );
}

#[test]
fn what_is_no_body_is_refused() {
    let service = reference();
    let table: &[(&str, &[&[u8]])] = &[
        (
            "POST /orders",
            &[
                b"",
                b"[42,1]",
                br#"{"product_id":42,"quantity":0}"#,
                br#"{"product_id":42,"quantity":1,"x":1}"#,
                br#"{"product_id":42,"quantity":1,"quantity":1}"#,
            ],
        ),
        (
            "POST /tasks",
            &[
                b"[\"a\"]",
                br#"{"text":" "}"#,
                br#"{"text":7}"#,
                br#"{"text":"\ud800"}"#,
                b"\xef\xbb\xbf{\"text\":\"a\"}",
            ],
        ),
        (
            "POST /charge",
            &[
                b"",
                b"\xff",
                br#"{"a":1,"a":1}"#,
                b"9007199254740993",
                b"{} {}",
            ],
        ),
    ];
    for (request, bodies) in table {
        for body in *bodies {
            refused(&service, request, KEYED, body, "400 invalid-body");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_its_body_is_looked_at() {
    let service = reference();
    let too_large = vec![b'['; 65_537];
    let gzip = &[JSON, KEY, ("content-encoding", "gzip")];
    let text = &[("content-type", "text/plain"), KEY];
    let announced = &[JSON, KEY, ("content-length", "65537")];
    let two_tenants = &[JSON, KEY, ("authorization", "a"), ("authorization", "b")];
    let target = format!("POST /charge?{}", "q".repeat(5_000));
    let table: &[(&str, Lines<'_>, &[u8], &str)] = &[
        ("POST /tasks", &[], b"[", "415 unsupported-media-type"),
        (
            "POST /tasks",
            &[JSON, JSON],
            b"[",
            "415 unsupported-media-type",
        ),
        ("POST /charge", text, b"[", "415 unsupported-media-type"),
        ("POST /charge", gzip, b"[", "415 unsupported-media-type"),
        ("POST /charge", KEYED, &too_large, "413 body-too-large"),
        ("POST /charge", announced, b"[", "413 body-too-large"),
        ("POST /charge", two_tenants, b"[", "400 invalid-tenant"),
        (&target, KEYED, b"{}", "431 head-too-large"),
    ];
    for (request, headers, body, expected) in table {
        refused(&service, request, headers, body, expected);
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let service = reference();
    for request in [
        "GET /nothing",
        "POST /tasks/",
        "POST //tasks",
        "POST /tasks/x/y",
        "POST /TASKS",
        "GET /tasks/7",
        "PUT /tasks/7",
        "GET /-/",
        "GET /inbox/none",
    ] {
        refused(&service, request, KEYED, TASK.as_bytes(), "404 not-found");
    }
    for request in [
        "POST /-/tick",
        "GET /-/tick",
        "GET /-/dead-letters",
        "GET /-/sinks",
    ] {
        refused(&service, request, &[], b"", "401 unauthorized");
    }
    let record = format!("PUT /charge/{NOBODY_S}");
    for request in [
        "GET /tasks",
        "PUT /charge",
        "post /charge",
        "DELETE /orders",
        "POST /-/healthz",
        "POST /-/openapi.yaml",
        "GET /inbox/orders",
        &record,
    ] {
        refused(&service, request, KEYED, b"{}", "405 method-not-allowed");
    }
}

#[test]
fn an_id_that_is_none_and_one_that_is_nobody_s_are_answered_alike() {
    let service = reference();
    let none = service.get(&format!("/tasks/{NOBODY_S}"));
    assert_eq!(none.status, 404);
    assert_eq!(service.get("/tasks/x"), none);
    assert_eq!(
        service
            .send("DELETE", &format!("/orders/{NOBODY_S}"), &[], b"")
            .status,
        404
    );
}

#[test]
fn a_preflight_of_a_listed_origin_alone_is_let_through() {
    let config = REFERENCE.replace(
        "allowed_origins = []",
        r#"allowed_origins = ["https://shop.example"]"#,
    );
    let service = Service::new(&config, Upstream::answering(Ok(answered(200, &[], b"ok"))));
    let method = ("access-control-request-method", "POST");
    for (origin, is_listed) in [
        ("https://shop.example", true),
        ("https://shop.example.evil.example", false),
        ("http://shop.example", false),
        ("null", false),
        ("https://SHOP.example", false),
        ("", false),
    ] {
        let allowed = Some(origin).filter(|_| is_listed);
        let headers = [("origin", origin), method];
        let preflight = service.send("OPTIONS", "/charge", &headers, b"");
        assert_eq!(preflight.status, 204);
        assert_eq!(
            preflight.header("access-control-allow-origin"),
            allowed,
            "{origin}"
        );
        assert_eq!(
            preflight.header("access-control-allow-headers").is_some(),
            is_listed
        );
        for (target, status) in [("/charge", 400), ("/nothing", 404)] {
            let answer = service.send("POST", target, &[JSON, ("origin", origin)], b"{}");
            assert_eq!(answer.status, status);
            assert_eq!(
                answer.header("access-control-allow-origin"),
                allowed,
                "{origin}"
            );
            let exposed = answer.header("access-control-expose-headers");
            assert_eq!(
                exposed.is_some_and(|names| names.contains("retry-after")),
                is_listed
            );
            assert_eq!(answer.header("vary"), Some("origin"));
            assert_eq!(answer.header("access-control-allow-credentials"), None);
        }
    }
}
