//! A second process on the store's file is told of the first.

use std::fs::File;

use crate::harness::{Application, STORE};
use crate::redis_server::RedisServer;

const WARNING: &str = "warning: another process uses ";

#[tokio::test]
async fn a_second_host_on_one_file_is_told_so_and_serves() {
    let application = Application::new(STORE);
    let first = application.start(&[]);
    assert!(!application.log().contains(WARNING), "it is alone");
    let second = application.start(&[]);
    let log = application.log();
    assert!(log.contains(WARNING), "{log}");
    assert!(log.contains(".spin/sqlite_key_value.db. "), "{log}");
    assert!(log.contains("deploy/STORES.md"), "{log}");
    for host in [&first, &second] {
        assert_eq!(host.get("/plain").await.0, 200);
    }
    first.signal("KILL");
    first.ended().await;
    let third = application.start(&[]);
    assert!(application.log().contains(WARNING), "the second is there");
    for host in [second, third] {
        host.signal("KILL");
        host.ended().await;
    }
    let _alone = application.start(&[]);
    assert!(!application.log().contains(WARNING), "the dead have let go");
}

/// What `cargo xtask up` does for a Spin that it starts.
#[tokio::test]
async fn whoever_shares_the_lock_is_taken_for_another_process() {
    let application = Application::new(STORE);
    std::fs::create_dir(application.path().join(".spin")).unwrap();
    let lock = application.path().join(".spin/sqlite_key_value.db.lock");
    let lock = File::create(lock).unwrap();
    lock.lock_shared().unwrap();
    let _host = application.start(&[]);
    assert!(application.log().contains(WARNING));
}

#[tokio::test]
async fn hosts_on_a_redis_are_not_told_of_each_other() {
    let server = RedisServer::start();
    let application = Application::new(STORE);
    let mut hosts = Vec::new();
    for _ in 0..2 {
        hosts.push(application.start(&["--redis", &server.url()]));
        assert_eq!(application.log(), "");
    }
}
