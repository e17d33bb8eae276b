//! A Redis that cannot be used is told at the start, and served all the same: it may come later.

use std::net::TcpListener;

use crate::harness::{Application, STORE};
use crate::redis_server::RedisServer;

const WARNING: &str = "The store cannot be used now";
const PASSWORD: &str = "hunter2";

#[tokio::test]
async fn a_redis_that_is_there_is_no_news() {
    let server = RedisServer::start();
    let application = Application::new(STORE);
    let _host = application.start(&["--redis", &server.url()]);
    let log = application.log();
    assert!(!log.contains(WARNING), "{log}");
}

#[tokio::test]
async fn a_redis_that_is_away_is_told_without_its_password_and_served() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let application = Application::new(STORE);
    let url = format!("redis://user:{PASSWORD}@{address}");
    let host = application.start(&["--redis", &url]);
    let log = application.log();
    let expected = format!("{WARNING}, and what needs it is answered 503: Redis at {address}: ");
    assert!(log.contains(&expected), "{log}");
    assert!(log.contains("refused"), "{log}");
    assert!(!log.contains(PASSWORD), "{log}");
    assert_eq!(host.get("/plain").await.0, 200);
}

#[tokio::test]
async fn a_redis_that_lets_nobody_in_is_told() {
    let server = RedisServer::start_with(&["--save", "", "--requirepass", "another"]);
    let with_password = server.url().replace("redis://", "redis://:hunter2@");
    for url in [server.url(), with_password] {
        let application = Application::new(STORE);
        let _host = application.start(&["--redis", &url]);
        let log = application.log();
        assert!(log.contains(WARNING), "{log}");
        assert!(!log.contains(PASSWORD), "{log}");
        let cause = if url.contains(PASSWORD) {
            "authentication"
        } else {
            "NOAUTH"
        };
        assert!(log.contains(cause), "{log}");
    }
}
