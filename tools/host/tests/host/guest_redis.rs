//! The store on Redis as a component sees it, through real HTTP.

use serde_json::json;

use crate::harness::{Application, STORE, eventually};
use crate::redis_server::RedisServer;
use crate::scripts::{failed, ok, on_store};

/// S2 and S6.
#[tokio::test]
async fn on_redis_a_swap_always_says_that_it_failed_and_the_new_handle_tells_the_truth() {
    let server = RedisServer::start();
    let application = Application::new(STORE);
    let host = application.start(&["--redis", &server.url()]);
    let results = on_store(
        &host,
        json!([
            { "op": "cas", "name": "first", "key": "key" },
            { "op": "cas", "name": "second", "key": "key" },
            { "op": "current", "name": "first" },
            { "op": "current", "name": "second" },
            { "op": "swap", "name": "first", "value": "first" },
            { "op": "swap", "name": "second", "value": "second" },
            { "op": "current", "name": "first" },
            { "op": "current", "name": "second" },
            { "op": "increment", "key": "counter", "delta": 0 },
            { "op": "get", "key": "counter" },
        ]),
    )
    .await;
    let lost = failed("cas-failed");
    assert_eq!(
        results[4..],
        [lost.clone(), lost, ok("first"), ok("first"), ok(0), ok("0")]
    );
    assert!(
        !application
            .path()
            .join(".spin/sqlite_key_value.db")
            .exists(),
        "nothing is kept in a file"
    );
}

/// A used-up handle keeps its connection until its instance goes.
#[tokio::test]
async fn on_redis_a_swap_leaves_its_connection_open() {
    let server = RedisServer::start();
    let application = Application::new(STORE);
    let host = application.start(&["--redis", &server.url()]);
    on_store(&host, json!([])).await;
    let before = server.connections().await;
    on_store(
        &host,
        json!([{ "op": "swap-often", "key": "key", "times": 20 }]),
    )
    .await;
    assert_eq!(server.connections().await, before + 20);
    eventually(async || server.connections().await == before).await;
}
