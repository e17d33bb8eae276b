//! What the host does around a component: routing, headers, bodies, files, variables, outgoing requests and logs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::harness::{Application, GUEST_KEY, STORE, read_head};

#[tokio::test]
async fn requests_are_routed_and_carry_spins_headers() {
    let application = Application::with_manifest(&format!(
        "[[trigger.http]]\nroute = \"/headers\"\ncomponent = \"guest\"\n\
         [[trigger.http]]\nroute = \"/echo/...\"\ncomponent = \"guest\"\n\
         [component.guest]\nsource = {GUEST_KEY}\n"
    ));
    let host = application.start(&[]);
    assert_eq!(
        host.get("/other").await,
        (StatusCode::NOT_FOUND, String::new())
    );
    assert_eq!(
        host.get("/.well-known/spin/health").await,
        (StatusCode::OK, "OK".to_owned())
    );
    assert_eq!(
        host.get("/.well-known/spin/other").await.0,
        StatusCode::NOT_FOUND
    );

    let seen = host.json("/headers?a=b").await;
    assert_eq!(seen["uri"], host.url("/headers?a=b"));
    let headers = seen["headers"].as_array().expect("a list");
    for (name, value) in [
        ("spin-path-info", ""),
        ("spin-full-url", &host.url("/headers?a=b")),
        ("spin-matched-route", "/headers"),
        ("spin-raw-component-route", "/headers"),
        ("spin-component-route", "/headers"),
        ("spin-base-path", "/"),
    ] {
        assert!(
            headers.contains(&json!([name, value])),
            "{name}: {headers:?}"
        );
    }
    let has = |name: &str| headers.iter().any(|header| header[0] == name);
    assert!(has("spin-client-addr") && !has("host"), "{headers:?}");
}

#[tokio::test]
async fn bodies_arrive_and_leave_whole() {
    let application = Application::new("");
    let host = application.start(&[]);
    let long = "0123456789".repeat(100_000);
    let (status, answer) = host.post("/echo", long.clone()).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        answer == format!("\"{long}\""),
        "{} bytes came back",
        answer.len()
    );
}

/// As in Spin: a request without a host closes the connection, and one that the component cannot be given is a 500.
#[tokio::test]
async fn requests_that_cannot_be_passed_on_are_not_the_components_business() {
    let application = Application::new("");
    let host = application.start(&[]);
    for (request, answer) in [
        (&b"GET /plain HTTP/1.1\r\n\r\n"[..], ""),
        (b"GET http://a/plain HTTP/1.1\r\nhost: b\r\n\r\n", ""),
        (
            b"GET /plain HTTP/1.1\r\nhost: a\r\nx: \xff\r\nconnection: close\r\n\r\n",
            "HTTP/1.1 500 ",
        ),
        (
            b"GET /plain HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
            "HTTP/1.1 200 ",
        ),
    ] {
        let mut stream = TcpStream::connect(&host.address).unwrap();
        stream.write_all(request).unwrap();
        let mut answered = String::new();
        stream.read_to_string(&mut answered).unwrap();
        let request = String::from_utf8_lossy(request);
        if answer.is_empty() {
            assert_eq!(answered, "", "{request}");
        } else {
            assert!(answered.starts_with(answer), "{request} gave {answered}");
        }
    }
}

#[tokio::test]
async fn a_component_sees_its_files_variables_and_environment_and_no_others() {
    let application = Application::with_manifest(&format!(
        "[variables]\nhost = {{ default = \"example.com\" }}\ntoken = {{ required = true, secret = true }}\n\
         [[trigger.http]]\nroute = \"/...\"\ncomponent = \"guest\"\n\
         [component.guest]\nsource = {GUEST_KEY}\n\
         files = [{{ source = \"settings.toml\", destination = \"/etc/settings.toml\" }}]\n\
         environment = {{ NAME = \"value\" }}\n\
         variables = {{ url = \"https://{{{{ host }}}}/{{{{ token }}}}\" }}\n"
    ));
    std::fs::write(application.path().join("settings.toml"), "a = 1").unwrap();
    std::fs::write(application.path().join("other.toml"), "b = 2").unwrap();
    let host = application.start(&["--variable", "token=t=1"]);

    assert_eq!(host.json("/file?/etc/settings.toml").await, "a = 1");
    assert_eq!(
        host.get("/file?/other.toml").await.0,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        host.get("/file?/etc/../../spin.toml").await.0,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(
        host.json("/write?/etc/new").await["Err"],
        "permission denied"
    );
    assert_eq!(host.json("/environment?NAME").await, "value");
    assert_eq!(
        host.get("/environment?PATH").await.0,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(host.json("/variable?url").await, "https://example.com/t=1");
    let (_, undefined) = host.get("/variable?host").await;
    assert!(undefined.contains("Undefined"), "{undefined}");
    let (_, invalid) = host.get("/variable?HOST").await;
    assert!(invalid.contains("InvalidName"), "{invalid}");
}

#[tokio::test]
async fn requests_go_only_where_they_are_allowed_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let allowed = listener.local_addr().unwrap();
    let refusing = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = refusing.local_addr().unwrap();
    drop(refusing);
    let application = Application::new(&format!(
        "allowed_outbound_hosts = [\"http://{allowed}\", \"http://{refused}\"]"
    ));
    let host = application.start(&[]);

    let answering = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        stream
            .write_all(b"HTTP/1.1 418 I'm a teapot\r\ncontent-length: 2\r\n\r\nhi")
            .await
            .unwrap();
        head
    });
    let fetched = host
        .json(&format!("/fetch?http://{allowed}/path?query"))
        .await;
    assert_eq!(
        (&fetched["status"], &fetched["body"]),
        (&json!(418), &json!("hi"))
    );
    let head = answering.await.unwrap();
    assert!(head.starts_with("GET /path?query HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: {allowed}\r\n")), "{head}");

    for (address, error) in [
        (format!("http://{refused}/"), "ErrorCode::ConnectionRefused"),
        (
            "http://127.0.0.1:1/".to_owned(),
            "ErrorCode::HttpRequestDenied",
        ),
        (
            "http://self.alt/plain".to_owned(),
            "ErrorCode::HttpRequestDenied",
        ),
        (
            "http://guest.spin.internal/plain".to_owned(),
            "ErrorCode::HttpRequestDenied",
        ),
    ] {
        assert_eq!(
            host.json(&format!("/fetch?{address}")).await["error"],
            error,
            "{address}"
        );
    }
}

