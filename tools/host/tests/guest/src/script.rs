//! Scripts of `wasi:keyvalue` calls: a JSON list of steps, answered by the list of their results, `{"ok": …}` or
//! `{"err": …}`. Values are text, with the replacement character for bytes that are none.
//!
//! A script has one open bucket and any number of named CAS handles, so that a test can say exactly which handle saw
//! what before which other one wrote.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::wasi::keyvalue::atomics::{self, Cas, CasError};
use crate::bindings::wasi::keyvalue::batch;
use crate::bindings::wasi::keyvalue::store::{self, Bucket, Error};

/// One step; most are the function of their name.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
enum Step {
    /// Opens a bucket; the one that was open stays open if this fails.
    Open {
        store: String,
    },
    /// Drops the bucket.
    Close,
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
    ListKeys {
        cursor: Option<String>,
    },
    GetMany {
        keys: Vec<String>,
    },
    SetMany {
        pairs: Vec<(String, String)>,
    },
    DeleteMany {
        keys: Vec<String>,
    },
    Increment {
        key: String,
        delta: i64,
    },
    /// Makes a CAS handle under a name.
    Cas {
        name: String,
        key: String,
    },
    /// Reads through a CAS handle.
    Current {
        name: String,
    },
    /// Uses up a CAS handle; if the swap is lost, the new handle takes its name.
    Swap {
        name: String,
        value: String,
    },
    /// Makes a handle and drops it, many times over; answers how often it could.
    CasOften {
        key: String,
        times: u32,
    },
    /// Opens many buckets beside the open one, and then drops them; answers how many it could.
    OpenOften {
        store: String,
        times: u32,
    },
    /// Makes a handle and swaps with it, many times over; answers how often it could.
    SwapOften {
        key: String,
        times: u32,
    },
}

/// What a script holds.
#[derive(Default)]
struct Handles {
    bucket: Option<Bucket>,
    cas: BTreeMap<String, Cas>,
}

/// Runs a script. Fails on one that is not well formed; what the stores answer is a result.
pub(crate) fn run(script: &[u8]) -> Result<Value> {
    let steps: Vec<Step> = serde_json::from_slice(script)?;
    let mut handles = Handles::default();
    let results = steps
        .into_iter()
        .map(|step| {
            Ok(match handles.step(step)? {
                Ok(value) => json!({ "ok": value }),
                Err(error) => json!({ "err": error }),
            })
        })
        .collect::<Result<Vec<Value>>>()?;
    Ok(json!(results))
}

impl Handles {
    /// The outer result is about the script, the inner one about the store.
    fn step(&mut self, step: Step) -> Result<Result<Value, String>> {
        if let Step::Open { store } = step {
            return Ok(store::open(&store).map_err(text).map(|bucket| {
                self.bucket = Some(bucket);
                json!(null)
            }));
        }
        let bucket = self.bucket.as_ref().context("no bucket is open");
        Ok(match step {
            Step::Open { .. } => unreachable!("handled above"),
            Step::Close => {
                self.bucket = None;
                Ok(json!(null))
            }
            Step::Get { key } => answer(bucket?.get(&key).map(shown)),
            Step::Set { key, value } => answer(bucket?.set(&key, value.as_bytes())),
            Step::Delete { key } => answer(bucket?.delete(&key)),
            Step::Exists { key } => answer(bucket?.exists(&key)),
            Step::ListKeys { cursor } => {
                answer(bucket?.list_keys(cursor.as_deref()).map(|page| page.keys))
            }
            Step::GetMany { keys } => {
                let found = batch::get_many(bucket?, &keys);
                answer(found.map(|pairs| {
                    pairs
                        .into_iter()
                        .map(|(key, value)| (key, shown(value)))
                        .collect::<Vec<_>>()
                }))
            }
            Step::SetMany { pairs } => {
                let pairs: Vec<_> = pairs
                    .into_iter()
                    .map(|(key, value)| (key, value.into_bytes()))
                    .collect();
                answer(batch::set_many(bucket?, &pairs))
            }
            Step::DeleteMany { keys } => answer(batch::delete_many(bucket?, &keys)),
            Step::Increment { key, delta } => answer(atomics::increment(bucket?, &key, delta)),
            Step::Cas { name, key } => answer(Cas::new(bucket?, &key).map(|cas| {
                self.cas.insert(name, cas);
            })),
            Step::Current { name } => answer(self.named(&name)?.current().map(shown)),
            Step::Swap { name, value } => self.swap(&name, &value)?,
            Step::CasOften { key, times } => cas_often(bucket?, &key, times),
            Step::OpenOften { store, times } => open_often(&store, times),
            Step::SwapOften { key, times } => swap_often(bucket?, &key, times),
        })
    }

    fn named(&self, name: &str) -> Result<&Cas> {
        self.cas
            .get(name)
            .ok_or_else(|| anyhow!("no CAS handle {name:?}"))
    }

    fn swap(&mut self, name: &str, value: &str) -> Result<Result<Value, String>> {
        let cas = self
            .cas
            .remove(name)
            .with_context(|| format!("no CAS handle {name:?}"))?;
        Ok(match atomics::swap(cas, value.as_bytes()) {
            Ok(()) => Ok(json!(null)),
            Err(CasError::StoreError(error)) => Err(text(error)),
            Err(CasError::CasFailed(renewed)) => {
                self.cas.insert(name.to_owned(), renewed);
                Err("cas-failed".to_owned())
            }
        })
    }
}

fn cas_often(bucket: &Bucket, key: &str, times: u32) -> Result<Value, String> {
    for done in 0..times {
        Cas::new(bucket, key).map_err(|error| format!("after {done}: {}", text(error)))?;
    }
    Ok(json!(times))
}

fn open_often(store: &str, times: u32) -> Result<Value, String> {
    let open = |done| store::open(store).map_err(|error| format!("after {done}: {}", text(error)));
    let open: Vec<Bucket> = (0..times).map(open).collect::<Result<_, _>>()?;
    Ok(json!(open.len()))
}

fn swap_often(bucket: &Bucket, key: &str, times: u32) -> Result<Value, String> {
    for done in 0..times {
        let cas =
            Cas::new(bucket, key).map_err(|error| format!("after {done}: {}", text(error)))?;
        match atomics::swap(cas, b"x") {
            // On Redis a swap never says that it worked.
            Ok(()) | Err(CasError::CasFailed(_)) => {}
            Err(CasError::StoreError(error)) => {
                return Err(format!("after {done}: {}", text(error)));
            }
        }
    }
    Ok(json!(times))
}

fn answer(result: Result<impl serde::Serialize, Error>) -> Result<Value, String> {
    result.map(|value| json!(value)).map_err(text)
}

fn shown(value: Option<Vec<u8>>) -> Option<String> {
    value.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn text(error: Error) -> String {
    match error {
        Error::NoSuchStore => "no-such-store".to_owned(),
        Error::AccessDenied => "access-denied".to_owned(),
        Error::Other(message) => message,
    }
}
