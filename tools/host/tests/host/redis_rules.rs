//! The rules of the Redis store, each shown on a real server: what it promises, and how it misreports.

use std::sync::Arc;

use reprise_host::kv::redis_store::RedisStores;
use reprise_host::kv::{Cas, Store, Stores as _, SwapError};

use crate::harness::eventually;
use crate::redis_server::RedisServer;

/// A store on a server of its own.
async fn open() -> (RedisServer, Arc<dyn Store>) {
    let server = RedisServer::start();
    let stores = RedisStores::new(&server.url()).expect("the address is a Redis URL");
    let store = stores.open("default").await.expect("the server is up");
    (server, store)
}

/// A CAS handle that has read its key.
async fn reading(store: &Arc<dyn Store>, key: &str) -> (Arc<dyn Cas>, Option<Vec<u8>>) {
    let cas = store.compare_and_swap(key).await.expect("the server is up");
    let value = cas.current().await.expect("the server is up");
    (cas, value)
}

/// S2: the write happens once, and nobody is told that it was theirs.
#[tokio::test]
async fn a_swap_is_conditional_and_always_says_that_it_failed() {
    let (_server, store) = open().await;
    let (first, seen_by_first) = reading(&store, "key").await;
    let (second, seen_by_second) = reading(&store, "key").await;
    assert_eq!((seen_by_first, seen_by_second), (None, None));

    assert_eq!(
        first.swap(b"first".to_vec()).await,
        Err(SwapError::CasFailed)
    );
    assert_eq!(
        store.get("key").await.unwrap().unwrap(),
        b"first",
        "it was written all the same"
    );
    assert_eq!(
        second.swap(b"second".to_vec()).await,
        Err(SwapError::CasFailed)
    );
    assert_eq!(
        store.get("key").await.unwrap().unwrap(),
        b"first",
        "and this one was not"
    );

    // A handle that has not read is unconditional here too.
    let blind = store.compare_and_swap("key").await.unwrap();
    assert_eq!(
        blind.swap(b"blind".to_vec()).await,
        Err(SwapError::CasFailed)
    );
    assert_eq!(store.get("key").await.unwrap().unwrap(), b"blind");
}

/// What sees a change is the server, so writing the same value again counts as one, unlike on SQLite.
#[tokio::test]
async fn a_swap_notices_that_a_value_was_written_again() {
    let (_server, store) = open().await;
    store.set("key", b"value").await.unwrap();
    let (cas, _) = reading(&store, "key").await;
    store.set("key", b"value").await.unwrap();
    assert_eq!(cas.swap(b"new".to_vec()).await, Err(SwapError::CasFailed));
    assert_eq!(store.get("key").await.unwrap().unwrap(), b"value");
}

/// S6: counters.
#[tokio::test]
async fn a_counter_is_decimal_text_and_a_document_is_none() {
    let (_server, store) = open().await;
    assert_eq!(store.increment("counter", 0).await.unwrap(), 0);
    assert_eq!(store.get("counter").await.unwrap().unwrap(), b"0");
    assert_eq!(store.increment("counter", 41).await.unwrap(), 41);

    store.set("document", b"{}").await.unwrap();
    let error = store.increment("document", 1).await.unwrap_err();
    assert!(error.0.contains("not an integer"), "{error:?}");
    assert_eq!(
        store.get("document").await.unwrap().unwrap(),
        b"{}",
        "and the store still works"
    );
}

/// S6: batches.
#[tokio::test]
async fn several_values_cannot_be_read_at_once() {
    let (_server, store) = open().await;
    let pairs = [("a", "1"), ("b", "2")];
    store
        .set_many(
            pairs
                .map(|(key, value)| (key.to_owned(), value.into()))
                .to_vec(),
        )
        .await
        .unwrap();
    assert_eq!(
        store.get("b").await.unwrap().unwrap(),
        b"2",
        "writing several works"
    );

    let two = store
        .get_many(vec!["a".to_owned(), "b".to_owned()])
        .await
        .unwrap_err();
    assert!(two.0.contains("wrong number of arguments"), "{two:?}");
    // One key is sent as a pattern; a reply with a name in it makes the driver panic, and with it the guest's request.
    let absent = store.get_many(vec!["absent".to_owned()]).await.unwrap();
    assert_eq!(absent, []);
    let one = store.clone();
    let one = tokio::spawn(async move { one.get_many(vec!["a".to_owned()]).await });
    assert!(one.await.unwrap_err().is_panic());

    store
        .delete_many(vec!["a".to_owned(), "b".to_owned()])
        .await
        .unwrap();
    assert_eq!(store.keys().await.unwrap(), Vec::<String>::new());
}

/// S6: connections.
#[tokio::test]
async fn every_cas_handle_has_a_connection_until_it_is_dropped() {
    let (server, store) = open().await;
    let before = server.connections().await;
    let mut handles = Vec::new();
    for _ in 0..5 {
        handles.push(store.compare_and_swap("key").await.unwrap());
    }
    assert_eq!(server.connections().await, before + 5);
    handles[0].swap(b"x".to_vec()).await.unwrap_err();
    assert_eq!(
        server.connections().await,
        before + 5,
        "a swap does not close it"
    );
    drop(handles);
    eventually(async || server.connections().await == before).await;
}

#[tokio::test]
async fn all_stores_share_one_key_space() {
    let server = RedisServer::start();
    let stores = RedisStores::new(&server.url()).unwrap();
    stores
        .open("one")
        .await
        .unwrap()
        .set("key", b"value")
        .await
        .unwrap();
    let other = stores.open("two").await.unwrap();
    assert_eq!(other.get("key").await.unwrap().unwrap(), b"value");
    assert!(other.exists("key").await.unwrap());
    other.delete("key").await.unwrap();
    assert!(!other.exists("key").await.unwrap());
}

#[tokio::test]
async fn keys_are_streamed_to_their_end() {
    let (_server, store) = open().await;
    let names: Vec<String> = (0..100).map(|number| format!("{number:03}")).collect();
    store
        .set_many(
            names
                .iter()
                .map(|name| (name.clone(), b"x".to_vec()))
                .collect(),
        )
        .await
        .unwrap();
    let mut stream = store.stream_keys().await;
    let mut seen = Vec::new();
    while let Some(key) = stream.keys.recv().await {
        seen.push(key);
    }
    seen.sort();
    assert_eq!(seen, names);
    stream.end.await.unwrap().unwrap();
}
