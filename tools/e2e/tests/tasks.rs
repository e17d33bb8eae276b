//! `POST /tasks` and `GET /tasks/{id}` as a client meets them: good input in many scripts, and bad input of each kind.

use reprise_e2e::{Host, Options};
use serde_json::Value;
use tempfile::TempDir;

#[test]
fn texts_are_analysed_and_survive_a_kill() {
    let state = TempDir::new().unwrap();
    let mut host = Host::start(state.path(), &Options::default());
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
    let host = Host::start(state.path(), &Options::default());
    for (path, task) in tasks {
        let answer = host.client().get(&path);
        assert_eq!((answer.status, answer.json()), (200, task));
    }
}

/// (method, path, headers, body), and the status and the type of the problem that it is answered with.
type Row<'a> = (
    &'a str,
    &'a str,
    &'a [(&'a str, &'a str)],
    &'a [u8],
    u16,
    &'a str,
);

#[test]
fn bad_input_is_answered_with_its_problem_and_nothing_breaks() {
    const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
    let state = TempDir::new().unwrap();
    let host = Host::start(state.path(), &Options::default());
    let client = host.client();
    let known = client.task("known", None).id();
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(300_000));
    let deep = format!("{{\"text\":{}1{}}}", "[".repeat(5_000), "]".repeat(5_000));
    let long_key = "k".repeat(256);
    let long_key = [JSON[0], ("idempotency-key", &long_key)];
    let other_shape = format!("/tasks/{}", known.replace('-', ""));
    let unknown = format!("/tasks/{}", known.replace(&known[24..], "000000000001"));
    let good = br#"{"text":"a"}"#;
    let table: &[Row<'_>] = &[
        ("POST", "/tasks", JSON, b"{\"text\":", 400, "invalid-body"),
        ("POST", "/tasks", JSON, b"", 400, "invalid-body"),
        ("POST", "/tasks", JSON, b"[\"a\"]", 400, "invalid-body"),
        ("POST", "/tasks", JSON, b"{\"text\":5}", 400, "invalid-body"),
        (
            "POST",
            "/tasks",
            JSON,
            b"{\"text\":null}",
            400,
            "invalid-body",
        ),
        ("POST", "/tasks", JSON, b"{}", 400, "invalid-body"),
        (
            "POST",
            "/tasks",
            JSON,
            b"{\"text\":\"a\",\"more\":1}",
            400,
            "invalid-body",
        ),
        (
            "POST",
            "/tasks",
            JSON,
            b"{\"text\":\"a\",\"text\":\"b\"}",
            400,
            "invalid-body",
        ),
        (
            "POST",
            "/tasks",
            JSON,
            b"{\"text\":\"a\"} x",
            400,
            "invalid-body",
        ),
        (
            "POST",
            "/tasks",
            JSON,
            b"{\"text\":\"\\ud800\"}",
            400,
            "invalid-body",
        ),
        (
            "POST",
            "/tasks",
            JSON,
            b"{\"text\":\"\xff\"}",
            400,
            "invalid-body",
        ),
        (
            "POST",
            "/tasks",
            JSON,
            b"{\"text\":\" \\t \"}",
            400,
            "invalid-body",
        ),
        ("POST", "/tasks", JSON, deep.as_bytes(), 400, "invalid-body"),
        (
            "POST",
            "/tasks",
            JSON,
            large.as_bytes(),
            413,
            "body-too-large",
        ),
        ("POST", "/tasks", &[], good, 415, "unsupported-media-type"),
        (
            "POST",
            "/tasks",
            &[("content-type", "text/plain")],
            good,
            415,
            "unsupported-media-type",
        ),
        (
            "POST",
            "/tasks",
            &[JSON[0], ("content-encoding", "gzip")],
            good,
            415,
            "unsupported-media-type",
        ),
        (
            "POST",
            "/tasks",
            &[JSON[0], ("idempotency-key", "")],
            good,
            400,
            "invalid-idempotency-key",
        ),
        (
            "POST",
            "/tasks",
            &[JSON[0], ("idempotency-key", "a b")],
            good,
            400,
            "invalid-idempotency-key",
        ),
        (
            "POST",
            "/tasks",
            &[JSON[0], ("idempotency-key", "a"), ("idempotency-key", "a")],
            good,
            400,
            "invalid-idempotency-key",
        ),
        (
            "POST",
            "/tasks",
            &long_key,
            good,
            400,
            "invalid-idempotency-key",
        ),
        ("GET", "/tasks", &[], b"", 405, "method-not-allowed"),
        ("PUT", "/tasks", JSON, good, 405, "method-not-allowed"),
        ("POST", "/-/healthz", &[], b"", 405, "method-not-allowed"),
        ("GET", "/", &[], b"", 404, "not-found"),
        ("GET", "/tasks/", &[], b"", 404, "not-found"),
        ("GET", "/tasks/1", &[], b"", 404, "not-found"),
        ("GET", "/tasks/..%2f..", &[], b"", 404, "not-found"),
        ("GET", &other_shape, &[], b"", 404, "not-found"),
        ("GET", &unknown, &[], b"", 404, "not-found"),
        // Without a token in the settings the operators' routes do not exist.
        (
            "POST",
            "/-/tick",
            &[("authorization", "Bearer ")],
            b"",
            404,
            "not-found",
        ),
    ];
    for (method, path, headers, body, status, problem) in table {
        let name = format!(
            "{method} {path} {headers:?} {:.60?}",
            String::from_utf8_lossy(body)
        );
        let answer = client
            .send(method, path, headers, body)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(answer.status, *status, "{name}: {answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{name}"
        );
        let document = answer.json();
        assert_eq!(
            document["type"],
            format!("urn:reprise:problem:{problem}"),
            "{name}"
        );
        assert_eq!(document["status"], *status, "{name}");
        assert_eq!(document["retryable"], false, "{name}");
        assert!(
            document["title"].is_string() && document["detail"].is_string(),
            "{name}"
        );
        assert_eq!(answer.header("allow").is_some(), *status == 405, "{name}");
    }
    assert_eq!(
        client.get(&format!("/tasks/{known}")).status,
        200,
        "the instance keeps serving"
    );
}

#[test]
fn operators_need_their_token() {
    let state = TempDir::new().unwrap();
    let host = Host::start(
        state.path(),
        &Options::default().variable("admin_token", "right"),
    );
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
    let state = TempDir::new().unwrap();
    let host = Host::start(
        state.path(),
        &Options::default().variable("bucket_bits", "many"),
    );
    let answer = host.client().task("a", None);
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json()["type"], "urn:reprise:problem:misconfigured");
    assert!(answer.body.contains("bucket_bits"), "{answer:?}");
    assert_eq!(host.client().get("/-/healthz").status, 200);
}