#[tokio::test]
async fn a_component_reaches_its_own_application_and_another_component_of_it() {
    let application = Application::with_manifest(&format!(
        "[[trigger.http]]\nroute = \"/...\"\ncomponent = \"guest\"\n\
         [[trigger.http]]\nroute = {{ private = true }}\ncomponent = \"other\"\n\
         [component.guest]\nsource = {GUEST_KEY}\n\
         allowed_outbound_hosts = [\"http://self\", \"http://other.spin.internal\"]\n\
         [component.other]\nsource = {GUEST_KEY}\nenvironment = {{ NAME = \"other\" }}\n"
    ));
    let host = application.start(&[]);
    let own = host.json("/fetch?http://self.alt/headers").await;
    let own: Value = serde_json::from_str(own["body"].as_str().expect("a body")).unwrap();
    assert_eq!(own["uri"], host.url("/headers"));

    let other = host
        .json("/fetch?http://other.spin.internal/environment?NAME")
        .await;
    assert_eq!(
        (&other["status"], &other["body"]),
        (&json!(200), &json!("\"other\""))
    );
    let seen = host.json("/fetch?http://other.spin.internal/headers").await;
    let seen: Value = serde_json::from_str(seen["body"].as_str().expect("a body")).unwrap();
    let headers = seen["headers"].as_array().expect("a list");
    for (name, value) in [
        ("spin-path-info", "/headers"),
        ("spin-matched-route", "/..."),
        ("spin-client-addr", "0.0.0.0:0"),
        ("spin-full-url", "http://localhost/headers"),
    ] {
        assert!(
            headers.contains(&json!([name, value])),
            "{name}: {headers:?}"
        );
    }
}

#[tokio::test]
async fn clocks_and_randomness_are_real() {
    let application = Application::new("");
    let host = application.start(&[]);
    let before = Instant::now();
    host.json("/wait?50").await;
    assert!(before.elapsed().as_millis() >= 50);
    assert_ne!(host.json("/random").await, host.json("/random").await);
}

#[tokio::test]
async fn what_a_guest_prints_is_logged_under_its_name() {
    let application = Application::new("");
    let host = application.start(&[]);
    host.json("/print?hello").await;
    application.logged("[guest] to stdout: hello\n").await;
    application.logged("[guest] to stderr: hello\n").await;
}

/// S9: a head that is ready before its body leaves alone, and the body waits until the client acknowledges that, which
/// its system delays by 40 ms.
#[tokio::test]
async fn the_body_of_a_handler_that_awaited_waits_for_an_acknowledgement() {
    let application = Application::new(STORE);
    let host = application.start(&[]);
    let mut stream = TcpStream::connect(&host.address).unwrap();
    stream.set_nodelay(true).unwrap();
    let script = r#"[{"op":"open","store":"default"},{"op":"get","key":"x"}]"#;
    let length = script.len();
    let plain = "GET /plain HTTP/1.1\r\nhost: x\r\n\r\n".to_owned();
    let awaiting =
        format!("POST /kv HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{script}");

    // Over several requests, because a new connection is acknowledged at once for a while.
    let mut median_gap = |request: &str| {
        let mut gaps: Vec<Duration> = (0..31)
            .map(|_| gap_in_answer(&mut stream, request))
            .collect();
        gaps.sort();
        gaps[15]
    };
    assert_eq!(
        median_gap(&plain),
        Duration::ZERO,
        "head and body leave together"
    );
    let gap = median_gap(&awaiting);
    assert!(gap >= Duration::from_millis(20), "{gap:?}");
}

/// Sends a request, and measures how long after the first piece of the answer the last one could be read.
fn gap_in_answer(stream: &mut TcpStream, request: &str) -> Duration {
    let whole = |text: &str| {
        text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            match head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
            {
                Some(length) => body.len() >= length.parse().expect("a length is a number"),
                None => body.ends_with("0\r\n\r\n"),
            }
        })
    };
    stream
        .write_all(request.as_bytes())
        .expect("the connection is open");
    let (mut answer, mut first) = (Vec::new(), None);
    loop {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).expect("the connection is open");
        assert!(length > 0, "the host closed the connection");
        answer.extend_from_slice(&piece[..length]);
        let now = Instant::now();
        let first = *first.get_or_insert(now);
        if whole(&String::from_utf8_lossy(&answer)) {
            return now - first;
        }
    }
}
