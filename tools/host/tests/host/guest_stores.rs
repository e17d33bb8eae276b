//! The key-value stores as a component sees them, through real HTTP: what holds, and each fault that the component has
//! to defend itself against.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Application, STORE};
use crate::scripts::{failed, ok, on_empty_store, on_store, script};

/// Three times as long as an idle instance is kept.
const LONGER_THAN_IDLE: Duration = Duration::from_secs(3);

#[tokio::test]
async fn single_keys_batches_and_counters_work() {
    let results = on_empty_store(json!([
        { "op": "get", "key": "a" },
        { "op": "set", "key": "a", "value": "1" },
        { "op": "get", "key": "a" },
        { "op": "exists", "key": "a" },
        { "op": "set-many", "pairs": [["b", "2"], ["c", "3"]] },
        { "op": "get-many", "keys": ["b", "absent"] },
        { "op": "get-many", "keys": [] },
        { "op": "delete", "key": "a" },
        { "op": "delete-many", "keys": ["b", "absent"] },
        { "op": "list-keys", "cursor": null },
        { "op": "list-keys", "cursor": "x" },
        { "op": "increment", "key": "word", "delta": 0 },
        { "op": "get", "key": "word" },
    ]))
    .await;
    let expected = [
        ok(Value::Null),
        ok(Value::Null),
        ok("1"),
        ok(true),
        ok(Value::Null),
        ok(json!([["b", "2"]])),
        ok(json!([])),
        ok(Value::Null),
        ok(Value::Null),
        ok(json!(["c"])),
        failed("list_keys: cursor not supported"),
        ok(0),
        ok("\0\0\0\0\0\0\0\0"),
    ];
    assert_eq!(results, expected);
}

#[tokio::test]
async fn spins_own_interface_reaches_the_same_store() {
    let application = Application::new(STORE);
    let host = application.start(&[]);
    let script = json!([
        { "op": "open", "store": "default" },
        { "op": "set", "key": "b", "value": "2" },
        { "op": "set", "key": "a", "value": "1" },
        { "op": "get", "key": "a" },
        { "op": "get", "key": "absent" },
        { "op": "exists", "key": "b" },
        { "op": "get-keys" },
        { "op": "delete", "key": "b" },
        { "op": "get-keys" },
    ]);
    let results = host.script("/spin-kv", &script).await;
    let none = ok(Value::Null);
    let expected = json!([
        none,
        none,
        none,
        ok("1"),
        none,
        ok(true),
        ok(json!(["a", "b"])),
        none,
        ok(json!(["a"]))
    ]);
    assert_eq!(results, expected);
    assert_eq!(
        on_store(&host, json!([{ "op": "get", "key": "a" }])).await,
        [ok("1")]
    );
}

#[tokio::test]
async fn a_store_that_the_manifest_does_not_list_cannot_be_opened() {
    let application = Application::new("");
    let host = application.start(&[]);
    for store in ["default", "other"] {
        let open = json!([{ "op": "open", "store": store }]);
        assert_eq!(
            host.script("/kv", &open).await,
            json!([failed("access-denied")])
        );
        assert_eq!(
            host.script("/spin-kv", &open).await,
            json!([failed("access-denied")])
        );
    }
}

/// S1.
#[tokio::test]
async fn two_handles_that_saw_no_value_both_win() {
    let results = on_empty_store(json!([
        { "op": "cas", "name": "first", "key": "key" },
        { "op": "cas", "name": "second", "key": "key" },
        { "op": "current", "name": "first" },
        { "op": "current", "name": "second" },
        { "op": "swap", "name": "first", "value": "first" },
        { "op": "swap", "name": "second", "value": "second" },
        { "op": "get", "key": "key" },
    ]))
    .await;
    assert_eq!(
        results[4..],
        [ok(Value::Null), ok(Value::Null), ok("second")]
    );
}

#[tokio::test]
async fn a_swap_of_a_value_that_was_read_is_a_correct_compare() {
    let results = on_empty_store(json!([
        { "op": "set", "key": "key", "value": "old" },
        { "op": "cas", "name": "first", "key": "key" },
        { "op": "cas", "name": "second", "key": "key" },
        { "op": "current", "name": "first" },
        { "op": "current", "name": "second" },
        { "op": "swap", "name": "first", "value": "first" },
        { "op": "swap", "name": "second", "value": "second" },
        { "op": "get", "key": "key" },
        // The handle that came with the loss has read the winner's value.
        { "op": "swap", "name": "second", "value": "second" },
        { "op": "get", "key": "key" },
    ]))
    .await;
    assert_eq!(
        results[5..],
        [
            ok(Value::Null),
            failed("cas-failed"),
            ok("first"),
            ok(Value::Null),
            ok("second")
        ]
    );
}

/// S3.
#[tokio::test]
async fn a_swap_without_having_read_overwrites() {
    let results = on_empty_store(json!([
        { "op": "set", "key": "key", "value": "old" },
        { "op": "cas", "name": "blind", "key": "key" },
        { "op": "swap", "name": "blind", "value": "new" },
        { "op": "get", "key": "key" },
    ]))
    .await;
    assert_eq!(results[2..], [ok(Value::Null), ok("new")]);
}

