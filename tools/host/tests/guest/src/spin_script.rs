//! Scripts of `spin:key-value` calls, in the form of [`crate::script`].

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::spin::key_value::key_value::{Error, Store};

/// One step, the function of its name.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
enum Step {
    Open {
        store: String,
    },
    /// Opens many stores at a time, and then drops them; answers how many it could.
    OpenOften {
        store: String,
        times: u32,
    },
    Get {
        key: String,
    },
    Set {
        key: String,
        value: String,
    },
    Delete {
        key: String,
    },
    Exists {
        key: String,
    },
    GetKeys,
}

/// Runs a script. Fails on one that is not well formed; what the stores answer is a result.
pub(crate) async fn run(script: &[u8]) -> Result<Value> {
    let steps: Vec<Step> = serde_json::from_slice(script)?;
    let mut open: Option<Store> = None;
    let mut results = Vec::new();
    for step in steps {
        let result = match step {
            Step::Open { store } => Store::open(store).await.map_err(text).map(|store| {
                open = Some(store);
                json!(null)
            }),
            Step::OpenOften { store, times } => open_often(store, times).await,
            step => {
                let store = open.as_ref().context("no store is open")?;
                call(store, step).await.map_err(text)
            }
        };
        results.push(match result {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "err": error }),
        });
    }
    Ok(json!(results))
}

async fn open_often(store: String, times: u32) -> Result<Value, String> {
    let mut open = Vec::new();
    for done in 0..times {
        let opened = Store::open(store.clone()).await;
        open.push(opened.map_err(|error| format!("after {done}: {}", text(error)))?);
    }
    Ok(json!(open.len()))
}

async fn call(store: &Store, step: Step) -> Result<Value, Error> {
    Ok(match step {
        Step::Open { .. } | Step::OpenOften { .. } => unreachable!("the caller opens"),
        Step::Get { key } => {
            let value = store.get(key).await?;
            json!(value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        }
        Step::Set { key, value } => json!(store.set(key, value.into_bytes()).await?),
        Step::Delete { key } => json!(store.delete(key).await?),
        Step::Exists { key } => json!(store.exists(key).await?),
        Step::GetKeys => {
            let (stream, end) = store.get_keys().await;
            let mut keys = stream.collect().await;
            end.await?;
            keys.sort();
            json!(keys)
        }
    })
}

fn text(error: Error) -> String {
    match error {
        Error::StoreTableFull => "store-table-full".to_owned(),
        Error::NoSuchStore => "no-such-store".to_owned(),
        Error::AccessDenied => "access-denied".to_owned(),
        Error::Other(message) => message,
    }
}
