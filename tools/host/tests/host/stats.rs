//! The counts of key-value calls.

use http::StatusCode;
use serde_json::json;

use crate::harness::{Application, STORE};
use crate::scripts::on_store;

#[tokio::test]
async fn the_counts_tell_what_was_asked_of_the_store() {
    let application = Application::new(STORE);
    let host = application.start(&["--stats"]);
    let before = host.json("/.host/stats").await;
    assert_eq!(
        (
            &before["requests"],
            &before["kv"]["reads"],
            &before["kv"]["writes"]
        ),
        (&json!(0), &json!(0), &json!(0))
    );
    on_store(
        &host,
        json!([
            { "op": "set", "key": "key", "value": "old" },
            { "op": "cas", "name": "cas", "key": "key" },
            { "op": "current", "name": "cas" },
            { "op": "swap", "name": "cas", "value": "new" },
            { "op": "get", "key": "key" },
            { "op": "increment", "key": "word", "delta": 1 },
            { "op": "get-many", "keys": ["a", "b", "c"] },
            { "op": "set-many", "pairs": [["a", "1"], ["b", "2"]] },
        ]),
    )
    .await;
    let after = host.json("/.host/stats").await;
    assert_eq!(after["requests"], 1);
    assert_eq!(
        (&after["kv"]["reads"], &after["kv"]["writes"]),
        (&json!(3), &json!(4))
    );
    let calls = &after["kv"]["calls"];
    for (call, count) in [
        ("get", 1),
        ("current", 1),
        ("get-many", 1),
        ("set", 1),
        ("swap", 1),
        ("increment", 1),
        ("set-many", 1),
        ("delete", 0),
    ] {
        assert_eq!(calls[call], count, "{call}");
    }
}

#[tokio::test]
async fn the_counts_are_told_only_if_asked_for() {
    let application = Application::new(STORE);
    let host = application.start(&[]);
    assert_eq!(
        host.get("/.host/stats").await,
        (
            StatusCode::BAD_REQUEST,
            "no such path: /.host/stats".to_owned()
        )
    );
}
