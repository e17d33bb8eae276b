//! The primitives of a key-value store, call for call as `wasi:keyvalue@0.2.0-draft2` offers them.
//!
//! Nothing here promises more than the interface does, and the interface's implementations promise less than it
//! says: see [`super::store`] for what is made of it.

use std::fmt;

/// A store failed, or could not be reached. Whether a write took effect is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KvError(pub String);

impl fmt::Display for KvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key-value store: {}", self.0)
    }
}

impl std::error::Error for KvError {}

/// Why a swap did not report success. Neither case says that the value was not written.
#[derive(Debug)]
pub enum SwapError<C> {
    /// The store says that the value had changed, and hands a handle that has read the current one.
    CasFailed(C),
    /// The store failed.
    Store(KvError),
}

/// An open key-value store.
#[expect(
    async_fn_in_trait,
    reason = "a component is single-threaded: no future here is ever sent to another thread"
)]
pub trait Kv {
    /// A pending compare-and-swap of one key.
    type Cas;

    /// The value of a key, or `None` when it is absent.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError>;
    /// The values of those of these keys that are there, in any order. Not every store behind the interface has this
    /// call in order, and it blocks where it is one: see [`super::store::layout::Creation::reads_many`].
    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, KvError> {
        let mut found = Vec::new();
        for key in keys {
            if let Some(value) = self.get(&key).await? {
                found.push((key, value));
            }
        }
        Ok(found)
    }
    /// Writes a value whatever was there.
    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError>;
    /// Removes a key whatever was there; an absent key is no error.
    async fn delete(&self, key: &str) -> Result<(), KvError>;
    /// Adds to a counter and answers the sum; an absent key counts as 0 and is created.
    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError>;
    /// Starts a compare-and-swap of one key.
    async fn cas(&self, key: &str) -> Result<Self::Cas, KvError>;
    /// Reads the value that a swap of this handle will compare with.
    async fn current(&self, cas: &Self::Cas) -> Result<Option<Vec<u8>>, KvError>;
    /// Writes a value if the key still holds what [`Kv::current`] read.
    async fn swap(&self, cas: Self::Cas, value: &[u8]) -> Result<(), SwapError<Self::Cas>>;

    /// An error while the store is too slow to begin anything new. That takes several calls, each of which would hold
    /// its client, and the conditional ones everybody else; what has been begun is brought to its end all the same.
    fn check_pace(&self) -> Result<(), KvError> {
        Ok(())
    }

    /// Sees to it that this many swaps can be made, where an instance may make only so many: see [`super::ration`].
    /// Answers whether they can.
    fn reserve(&self, swaps: u32) -> bool {
        let _ = swaps;
        true
    }
}
