//! The two interfaces of the store, each opened on first use, as in the product's shell.

use crate::Failure;
use crate::bindings::wasi::keyvalue::{atomics, store as conditional};
use spin_sdk::key_value;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The label of the store in the manifest.
const STORE: &str = "default";

/// Whether this instance has read the layout. Every instance of Reprise does so once.
static HAS_LAYOUT: AtomicBool = AtomicBool::new(false);

/// A store, open for one request.
pub(crate) struct Store {
    plain: key_value::Store,
    conditional: OnceCell<conditional::Bucket>,
}

impl Store {
    pub(crate) async fn open() -> Result<Self, Failure> {
        let plain = key_value::Store::open(STORE)
            .await
            .map_err(|error| error.to_string())?;
        Ok(Self {
            plain,
            conditional: OnceCell::new(),
        })
    }

    /// Reads the layout if this is the instance's first request.
    pub(crate) async fn layout(&self) -> Result<(), Failure> {
        if !HAS_LAYOUT.load(Ordering::Relaxed) {
            self.get("w/layout").await?;
            HAS_LAYOUT.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads a number as long as the name of the retry budget, which is full and so is not written.
    pub(crate) async fn budget(&self) -> Result<(), Failure> {
        let key = "w/s/00000000000000000000000000000000";
        self.get(key).await.map(drop)
    }

    pub(crate) async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        let got = self.plain.get(key).await;
        got.map_err(|error| error.to_string())
    }

    pub(crate) async fn set(&self, key: &str, value: &[u8]) -> Result<(), Failure> {
        let set = self.plain.set(key, value).await;
        set.map_err(|error| error.to_string())
    }

    pub(crate) fn increment(&self, key: &str) -> Result<(), Failure> {
        let sum = atomics::increment(self.conditional()?, key, 0);
        sum.map(drop).map_err(failure)
    }

    pub(crate) fn cas(&self, key: &str) -> Result<atomics::Cas, Failure> {
        atomics::Cas::new(self.conditional()?, key).map_err(failure)
    }

    fn conditional(&self) -> Result<&conditional::Bucket, Failure> {
        if self.conditional.get().is_none() {
            let opened = conditional::open(STORE).map_err(failure)?;
            let _ = self.conditional.set(opened);
        }
        Ok(self.conditional.get().expect("it was just set"))
    }
}

/// What a handle reads.
pub(crate) fn current(cas: &atomics::Cas) -> Result<Option<Vec<u8>>, Failure> {
    cas.current().map_err(failure)
}

/// Swaps, and tells whether it was this swap that wrote.
pub(crate) fn swap(cas: atomics::Cas, value: &[u8]) -> Result<bool, Failure> {
    match atomics::swap(cas, value) {
        Ok(()) => Ok(true),
        Err(atomics::CasError::CasFailed(_)) => Ok(false),
        Err(atomics::CasError::StoreError(error)) => Err(failure(error)),
    }
}

fn failure(error: conditional::Error) -> Failure {
    match error {
        conditional::Error::NoSuchStore => "there is no such store".to_owned(),
        conditional::Error::AccessDenied => "the manifest grants no store".to_owned(),
        conditional::Error::Other(message) => message,
    }
}
