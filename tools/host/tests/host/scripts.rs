//! Scripts of the test component: what they are sent as, and what their results look like.

use serde_json::{Value, json};

use crate::harness::{Application, Running, STORE};

/// Runs a script on the default store and returns the results without that of opening it.
pub(crate) async fn on_store(host: &Running, steps: Value) -> Vec<Value> {
    let (path, script) = script(steps);
    let Value::Array(results) = host.script(path, &script).await else {
        panic!("a script is answered by a list");
    };
    assert_eq!(results[0], json!({ "ok": null }), "the store opens");
    results[1..].to_vec()
}

/// [`on_store`] on the store of a host that was just made.
pub(crate) async fn on_empty_store(steps: Value) -> Vec<Value> {
    let application = Application::new(STORE);
    on_store(&application.start(&[]), steps).await
}

pub(crate) fn script(steps: Value) -> (&'static str, Value) {
    let Value::Array(mut steps) = steps else {
        panic!("a script is a list")
    };
    steps.insert(0, json!({ "op": "open", "store": "default" }));
    ("/kv", Value::Array(steps))
}

pub(crate) fn ok(value: impl Into<Value>) -> Value {
    json!({ "ok": value.into() })
}

pub(crate) fn failed(message: &str) -> Value {
    json!({ "err": message })
}
