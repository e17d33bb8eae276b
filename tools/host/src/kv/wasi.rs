//! `wasi:keyvalue@0.2.0-draft2`, as Spin answers it.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::stats::Call;
use super::{Bucket, Cas, CasHandle, KvView, Store, StoreError, SwapError};
use crate::bindings::wasi::keyvalue::store::{Error, KeyResponse};
use crate::bindings::wasi::keyvalue::{atomics, batch, store};

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Other(error.0)
    }
}

impl KvView<'_> {
    /// The store behind a handle, and one call on it counted.
    fn store(&self, bucket: &Resource<Bucket>, call: Call) -> Result<Arc<dyn Store>, Error> {
        self.context.stats.count(call);
        self.bucket(bucket)
    }

    fn bucket(&self, bucket: &Resource<Bucket>) -> Result<Arc<dyn Store>, Error> {
        self.opened(bucket).ok_or(Error::NoSuchStore)
    }

    fn cas(&self, cas: &Resource<CasHandle>) -> Result<Arc<dyn Cas>, Error> {
        let entry = self
            .table
            .get(cas)
            .map_err(|_| Error::Other("compare and swap not found".to_owned()))?;
        Ok(entry.cas.clone())
    }

    async fn new_cas(&mut self, bucket: u32, key: String) -> Result<Resource<CasHandle>, Error> {
        let store = self.bucket(&Resource::new_borrow(bucket))?;
        let cas = store.compare_and_swap(&key).await?;
        self.hold_cas(CasHandle { cas, key, bucket })
            .ok_or_else(|| Error::Other("too many compare_and_swaps opened".to_owned()))
    }
}

impl store::Host for KvView<'_> {
    async fn open(&mut self, identifier: String) -> Result<Resource<Bucket>, Error> {
        if !self.context.allowed.contains(&identifier) {
            return Err(Error::AccessDenied);
        }
        let store = self.context.stores.open(&identifier).await?;
        self.hold(store)
            .ok_or_else(|| Error::Other("store table full".to_owned()))
    }
}

impl store::HostBucket for KvView<'_> {
    async fn get(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.store(&bucket, Call::Get)?.get(&key).await?)
    }

    async fn set(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        value: Vec<u8>,
    ) -> Result<(), Error> {
        Ok(self.store(&bucket, Call::Set)?.set(&key, &value).await?)
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Result<(), Error> {
        Ok(self.store(&bucket, Call::Delete)?.delete(&key).await?)
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Result<bool, Error> {
        Ok(self.store(&bucket, Call::Exists)?.exists(&key).await?)
    }

    async fn list_keys(
        &mut self,
        bucket: Resource<Bucket>,
        cursor: Option<String>,
    ) -> Result<KeyResponse, Error> {
        if cursor.is_some() {
            return Err(Error::Other("list_keys: cursor not supported".to_owned()));
        }
        let keys = self.store(&bucket, Call::ListKeys)?.keys().await?;
        Ok(KeyResponse { keys, cursor: None })
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.let_go(bucket)
    }
}

impl batch::Host for KvView<'_> {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Result<Vec<(String, Option<Vec<u8>>)>, Error> {
        let store = self.store(&bucket, Call::GetMany)?;
        Ok(if keys.is_empty() {
            Vec::new()
        } else {
            store.get_many(keys).await?
        })
    }

    async fn set_many(
        &mut self,
        bucket: Resource<Bucket>,
        pairs: Vec<(String, Vec<u8>)>,
    ) -> Result<(), Error> {
        let store = self.store(&bucket, Call::SetMany)?;
        if !pairs.is_empty() {
            store.set_many(pairs).await?;
        }
        Ok(())
    }

    async fn delete_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Result<(), Error> {
        let store = self.store(&bucket, Call::DeleteMany)?;
        if !keys.is_empty() {
            store.delete_many(keys).await?;
        }
        Ok(())
    }
}

impl atomics::HostCas for KvView<'_> {
    async fn new(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
    ) -> Result<Resource<CasHandle>, Error> {
        self.new_cas(bucket.rep(), key).await
    }

    async fn current(&mut self, cas: Resource<CasHandle>) -> Result<Option<Vec<u8>>, Error> {
        self.context.stats.count(Call::Current);
        Ok(self.cas(&cas)?.current().await?)
    }

    async fn drop(&mut self, cas: Resource<CasHandle>) -> wasmtime::Result<()> {
        self.let_go_cas(cas)
    }
}

impl atomics::Host for KvView<'_> {
    async fn increment(
        &mut self,
        bucket: Resource<Bucket>,
        key: String,
        delta: i64,
    ) -> Result<i64, Error> {
        Ok(self
            .store(&bucket, Call::Increment)?
            .increment(&key, delta)
            .await?)
    }

    async fn swap(
        &mut self,
        cas: Resource<CasHandle>,
        value: Vec<u8>,
    ) -> Result<(), atomics::CasError> {
        self.context.stats.count(Call::Swap);
        // The entry is read and left where it is: see `CasHandle`.
        match self
            .cas(&cas)
            .map_err(atomics::CasError::StoreError)?
            .swap(value)
            .await
        {
            Ok(()) => Ok(()),
            Err(SwapError::Store(error)) => Err(atomics::CasError::StoreError(error.into())),
            Err(SwapError::CasFailed) => Err(match self.renew(&cas).await {
                Ok(renewed) => atomics::CasError::CasFailed(renewed),
                Err(error) => atomics::CasError::StoreError(error),
            }),
        }
    }
}

impl KvView<'_> {
    /// The handle that a lost swap gives back: a new one, which has read the value.
    async fn renew(&mut self, lost: &Resource<CasHandle>) -> Result<Resource<CasHandle>, Error> {
        let entry = self.table.get(lost).map_err(|_| Error::NoSuchStore)?;
        let (bucket, key) = (entry.bucket, entry.key.clone());
        let renewed = self.new_cas(bucket, key).await?;
        self.cas(&renewed)?.current().await?;
        Ok(renewed)
    }
}
