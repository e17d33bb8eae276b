//! Key-value stores: what a backing store must do, and the handles that guests hold.
//!
//! [`sqlite_store`] and [`redis_store`] repeat what Spin's stores of these names do, faults included, because the
//! component has to withstand them there, and [`slow_store`] lets either take its time; `wasi` and `spin` are the two interfaces through which guests call them.

pub mod redis_store;
pub mod slow_store;
mod spin;
pub mod sqlite_store;
pub mod stats;
mod wasi;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};
use wasmtime::component::{HasData, Resource, ResourceTable};

use stats::Stats;

/// The store that exists without any configuration, in Spin as here.
pub const DEFAULT_STORE: &str = "default";

/// The most that one call may return, in bytes, counted with the overhead of Spin's own data structures.
const MAX_RESULT_BYTES: usize = 128 << 20;

/// Why a store could not do what it was asked.
///
/// Guests see the text, so it is the one they would see in Spin: the error of the database driver in its debug form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError(pub String);

impl StoreError {
    fn from_driver(error: impl fmt::Debug) -> Self {
        Self(format!("{error:?}"))
    }
}

/// Why a swap did not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwapError {
    /// The store says that the value is not the one that was read. On Redis it always says so.
    CasFailed,
    /// The store failed.
    Store(StoreError),
}

/// Opens stores by name.
#[async_trait]
pub trait Stores: Send + Sync {
    /// Opens the store, connecting to what is behind it if this is the first use. A failed connection is an error of
    /// this call only; the next one tries again.
    async fn open(&self, name: &str) -> Result<Arc<dyn Store>, StoreError>;
}

/// One open store. Every call is one operation of the store behind it.
#[async_trait]
pub trait Store: Send + Sync {
    /// The value of a key.
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
    /// Creates or overwrites a key.
    async fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError>;
    /// Removes a key, if it is there.
    async fn delete(&self, key: &str) -> Result<(), StoreError>;
    /// Whether the key is there.
    async fn exists(&self, key: &str) -> Result<bool, StoreError>;
    /// All key names, in no particular order.
    async fn keys(&self) -> Result<Vec<String>, StoreError>;
    /// All key names, one by one.
    async fn stream_keys(&self) -> KeyStream;
    /// The values of several keys.
    async fn get_many(
        &self,
        keys: Vec<String>,
    ) -> Result<Vec<(String, Option<Vec<u8>>)>, StoreError>;
    /// Creates or overwrites several keys.
    async fn set_many(&self, pairs: Vec<(String, Vec<u8>)>) -> Result<(), StoreError>;
    /// Removes several keys.
    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError>;
    /// Adds to a counter and returns the sum; an absent key counts as zero.
    async fn increment(&self, key: &str, delta: i64) -> Result<i64, StoreError>;
    /// Starts a conditional write of a key.
    async fn compare_and_swap(&self, key: &str) -> Result<Arc<dyn Cas>, StoreError>;
}

/// One conditional write of one key.
#[async_trait]
pub trait Cas: Send + Sync {
    /// Reads the value that the swap will be compared with.
    async fn current(&self) -> Result<Option<Vec<u8>>, StoreError>;
    /// Replaces the value, under the store's own idea of a condition.
    async fn swap(&self, value: Vec<u8>) -> Result<(), SwapError>;
}

/// Key names as they are read, and then whether these were all.
pub struct KeyStream {
    /// The names.
    pub keys: mpsc::Receiver<String>,
    /// Resolves after the last name.
    pub end: oneshot::Receiver<Result<(), StoreError>>,
}

/// A guest's handle of an open store.
pub struct Bucket(Arc<dyn Store>);

/// A guest's handle of a conditional write.
///
/// A swap consumes the guest's handle but, as in Spin, not the host's entry: it stays until the instance ends, and on
/// Redis its connection with it. Only a handle that the guest drops is really gone. An instance has room for 256 of
/// them, so it can swap no more often than that.
pub struct CasHandle {
    cas: Arc<dyn Cas>,
    key: String,
    /// The bucket it came from, by number: if the guest has dropped that, a lost swap cannot give a new handle.
    bucket: u32,
}

