//! `spin:key-value@3.0.0`, as Spin answers it.
//!
//! These calls are asynchronous for the guest, but a store on SQLite still blocks the thread while it works.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use wasmtime::StoreContextMut;
use wasmtime::component::{
    Accessor, Destination, FutureReader, Resource, StreamProducer, StreamReader, StreamResult,
};

use super::stats::Call;
use super::{Bucket, HasKv, KvView, Store, StoreError};
use crate::bindings::spin::key_value::key_value::{Error, Host, HostStore, HostStoreWithStore};

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Other(error.0)
    }
}

impl Host for KvView<'_> {}

impl HostStore for KvView<'_> {
    async fn drop(&mut self, store: Resource<Bucket>) -> wasmtime::Result<()> {
        self.let_go(store)
    }
}

impl<T> HostStoreWithStore<T> for HasKv {
    async fn open(accessor: &Accessor<T, Self>, label: String) -> Result<Resource<Bucket>, Error> {
        let context = accessor.with(|mut access| access.get().context.clone());
        if !context.allowed.contains(&label) {
            return Err(Error::AccessDenied);
        }
        let store = context.stores.open(&label).await?;
        accessor.with(|mut access| access.get().hold(store).ok_or(Error::StoreTableFull))
    }

    async fn get(
        accessor: &Accessor<T, Self>,
        store: Resource<Bucket>,
        key: String,
    ) -> Result<Option<Vec<u8>>, Error> {
        Ok(opened(accessor, &store, Call::Get)?.get(&key).await?)
    }

    async fn set(
        accessor: &Accessor<T, Self>,
        store: Resource<Bucket>,
        key: String,
        value: Vec<u8>,
    ) -> Result<(), Error> {
        Ok(opened(accessor, &store, Call::Set)?
            .set(&key, &value)
            .await?)
    }

    async fn delete(
        accessor: &Accessor<T, Self>,
        store: Resource<Bucket>,
        key: String,
    ) -> Result<(), Error> {
        Ok(opened(accessor, &store, Call::Delete)?.delete(&key).await?)
    }

    async fn exists(
        accessor: &Accessor<T, Self>,
        store: Resource<Bucket>,
        key: String,
    ) -> Result<bool, Error> {
        Ok(opened(accessor, &store, Call::Exists)?.exists(&key).await?)
    }

    async fn get_keys(
        accessor: &Accessor<T, Self>,
        store: Resource<Bucket>,
    ) -> wasmtime::Result<(StreamReader<String>, FutureReader<Result<(), Error>>)> {
        let found = opened(accessor, &store, Call::ListKeys)
            .map_err(|_| wasmtime::format_err!("the store handle is not open"))?
            .stream_keys()
            .await;
        accessor.with(|mut access| {
            let keys = StreamReader::new(&mut access, Keys(found.keys))?;
            let end = FutureReader::new(&mut access, async {
                Ok::<_, wasmtime::Error>(found.end.await?.map_err(Error::from))
            })?;
            Ok((keys, end))
        })
    }
}

/// The store behind a handle, and one call on it counted.
fn opened<T>(
    accessor: &Accessor<T, HasKv>,
    store: &Resource<Bucket>,
    call: Call,
) -> Result<Arc<dyn Store>, Error> {
    accessor.with(|mut access| {
        let view = access.get();
        view.context.stats.count(call);
        view.opened(store).ok_or(Error::NoSuchStore)
    })
}

/// Hands key names to the guest one by one.
struct Keys(mpsc::Receiver<String>);

impl<T> StreamProducer<T> for Keys {
    type Item = String;
    type Buffer = Option<String>;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        store: StoreContextMut<'a, T>,
        mut destination: Destination<'a, String, Option<String>>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        if destination.remaining(store) == Some(0) {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        match self.0.poll_recv(context) {
            Poll::Ready(Some(key)) => {
                destination.set_buffer(Some(key));
                Poll::Ready(Ok(StreamResult::Completed))
            }
            Poll::Ready(None) => Poll::Ready(Ok(StreamResult::Dropped)),
            Poll::Pending if finish => Poll::Ready(Ok(StreamResult::Cancelled)),
            Poll::Pending => Poll::Pending,
        }
    }
}
