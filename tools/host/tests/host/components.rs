//! Requests from one component to another: what breaks off, and what takes long.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::harness::{Application, GUEST_KEY, read_head};

/// Two components, `guest` for everything and a private `other`; both may send requests to these hosts as well as to
/// each other.
fn two_components(hosts: &str) -> Application {
    Application::with_manifest(&format!(
        "[[trigger.http]]\nroute = \"/...\"\ncomponent = \"guest\"\n\
         [[trigger.http]]\nroute = {{ private = true }}\ncomponent = \"other\"\n\
         [component.guest]\nsource = {GUEST_KEY}\n\
         allowed_outbound_hosts = [\"http://self\", \"http://other.spin.internal\"]\n\
         [component.other]\nsource = {GUEST_KEY}\nallowed_outbound_hosts = [{hosts}]\n"
    ))
}

/// Whether it goes straight to the other component or by the socket, and whether or not it says how long it is, a body
/// that breaks off is an error for who reads it, never a short body.
#[tokio::test]
async fn a_body_that_breaks_off_is_an_error_for_the_component_that_reads_it() {
    let application = two_components("");
    let host = application.start(&[]);
    for address in [
        "http://other.spin.internal/cut?10",
        "http://other.spin.internal/cut",
        "http://self.alt/cut?10",
        "http://self.alt/cut",
    ] {
        let fetched = host.json(&format!("/fetch?{address}")).await;
        // Which error it is depends on who notices first.
        let error = fetched["error"].as_str().unwrap_or_default();
        assert!(error.starts_with("ErrorCode::"), "{address}: {fetched}");
        assert!(fetched.get("body").is_none(), "{address}: {fetched}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_ends_the_connection() {
    let application = two_components("");
    let host = application.start(&[]);
    let mut stream = TcpStream::connect(&host.address).unwrap();
    stream
        .write_all(b"GET /cut?10 HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    assert!(
        head.contains("content-length: 10") || answer.is_empty(),
        "{answer}"
    );
    assert!(body.len() < 10, "{answer}");
}

/// The first request is held until the others have been answered, so none of them can have waited for it.
#[tokio::test]
async fn a_component_that_takes_long_keeps_nobody_else_waiting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let application = two_components(&format!("\"http://{address}\""));
    let host = application.start(&[]);
    let holding = async {
        let path = format!("/fetch?http://other.spin.internal/fetch?http://{address}/");
        host.json(&path).await
    };
    let others = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        assert_eq!(host.json("/plain").await, "plain");
        let other = host.json("/fetch?http://other.spin.internal/plain").await;
        assert_eq!(other["body"], "\"plain\"");
        // Both instances are those that the held request is in.
        assert_eq!(other["count"], 3);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nheld")
            .await
            .unwrap();
    };
    let (held, ()) = tokio::join!(holding, others);
    assert!(
        held["body"].as_str().expect("a body").contains("held"),
        "{held}"
    );
}