/// What one instance knows of key-value stores.
#[derive(Clone)]
pub struct KvContext {
    stores: Arc<dyn Stores>,
    allowed: Arc<BTreeSet<String>>,
    stats: Arc<Stats>,
}

impl KvContext {
    /// `allowed` are the names that the component may open; calls are counted in `stats`.
    pub fn new(stores: Arc<dyn Stores>, allowed: Arc<BTreeSet<String>>, stats: Arc<Stats>) -> Self {
        Self {
            stores,
            allowed,
            stats,
        }
    }
}

/// As many stores as an instance may have open, and as many conditional writes, swapped ones included: what Spin has
/// room for in a table of each.
const HANDLES_MAX: u32 = 256;

/// How many handles of each kind an instance holds.
#[derive(Debug, Default)]
pub struct Handles {
    stores: u32,
    cas: u32,
}

/// An instance's stores together with its table of handles; the interfaces are implemented on this.
pub struct KvView<'a> {
    /// What the instance knows of stores.
    pub context: &'a KvContext,
    /// The handles that it holds.
    pub table: &'a mut ResourceTable,
    /// How many they are.
    pub handles: &'a mut Handles,
}

impl KvView<'_> {
    /// The store behind a handle, if that is open.
    fn opened(&self, bucket: &Resource<Bucket>) -> Option<Arc<dyn Store>> {
        let bucket = self.table.get(bucket).ok()?;
        Some(bucket.0.clone())
    }

    /// Gives the guest a handle of a store; `None` when it has too many.
    fn hold(&mut self, store: Arc<dyn Store>) -> Option<Resource<Bucket>> {
        if self.handles.stores >= HANDLES_MAX {
            return None;
        }
        let bucket = self.table.push(Bucket(store)).ok()?;
        self.handles.stores += 1;
        Some(bucket)
    }

    /// Forgets a store that the guest has dropped.
    fn let_go(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        self.handles.stores -= 1;
        Ok(())
    }

    /// Gives the guest a handle of a conditional write; `None` when it has had too many.
    fn hold_cas(&mut self, cas: CasHandle) -> Option<Resource<CasHandle>> {
        if self.handles.cas >= HANDLES_MAX {
            return None;
        }
        let cas = self.table.push(cas).ok()?;
        self.handles.cas += 1;
        Some(cas)
    }

    /// Forgets a conditional write that the guest has dropped.
    fn let_go_cas(&mut self, cas: Resource<CasHandle>) -> wasmtime::Result<()> {
        self.table.delete(cas)?;
        self.handles.cas -= 1;
        Ok(())
    }
}

/// Names [`KvView`] to the linker.
pub struct HasKv;

impl HasData for HasKv {
    type Data<'a> = KvView<'a>;
}

/// Adds up the size of a result and stops it at [`MAX_RESULT_BYTES`].
struct ResultSize(usize);

impl ResultSize {
    /// `overhead` is what Spin counts for the container, in bytes.
    fn new(overhead: usize) -> Self {
        Self(overhead)
    }

    fn add(&mut self, bytes: usize) -> Result<(), StoreError> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 > MAX_RESULT_BYTES {
            return Err(StoreError(format!(
                "query result exceeds limit of {MAX_RESULT_BYTES} bytes"
            )));
        }
        Ok(())
    }

    /// Checks the result of a `get`.
    fn check_value(value: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, StoreError> {
        Self::new(size_of::<Option<Vec<u8>>>()).add(value.as_ref().map_or(0, Vec::len))?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_may_be_as_large_as_the_limit_and_no_larger() {
        let mut size = ResultSize::new(24);
        size.add(MAX_RESULT_BYTES - 24).unwrap();
        let error = size.add(1).unwrap_err();
        assert_eq!(error.0, "query result exceeds limit of 134217728 bytes");
        ResultSize::new(0).add(usize::MAX).unwrap_err();
    }
}
