//! A store that takes its time: the same store, each of whose calls waits first.
//!
//! How long is what a file says, in milliseconds, read anew for each call: so a test makes a running host's store slow
//! and quick again. Opening the store and making a CAS handle are no calls of the store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::sleep;

use super::{Cas, KeyStream, Store, StoreError, Stores, SwapError};

/// Stores whose calls wait for as many milliseconds as a file says.
pub struct SlowStores {
    stores: Arc<dyn Stores>,
    delay: Delay,
}

impl SlowStores {
    /// These stores, with the delay in this file. While there is no such file, or no number in it, nothing waits.
    pub fn new(stores: Arc<dyn Stores>, delay_file: &Path) -> Self {
        let delay = Delay(Arc::from(delay_file));
        Self { stores, delay }
    }
}

#[derive(Clone)]
struct Delay(Arc<Path>);

impl Delay {
    async fn pass(&self) {
        let text = std::fs::read_to_string(&*self.0).unwrap_or_default();
        if let Ok(ms) = text.trim().parse() {
            sleep(Duration::from_millis(ms)).await;
        }
    }
}

struct SlowStore {
    store: Arc<dyn Store>,
    delay: Delay,
}

struct SlowCas {
    cas: Arc<dyn Cas>,
    delay: Delay,
}

#[async_trait]
impl Stores for SlowStores {
    async fn open(&self, name: &str) -> Result<Arc<dyn Store>, StoreError> {
        let store = self.stores.open(name).await?;
        let delay = self.delay.clone();
        Ok(Arc::new(SlowStore { store, delay }))
    }
}

#[async_trait]
impl Store for SlowStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.delay.pass().await;
        self.store.get(key).await
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.delay.pass().await;
        self.store.set(key, value).await
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.delay.pass().await;
        self.store.delete(key).await
    }

    async fn exists(&self, key: &str) -> Result<bool, StoreError> {
        self.delay.pass().await;
        self.store.exists(key).await
    }

    async fn keys(&self) -> Result<Vec<String>, StoreError> {
        self.delay.pass().await;
        self.store.keys().await
    }

    async fn stream_keys(&self) -> KeyStream {
        self.delay.pass().await;
        self.store.stream_keys().await
    }

    async fn get_many(
        &self,
        keys: Vec<String>,
    ) -> Result<Vec<(String, Option<Vec<u8>>)>, StoreError> {
        self.delay.pass().await;
        self.store.get_many(keys).await
    }

    async fn set_many(&self, pairs: Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
        self.delay.pass().await;
        self.store.set_many(pairs).await
    }

    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.delay.pass().await;
        self.store.delete_many(keys).await
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.delay.pass().await;
        self.store.increment(key, delta).await
    }

    async fn compare_and_swap(&self, key: &str) -> Result<Arc<dyn Cas>, StoreError> {
        let cas = self.store.compare_and_swap(key).await?;
        let delay = self.delay.clone();
        Ok(Arc::new(SlowCas { cas, delay }))
    }
}

#[async_trait]
impl Cas for SlowCas {
    async fn current(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.delay.pass().await;
        self.cas.current().await
    }

    async fn swap(&self, value: Vec<u8>) -> Result<(), SwapError> {
        self.delay.pass().await;
        self.cas.swap(value).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::sqlite_store::SqliteStores;
    use std::time::Instant;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_store_is_as_slow_as_the_file_says_at_the_moment_of_the_call() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("delay");
        let stores = SlowStores::new(Arc::new(SqliteStores::new(folder.path())), &file);
        let store = stores.open("default").await.unwrap();
        store.set("a", b"1").await.unwrap();
        std::fs::write(&file, "100\n").unwrap();
        let start = Instant::now();
        assert_eq!(store.get("a").await.unwrap().as_deref(), Some(&b"1"[..]));
        assert!(start.elapsed() >= Duration::from_millis(100));
        let cas = store.compare_and_swap("a").await.unwrap();
        cas.current().await.unwrap();
        cas.swap(b"2".to_vec()).await.unwrap();
        assert!(start.elapsed() >= Duration::from_millis(300));
        std::fs::write(&file, "nonsense").unwrap();
        let start = Instant::now();
        assert_eq!(store.get("a").await.unwrap().as_deref(), Some(&b"2"[..]));
        std::fs::remove_file(&file).unwrap();
        store.delete("a").await.unwrap();
        assert!(start.elapsed() < Duration::from_millis(100));
    }
}
