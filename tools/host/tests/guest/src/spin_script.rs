//! Scripts of `spin:key-value` calls, in the form of [`crate::script`].

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::spin::key_value::key_value::{Error, Store};

/// One step, the function of its name.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
enum Step {
    Open { store: String },
    Get { key: String },
    Set { key: String, value: String },
    Delete { key: String },
    Exists { key: String },
    GetKeys,
}

/// Runs a script. Fails on one that is not well formed; what the stores answer is a result.
pub(crate) async fn run(script: &[u8]) -> Result<Value> {
    let steps: Vec<Step> = serde_json::from_slice(script)?;
    let mut open: Option<Store> = None;
    let mut results = Vec::new();
    for step in steps {
        let result = if let Step::Open { store } = step {
            Store::open(store).await.map(|store| {
                open = Some(store);
                json!(null)
            })
        } else {
            call(open.as_ref().context("no store is open")?, step).await
        };
        results.push(match result {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "err": text(error) }),
        });
    }
    Ok(json!(results))
}

async fn call(store: &Store, step: Step) -> Result<Value, Error> {
    Ok(match step {
        Step::Open { .. } => unreachable!("the caller opens"),
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