/// S4.
#[tokio::test]
async fn an_increment_of_a_document_breaks_the_store_until_a_restart() {
    let application = Application::new(STORE);
    let host = application.start(&[]);
    on_store(
        &host,
        json!([{ "op": "set", "key": "document", "value": "{}" }]),
    )
    .await;

    let broken = StatusCode::INTERNAL_SERVER_ERROR;
    let (path, increment) = script(json!([{ "op": "increment", "key": "document", "delta": 1 }]));
    let (_, get) = script(json!([{ "op": "get", "key": "other" }]));
    assert_eq!(host.post(path, increment.to_string()).await.0, broken);
    assert_eq!(
        host.post(path, get.to_string()).await.0,
        broken,
        "other keys too"
    );
    assert_eq!(
        host.post(path, get.to_string()).await.0,
        broken,
        "and for good"
    );
    assert_eq!(
        host.get("/plain").await.0,
        StatusCode::OK,
        "what needs no store still works"
    );
    drop(host);

    let host = application.start(&[]);
    assert_eq!(
        on_store(&host, json!([{ "op": "get", "key": "document" }])).await,
        [ok("{}")]
    );
}

/// A lost swap gives a new handle only while the bucket is open, because the handle is made from it.
#[tokio::test]
async fn a_lost_swap_without_its_bucket_is_an_error_of_the_store() {
    let results = on_empty_store(json!([
        { "op": "set", "key": "key", "value": "old" },
        { "op": "cas", "name": "cas", "key": "key" },
        { "op": "current", "name": "cas" },
        { "op": "set", "key": "key", "value": "other" },
        { "op": "close" },
        { "op": "swap", "name": "cas", "value": "new" },
    ]))
    .await;
    assert_eq!(results[5], failed("no-such-store"));
}

/// S14. The host never forgets a handle that a swap used up. One that was dropped is forgotten.
#[tokio::test]
async fn an_instance_can_swap_256_times_and_then_no_more() {
    let application = Application::new(STORE);
    let host = application.start(&[]);
    let results = on_store(
        &host,
        json!([
            { "op": "cas-often", "key": "key", "times": 1000 },
            { "op": "swap-often", "key": "key", "times": 200 },
            { "op": "cas-often", "key": "key", "times": 1000 },
            { "op": "swap-often", "key": "key", "times": 100 },
        ]),
    )
    .await;
    let full = "too many compare_and_swaps opened";
    let expected = [
        ok(1000),
        ok(200),
        ok(1000),
        failed(&format!("after 56: {full}")),
    ];
    assert_eq!(results, expected);
    // Nor can the next request to the same instance, which reads and sets as before.
    let steps = json!([
        { "op": "set", "key": "key", "value": "value" },
        { "op": "cas", "name": "one", "key": "key" },
        { "op": "get", "key": "key" },
    ]);
    let results = on_store(&host, steps.clone()).await;
    assert_eq!(results, [ok(Value::Null), failed(full), ok("value")]);
    // Another instance can.
    tokio::time::sleep(LONGER_THAN_IDLE).await;
    let results = on_store(&host, steps).await;
    assert_eq!(results[1], ok(Value::Null));
}

/// S14. The handle that a lost swap gives takes room like any other.
#[tokio::test]
async fn a_swap_that_is_lost_without_room_for_its_new_handle_is_an_error_of_the_store() {
    let results = on_empty_store(json!([
        { "op": "set", "key": "key", "value": "old" },
        { "op": "swap-often", "key": "other", "times": 255 },
        { "op": "cas", "name": "last", "key": "key" },
        { "op": "current", "name": "last" },
        { "op": "set", "key": "key", "value": "other" },
        { "op": "swap", "name": "last", "value": "new" },
        { "op": "get", "key": "key" },
    ]))
    .await;
    let full = failed("too many compare_and_swaps opened");
    assert_eq!(results[5..], [full, ok("other")]);
}

/// S14. Both interfaces count together.
#[tokio::test]
async fn an_instance_can_have_256_stores_open() {
    let application = Application::new(STORE);
    let host = application.start(&[]);
    let (path, often) = script(json!([
        { "op": "open-often", "store": "default", "times": 255 },
        { "op": "open-often", "store": "default", "times": 256 },
    ]));
    let opened = json!([
        ok(Value::Null),
        ok(255),
        failed("after 255: store table full")
    ]);
    // What a request had open is dropped with it.
    for _ in 0..2 {
        assert_eq!(host.script(path, &often).await, opened);
    }
    let often = json!([{ "op": "open-often", "store": "default", "times": 257 }]);
    let opened = json!([failed("after 256: store-table-full")]);
    assert_eq!(host.script("/spin-kv", &often).await, opened);
}

#[tokio::test]
async fn data_outlives_the_process() {
    let application = Application::new(STORE);
    let host = application.start(&[]);
    on_store(
        &host,
        json!([{ "op": "set", "key": "key", "value": "value" }]),
    )
    .await;
    host.signal("KILL");
    assert!(!host.ended().await.success());

    let host = application.start(&[]);
    assert_eq!(
        on_store(&host, json!([{ "op": "get", "key": "key" }])).await,
        [ok("value")]
    );
}

#[tokio::test]
async fn a_store_that_cannot_be_opened_is_an_error_until_it_can() {
    let application = Application::new(STORE);
    let state = application.path().join("state");
    let file = state.join("sqlite_key_value.db");
    std::fs::create_dir_all(&file).unwrap();
    let host = application.start(&["--state-dir", state.to_str().expect("the path is text")]);

    let opened = host.script("/kv", &script(json!([])).1).await;
    let error = opened[0]["err"]
        .as_str()
        .expect("a directory is no database");
    assert!(error.contains("CannotOpen"), "{error}");
    std::fs::remove_dir(&file).unwrap();
    assert_eq!(
        on_store(
            &host,
            json!([{ "op": "set", "key": "key", "value": "value" }])
        )
        .await,
        [ok(Value::Null)]
    );
}
