//! The rules of the SQLite store, each shown on the store itself: what it promises, and the three faults that the
//! component has to live with because Spin has them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reprise_host::kv::sqlite_store::{FILE_NAME, Journal, SqliteStores, prepare};
use reprise_host::kv::{Cas, Store, StoreError, Stores as _, SwapError};

async fn open(directory: &Path) -> Arc<dyn Store> {
    let store = SqliteStores::new(directory).open("default").await;
    store.expect("a fresh directory can hold a store")
}

/// A CAS handle that has read its key.
async fn reading(store: &Arc<dyn Store>, key: &str) -> (Arc<dyn Cas>, Option<Vec<u8>>) {
    let cas = store
        .compare_and_swap(key)
        .await
        .expect("a handle can always be made");
    let value = cas.current().await.expect("a healthy store can be read");
    (cas, value)
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_kept_in_spins_table_across_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path())
        .await
        .set("key", b"value")
        .await
        .unwrap();

    assert_eq!(
        open(directory.path())
            .await
            .get("key")
            .await
            .unwrap()
            .unwrap(),
        b"value"
    );
    let file = rusqlite::Connection::open(directory.path().join(FILE_NAME)).unwrap();
    let row: (String, String, Vec<u8>) = file
        .query_row("SELECT store, key, value FROM spin_key_value", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(
        row,
        ("default".to_owned(), "key".to_owned(), b"value".to_vec())
    );
    let settings = ["journal_mode", "synchronous"].map(|name| {
        file.query_row(&format!("PRAGMA {name}"), [], |row| {
            row.get::<_, rusqlite::types::Value>(0)
        })
        .unwrap()
    });
    assert_eq!(
        settings,
        [rusqlite::types::Value::Text("delete".to_owned()), 2.into()],
        "SQLite's defaults"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_gets_its_journal_and_keeps_it_with_all_that_is_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let journal = || -> String {
        let file = rusqlite::Connection::open(directory.path().join(FILE_NAME)).unwrap();
        file.pragma_query_value(None, "journal_mode", |row| row.get(0))
            .unwrap()
    };
    for wanted in [Journal::Wal, Journal::Wal, Journal::Delete] {
        prepare(directory.path(), wanted).unwrap();
        let store = open(directory.path()).await;
        store.set(wanted.name(), b"value").await.unwrap();
        drop(store);
        assert_eq!(journal(), wanted.name());
    }
    let keys = open(directory.path()).await.keys().await.unwrap();
    assert_eq!(keys, ["delete", "wal"], "in the order of the index");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_somebody_else_uses_keeps_its_journal() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path())
        .await
        .set("key", b"value")
        .await
        .unwrap();
    let other = rusqlite::Connection::open(directory.path().join(FILE_NAME)).unwrap();
    other
        .execute_batch("BEGIN; SELECT * FROM spin_key_value")
        .unwrap();
    prepare(directory.path(), Journal::Wal).unwrap_err();
    other.execute_batch("COMMIT").unwrap();
    prepare(directory.path(), Journal::Wal).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn single_keys_can_be_read_written_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    assert_eq!(store.get("a").await.unwrap(), None);
    store.set("a", b"1").await.unwrap();
    store.set("a", b"2").await.unwrap();
    assert_eq!(store.get("a").await.unwrap().unwrap(), b"2");
    assert!(store.exists("a").await.unwrap());
    store.delete("a").await.unwrap();
    store.delete("a").await.unwrap();
    assert!(!store.exists("a").await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn several_keys_at_once_leave_absent_ones_out() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let pairs = [("a", "1"), ("b", "2"), ("c", "3")];
    store
        .set_many(
            pairs
                .map(|(key, value)| (key.to_owned(), value.into()))
                .to_vec(),
        )
        .await
        .unwrap();
    store
        .delete_many(vec!["c".to_owned(), "absent".to_owned()])
        .await
        .unwrap();

    let mut found = store
        .get_many(["a", "b", "c", "absent"].map(str::to_owned).to_vec())
        .await
        .unwrap();
    found.sort();
    assert_eq!(
        found,
        [
            ("a".to_owned(), Some(b"1".to_vec())),
            ("b".to_owned(), Some(b"2".to_vec()))
        ]
    );
    let mut keys = store.keys().await.unwrap();
    keys.sort();
    assert_eq!(keys, ["a", "b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_streamed_to_their_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_of_a_value_that_was_read_is_a_correct_compare() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    store.set("key", b"old").await.unwrap();
    let (first, _) = reading(&store, "key").await;
    let (second, seen) = reading(&store, "key").await;
    assert_eq!(seen.unwrap(), b"old");

    first.swap(b"first".to_vec()).await.unwrap();
    assert_eq!(
        second.swap(b"second".to_vec()).await,
        Err(SwapError::CasFailed)
    );
    assert_eq!(store.get("key").await.unwrap().unwrap(), b"first");

    // Compared is the value, not whether it was written in between.
    let (third, _) = reading(&store, "key").await;
    store.set("key", b"other").await.unwrap();
    store.set("key", b"first").await.unwrap();
    third.swap(b"third".to_vec()).await.unwrap();

    // A key that has gone is not the value that was read.
    let (fourth, _) = reading(&store, "key").await;
    store.delete("key").await.unwrap();
    assert_eq!(
        fourth.swap(b"fourth".to_vec()).await,
        Err(SwapError::CasFailed)
    );
    assert_eq!(store.get("key").await.unwrap(), None);
}

/// S1: the faulty exclusive creation.
#[tokio::test(flavor = "multi_thread")]
async fn two_handles_that_saw_no_value_both_win() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let (first, seen_by_first) = reading(&store, "key").await;
    let (second, seen_by_second) = reading(&store, "key").await;
    assert_eq!((seen_by_first, seen_by_second), (None, None));

    first.swap(b"first".to_vec()).await.unwrap();
    second.swap(b"second".to_vec()).await.unwrap();
    assert_eq!(store.get("key").await.unwrap().unwrap(), b"second");
}

/// S3: the unconditional swap.
#[tokio::test(flavor = "multi_thread")]
async fn a_swap_without_having_read_overwrites() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    store.set("key", b"old").await.unwrap();
    let cas = store.compare_and_swap("key").await.unwrap();
    cas.swap(b"new".to_vec()).await.unwrap();
    assert_eq!(store.get("key").await.unwrap().unwrap(), b"new");
}

/// The half of S4 that is a promise.
#[tokio::test(flavor = "multi_thread")]
async fn an_increment_creates_and_changes_eight_little_endian_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    assert_eq!(store.increment("key", 0).await.unwrap(), 0);
    assert_eq!(store.get("key").await.unwrap().unwrap(), [0; 8]);
    assert_eq!(store.increment("key", 258).await.unwrap(), 258);
    assert_eq!(
        store.get("key").await.unwrap().unwrap(),
        [2, 1, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(store.increment("key", -259).await.unwrap(), -1);
}

/// S4: the increment that breaks the store.
#[tokio::test(flavor = "multi_thread")]
async fn an_increment_of_anything_else_breaks_the_store_until_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    store.set("document", b"{}").await.unwrap();

    let broken = store.clone();
    assert!(
        panics(async move { broken.increment("document", 1).await }).await,
        "a document is no counter"
    );
    let broken = store.clone();
    assert!(
        panics(async move { broken.get("other").await }).await,
        "every later call panics too"
    );
    assert!(panics(async move { store.set("other", b"x").await }).await);

    let restarted = open(directory.path()).await;
    assert_eq!(restarted.get("document").await.unwrap().unwrap(), b"{}");
    assert_eq!(restarted.get("other").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_opened_is_an_error_of_that_call_and_is_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    let stores = SqliteStores::new(&state);
    let StoreError(message) = stores.open("default").await.err().unwrap();
    assert!(message.contains("CannotOpen"), "{message}");

    std::fs::create_dir(&state).unwrap();
    let store = stores.open("default").await.unwrap();
    store.set("key", b"value").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_database_in_a_swap_is_an_error_of_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    store.set("key", b"old").await.unwrap();
    let (cas, _) = reading(&store, "key").await;
    let other = rusqlite::Connection::open(directory.path().join(FILE_NAME)).unwrap();
    other.execute("DROP TABLE spin_key_value", []).unwrap();

    let Err(SwapError::Store(StoreError(message))) = cas.swap(b"new".to_vec()).await else {
        panic!("a missing table is not a lost swap");
    };
    assert!(message.contains("no such table"), "{message}");
}

/// The driver waits for 5 s, with the lock held; then it is an error of the store.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_another_process_has_locked_is_an_error_until_it_is_free() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).await;
    let (cas, _) = reading(&store, "key").await;
    let other = rusqlite::Connection::open(directory.path().join(FILE_NAME)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let before = Instant::now();
    let StoreError(message) = store.set("key", b"value").await.unwrap_err();
    assert!(message.contains("DatabaseBusy"), "{message}");
    assert!(before.elapsed() >= Duration::from_secs(5));
    assert_eq!(
        store.get("key").await.unwrap(),
        None,
        "reading is still possible"
    );

    other.execute_batch("ROLLBACK").unwrap();
    cas.swap(b"value".to_vec()).await.unwrap();
}

/// Whether a call panics, as it would under a guest's request.
async fn panics<T: Send + 'static>(call: impl Future<Output = T> + Send + 'static) -> bool {
    tokio::spawn(call)
        .await
        .is_err_and(|error| error.is_panic())
}
