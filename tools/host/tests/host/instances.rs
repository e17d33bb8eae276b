//! The life of instances: how many requests they serve, when they go, and what becomes of their failures; and the end of
//! the host.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::harness::{Application, read_head};

/// As many requests as four instances take at a time.
const CROWD: usize = 64;

/// S10.
#[tokio::test]
async fn an_instance_serves_128_requests_and_its_statics_are_shared_between_them() {
    let application = Application::new("");
    let host = application.start(&[]);
    let mut counts = Vec::new();
    for _ in 0..1000 {
        counts.push(host.json("/count").await.as_u64().expect("a number"));
    }
    assert_eq!(counts.iter().max(), Some(&128));
}

/// S10. Each request is held until all have arrived, so none can be the successor of another; and the next one is sent
/// only when the last one is waiting, so that its instance has room unless it is full.
#[tokio::test]
async fn an_instance_serves_16_requests_at_a_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let application = Application::new(&format!("allowed_outbound_hosts = [\"http://{address}\"]"));
    let host = Arc::new(application.start(&[]));
    let (mut answers, mut held) = (Vec::new(), Vec::new());
    for _ in 0..CROWD {
        let host = host.clone();
        answers.push(tokio::spawn(async move {
            host.json(&format!("/fetch?http://{address}/")).await
        }));
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        held.push(stream);
    }
    for mut stream in held {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .await
            .unwrap();
    }
    let mut counts = Vec::new();
    for answer in answers {
        counts.push(answer.await.unwrap()["count"].as_u64().expect("a number"));
    }
    assert_eq!(counts.iter().max(), Some(&16), "{counts:?}");
}

/// S10.
#[tokio::test]
async fn an_idle_instance_goes_after_a_second() {
    let application = Application::new("");
    let host = application.start(&[]);
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        seen.insert(host.json("/count").await.as_u64().expect("a number"));
    }
    assert!(
        seen.len() > 1,
        "while requests come, the instance stays: {seen:?}"
    );
    // Three times as long as an idle instance is kept.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(host.json("/count").await, 1);
}

/// S15. Each request closes the instance that it is given, so each but the one beside them is given a new one.
#[tokio::test]
async fn an_instance_that_shows_backpressure_is_given_no_request_and_finishes_what_it_has() {
    let application = Application::new("");
    let host = Arc::new(application.start(&[]));
    let beside = tokio::spawn({
        let host = host.clone();
        async move { host.json("/wait?500").await }
    });
    let mut counts = Vec::new();
    for _ in 0..20 {
        counts.push(host.json("/close").await.as_u64().expect("a number"));
    }
    let seconds = counts.iter().filter(|count| **count == 2).count();
    assert!(counts.iter().all(|count| *count <= 2), "{counts:?}");
    assert!(seconds <= 1, "{counts:?}");
    assert_eq!(beside.await.unwrap(), 1);
}

#[tokio::test]
async fn a_trap_is_a_500_and_the_host_goes_on() {
    let application = Application::new("");
    let host = application.start(&[]);
    assert_eq!(
        host.get("/panic").await,
        (StatusCode::INTERNAL_SERVER_ERROR, String::new())
    );
    assert_eq!(
        host.get("/plain").await,
        (StatusCode::OK, "\"plain\"".to_owned())
    );
    application.logged("[guest] asked to\n").await;
    application.logged("component guest failed").await;
}

#[tokio::test]
async fn a_signal_ends_the_host_at_once_even_if_a_guest_never_returns() {
    for signal in ["TERM", "INT"] {
        let application = Application::new("files = [\"spin.toml\"]");
        let host = application.start(&[]);
        let mut stream = TcpStream::connect(&host.address).unwrap();
        stream
            .write_all(b"GET /loop HTTP/1.1\r\nhost: x\r\n\r\n")
            .unwrap();
        application.logged("[guest] looping\n").await;
        host.signal(signal);
        assert!(host.ended().await.success());
        assert_eq!(application.copies(), 0, "of the guest's files");
        assert_eq!(application.temporary_files(), 0);
    }
}

#[tokio::test]
async fn a_kill_leaves_nothing_that_the_next_start_does_not_remove() {
    let application = Application::new("files = [\"spin.toml\"]");
    for _ in 0..3 {
        let host = application.start(&[]);
        assert_eq!(application.copies(), 1, "of one running host");
        host.signal("KILL");
        assert!(!host.ended().await.success());
        assert_eq!(application.copies(), 1);
        assert_eq!(application.temporary_files(), 0);
    }
    let hosts = [(); 2].map(|()| application.start(&[]));
    assert_eq!(application.copies(), 2, "of two running hosts");
    for host in hosts {
        assert_eq!(host.get("/plain").await.0, StatusCode::OK);
        host.signal("TERM");
        assert!(host.ended().await.success());
    }
}

#[tokio::test]
async fn the_end_of_the_input_ends_the_host_that_is_to_end_with_it_alone() {
    let application = Application::new("files = [\"spin.toml\"]");
    let mut host = application.start(&["--end-with-input"]);
    assert_eq!(host.get("/plain").await.0, StatusCode::OK);
    host.close_input();
    assert!(host.ended().await.success());
    assert_eq!(application.copies(), 0, "of the guest's files");
    let mut host = application.start(&[]);
    host.close_input();
    assert_eq!(host.get("/plain").await.0, StatusCode::OK);
}
