//! `POST /tasks` and `GET /tasks/{id}` as a client meets them: good input in many scripts, and bad input of each kind.

use reprise_e2e::{Client, Host, Options, State};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

#[test]
fn texts_are_analysed_and_survive_a_kill() {
    let state = State::new();
    let mut host = Host::start(&state, &Options::default());
    let client = host.client();
    let texts = [
        (" Hello, hello world! ", "Hello, hello world!", 3, 19),
        ("Привет, мир. Мир!", "Привет, мир. Мир!", 3, 17),
        ("你好，世界。", "你好，世界。", 4, 6),
        ("👨‍👩‍👧 🇫🇷 👍🏽\n", "👨‍👩‍👧 🇫🇷 👍🏽", 0, 5),
    ];
    let mut tasks: Vec<(String, Value)> = Vec::new();
    for (text, trimmed, words, characters) in texts {
        let answer = client.task(text, None);
        assert_eq!(answer.status, 201, "{answer:?}");
        let task = answer.json();
        assert_eq!(
            answer.header("location"),
            Some(format!("/tasks/{}", answer.id()).as_str())
        );
        assert_eq!(task["text"], trimmed);
        assert_eq!(
            (&task["status"], &task["attempts"]),
            (&"done".into(), &1.into())
        );
        assert_eq!(task["analysis"]["words"], words, "{text}");
        assert_eq!(task["analysis"]["characters"], characters, "{text}");
        tasks.push((format!("/tasks/{}", answer.id()), task));
    }
    let again = client.task(texts[0].0, None).id();
    assert!(
        !tasks[0].0.ends_with(&again),
        "without a key every POST is a new task"
    );

    host.kill();
    let host = Host::start(&state, &Options::default());
    for (path, task) in tasks {
        let answer = host.client().get(&path);
        assert_eq!((answer.status, answer.json()), (200, task));
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const GOOD: &[u8] = br#"{"text":"a"}"#;

/// Sends a bad request, and checks the problem document that it is answered with.
fn assert_problem(
    client: &Client,
    (method, path, headers, body): (&str, &str, &[(&str, &str)], &[u8]),
    status: u16,
    problem: &str,
) {
    let name = format!(
        "{method} {path} {headers:?} {:.60?}",
        String::from_utf8_lossy(body)
    );
    let answer = client.send(method, path, headers, body);
    let answer = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(answer.status, status, "{name}: {answer:?}");
    let document = answer.json();
    assert_eq!(
        answer.header("content-type"),
        Some("application/problem+json"),
        "{name}"
    );
    assert_eq!(
        document["type"],
        format!("urn:reprise:problem:{problem}"),
        "{name}"
    );
    assert_eq!(document["status"], status, "{name}");
    assert_eq!(document["retryable"], false, "{name}");
    assert!(
        document["title"].is_string() && document["detail"].is_string(),
        "{name}"
    );
    assert_eq!(answer.header("allow").is_some(), status == 405, "{name}");
}

#[test]
fn a_bad_body_is_answered_with_its_problem_and_the_instance_keeps_serving() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let known = client.task("known", None).id();
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(300_000));
    let deep = format!("{{\"text\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let table: &[(&[u8], u16, &str)] = &[
        (b"{\"text\":", 400, "invalid-body"),
        (b"", 400, "invalid-body"),
        (b"[\"a\"]", 400, "invalid-body"),
        (b"{\"text\":5}", 400, "invalid-body"),
        (b"{\"text\":null}", 400, "invalid-body"),
        (b"{}", 400, "invalid-body"),
        (b"{\"text\":\"a\",\"more\":1}", 400, "invalid-body"),
        (b"{\"text\":\"a\",\"text\":\"b\"}", 400, "invalid-body"),
        (b"{\"text\":\"a\"} x", 400, "invalid-body"),
        (b"{\"text\":\"\\ud800\"}", 400, "invalid-body"),
        (b"{\"text\":\"\xff\"}", 400, "invalid-body"),
        (b"{\"text\":\" \\t \"}", 400, "invalid-body"),
        (deep.as_bytes(), 400, "invalid-body"),
        (large.as_bytes(), 413, "body-too-large"),
    ];
    for (body, status, problem) in table {
        assert_problem(&client, ("POST", "/tasks", &[JSON], body), *status, problem);
    }
    assert_eq!(client.get(&format!("/tasks/{known}")).status, 200);
}

/// Header lines, the status and the problem.
type HeaderRow<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);

#[test]
fn a_bad_header_is_answered_with_its_problem() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let long_key = "k".repeat(256);
    let key = |key| [JSON, ("idempotency-key", key)];
    let table: &[HeaderRow<'_>] = &[
        (&[], 415, "unsupported-media-type"),
        (
            &[("content-type", "text/plain")],
            415,
            "unsupported-media-type",
        ),
        (
            &[JSON, ("content-encoding", "gzip")],
            415,
            "unsupported-media-type",
        ),
        (&key(""), 400, "invalid-idempotency-key"),
        (&key("a b"), 400, "invalid-idempotency-key"),
        (&key("\"a"), 400, "invalid-idempotency-key"),
        (&key(&long_key), 400, "invalid-idempotency-key"),
        (
            &[JSON, ("idempotency-key", "a"), ("idempotency-key", "a")],
            400,
            "invalid-idempotency-key",
        ),
    ];
    for (headers, status, problem) in table {
        assert_problem(&client, ("POST", "/tasks", headers, GOOD), *status, problem);
    }
}

/// The platform's own reader of heads fails at a length that no signed number holds.
#[test]
fn a_head_that_the_platform_cannot_read_is_the_client_s_fault() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    for (length, status) in [(i64::MAX as u64, 413), (i64::MAX as u64 + 1, 400)] {
        let mut stream = TcpStream::connect(host.url().trim_start_matches("http://")).unwrap();
        let head = format!(
            "POST /tasks HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} "))
                && answer.contains("\"retryable\":false"),
            "{length}: {answer}"
        );
    }
}

#[test]
fn what_is_not_there_is_answered_with_its_problem() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let known = client.task("known", None).id();
    let other_shape = format!("/tasks/{}", known.replace('-', ""));
    let unknown = format!("/tasks/{}", known.replace(&known[24..], "000000000001"));
    let table: &[(&str, &str, u16, &str)] = &[
        ("GET", "/tasks", 405, "method-not-allowed"),
        ("PUT", "/tasks", 405, "method-not-allowed"),
        ("POST", "/-/healthz", 405, "method-not-allowed"),
        ("GET", "/", 404, "not-found"),
        ("GET", "/tasks/", 404, "not-found"),
        ("GET", "/tasks/1", 404, "not-found"),
        ("OPTIONS", "/tasks/1", 404, "not-found"),
        ("PUT", "/tasks/1", 404, "not-found"),
        ("GET", "/tasks/..%2f..", 404, "not-found"),
        ("GET", &other_shape, 404, "not-found"),
        ("GET", &unknown, 404, "not-found"),
        // Without a token in the settings the operators' routes do not exist.
        ("POST", "/-/tick", 404, "not-found"),
    ];
    for (method, path, status, problem) in table {
        assert_problem(&client, (method, path, &[JSON], b""), *status, problem);
    }
    // Another tenant cannot tell that the task is there.
    let path = format!("/tasks/{known}");
    assert_problem(
        &client,
        ("GET", &path, &[("authorization", "Bearer other")], b""),
        404,
        "not-found",
    );
    assert_eq!(client.get(&path).status, 200);
}

#[test]
fn one_key_of_two_tenants_is_two_tasks() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let submit = |tenant: &str, body: &[u8]| {
        let headers = [JSON, ("idempotency-key", "key"), ("authorization", tenant)];
        client
            .send("POST", "/tasks", &headers, body)
            .expect("it is answered")
    };
    let (alice, bob) = (
        submit("Bearer a", GOOD),
        submit("Bearer b", br#"{"text":"b"}"#),
    );
    assert_eq!((alice.status, bob.status), (201, 201));
    assert_ne!(alice.id(), bob.id());
    assert_eq!(submit("Bearer a", GOOD).id(), alice.id());
    assert_eq!(submit("Bearer a", br#"{"text":"b"}"#).status, 409);
}

#[test]
fn operators_need_their_token() {
    let state = State::new();
    let host = Host::start(&state, &Options::default().variable("admin_token", "right"));
    let client = host.client();
    let tick = |headers: &[(&str, &str)]| client.send("POST", "/-/tick", headers, b"").unwrap();
    for headers in [
        &[][..],
        &[("authorization", "Bearer wrong")],
        &[("authorization", "Bearer ")],
        &[("authorization", "right")],
        &[("authorization", "Basic right")],
    ] {
        let answer = tick(headers);
        assert_eq!(answer.status, 401, "{headers:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    let answer = tick(&[("authorization", "Bearer right")]);
    assert_eq!(
        (answer.status, &answer.json()["buckets_visited"]),
        (200, &64.into())
    );
}

#[test]
fn a_setting_that_makes_no_sense_is_named_and_nothing_is_processed() {
    let state = State::new();
    let host = Host::start(
        &state,
        &Options::default().edit("bucket_bits = 14", "bucket_bits = 21"),
    );
    let answer = host.client().task("a", None);
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json()["type"], "urn:reprise:problem:misconfigured");
    assert!(answer.body.contains("bucket_bits"), "{answer:?}");
    assert_eq!(host.client().get("/-/healthz").status, 200);
}
