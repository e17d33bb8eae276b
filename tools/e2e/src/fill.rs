//! Fills a store's file with records, by the product's own code and without waiting for the disk.

use crate::now;
use reprise::config::Draft;
use reprise::driver::entropy::Entropy;
use reprise::driver::kv::{Kv, KvError, SwapError};
use reprise::driver::store::limits;
use reprise::shell::app::{App, Setup, World};
use reprise::shell::outgoing::{CallLimits, Called, Outgoing};
use reprise::shell::request::{Invocation, RequestBody};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::Value;
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use ureq::http::Request;
use uuid::Uuid;

/// What a store is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// Tasks, all of one text.
    Tasks,
    /// Orders of a configuration without their event, all alike.
    Orders,
}

/// What orders lose of the reference configuration when they are to be taken without an event.
pub const ORDERS_EVENT: &str =
    r#"events = [{ on = "done", type = "order.created", sink = "projection" }]"#;

impl Filling {
    /// Where they are posted.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Tasks => "/tasks",
            Self::Orders => "/orders",
        }
    }

    /// The body of each.
    #[must_use]
    pub const fn body(self) -> &'static str {
        match self {
            Self::Tasks => r#"{"text":"a short text"}"#,
            Self::Orders => r#"{"product_id":42,"quantity":1}"#,
        }
    }
}

/// The Idempotency-Key of a record.
#[must_use]
pub fn key(number: u64) -> String {
    format!("key-{number}")
}

/// Creates the records with these numbers, and tells their ids.
///
/// # Panics
/// When the file is none of a store, or cannot be written to.
pub fn fill(file: &Path, filling: Filling, numbers: Range<u64>) -> Vec<Uuid> {
    let connection = Connection::open(file).expect("the file can be opened");
    connection
        .execute_batch(
            "PRAGMA synchronous = OFF;
             CREATE TABLE IF NOT EXISTS spin_key_value (
                 store TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (store, key)
             );
             BEGIN;",
        )
        .expect("the file is a store's");
    let app = App::new(Ok(setup()));
    let ids = numbers
        .map(|number| create(&app, &connection, filling, number))
        .collect();
    connection.execute_batch("COMMIT").expect("there is room");
    ids
}

/// Creates one record, as a request would.
fn create(app: &App, connection: &Connection, filling: Filling, number: u64) -> Uuid {
    let request = Request::post(filling.path())
        .header("content-type", "application/json")
        .header("idempotency-key", key(number))
        .body(())
        .expect("a sound request");
    let (head, ()) = request.into_parts();
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let invocation = Invocation {
        now: now(),
        entropy: Entropy::from_seed(seed),
    };
    let world = World {
        kv: File(connection),
        outgoing: NoWayOut,
        clock: now,
        log: |_| {},
    };
    let body = RequestBody::Whole(filling.body().as_bytes().to_vec());
    let answer = pin!(app.answer(app.admit(&head), &head, body, world, invocation));
    let Poll::Ready(reply) = answer.poll(&mut Context::from_waker(Waker::noop())) else {
        unreachable!("nothing here waits")
    };
    assert_eq!(reply.status(), 201, "{number}: {reply:?}");
    let body: Value = serde_json::from_slice(&reply.body().0).expect("a record is JSON");
    let id = body["id"].as_str().and_then(|id| id.parse().ok());
    id.expect("a record has an id")
}

/// Creates every bucket's word that is not there, as a store that was in use for long has them all.
///
/// # Panics
/// When the file cannot be written to.
pub fn create_words(file: &Path) {
    let mut connection = Connection::open(file).expect("the file can be opened");
    let transaction = connection
        .transaction()
        .expect("the file can be written to");
    for bucket in 0..BUCKETS {
        transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO spin_key_value (store, key, value) VALUES ('default', ?1, zeroblob(8))",
            )
            .and_then(|mut statement| statement.execute([format!("w/b/{bucket:05x}")]))
            .expect("there is room");
    }
    transaction.commit().expect("there is room");
}

/// The buckets of the reference configuration.
const BUCKETS: u32 = 1 << limits::DEFAULT_BUCKET_BITS;

/// The product's own configuration, with the values that its manifest gives the variables.
fn setup() -> Setup {
    let text = include_str!("../../../reprise.toml").replace(ORDERS_EVENT, "");
    let draft = Draft::parse(&text).expect("the configuration is sound");
    let manifest = include_str!("../../../spin.toml");
    let default = |name: &str| {
        if name == "events_url" {
            // The manifest makes it of two others. No record here has events.
            return Some("http://localhost".to_owned());
        }
        let line = manifest
            .lines()
            .find(|line| line.starts_with(&format!("{name} = {{ default = ")))?;
        line.split('"').nth(1).map(str::to_owned)
    };
    Setup {
        config: draft.settle(default).expect("the configuration is sound"),
        file: |_| Err("nobody looks".to_owned()),
    }
}

/// No record here calls anybody.
struct NoWayOut;

impl Outgoing for NoWayOut {
    async fn call(&self, request: Request<Vec<u8>>, _: CallLimits) -> Called {
        unreachable!("a record calls {}", request.uri())
    }
}

/// The file of a store, with nobody else in it.
struct File<'a>(&'a Connection);

fn failed(error: impl std::fmt::Display) -> KvError {
    KvError(error.to_string())
}

impl Kv for File<'_> {
    /// The key, and what was read of it.
    type Cas = (String, RefCell<Option<Vec<u8>>>);

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        let sql = "SELECT value FROM spin_key_value WHERE store = 'default' AND key = ?1";
        let mut statement = self.0.prepare_cached(sql).map_err(failed)?;
        statement
            .query_row([key], |row| row.get(0))
            .optional()
            .map_err(failed)
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        let sql =
            "INSERT OR REPLACE INTO spin_key_value (store, key, value) VALUES ('default', ?1, ?2)";
        let mut statement = self.0.prepare_cached(sql).map_err(failed)?;
        statement
            .execute(params![key, value])
            .map(drop)
            .map_err(failed)
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        let sql = "DELETE FROM spin_key_value WHERE store = 'default' AND key = ?1";
        self.0.execute(sql, [key]).map(drop).map_err(failed)
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        let there = self
            .get(key)
            .await?
            .map(|value| <[u8; 8]>::try_from(value).map_err(|_| failed("no word")));
        let sum = i64::from_le_bytes(there.transpose()?.unwrap_or_default()) + delta;
        self.set(key, &sum.to_le_bytes()).await.map(|()| sum)
    }

    async fn cas(&self, key: &str) -> Result<Self::Cas, KvError> {
        Ok((key.to_owned(), RefCell::default()))
    }

    async fn current(&self, (key, seen): &Self::Cas) -> Result<Option<Vec<u8>>, KvError> {
        let value = self.get(key).await?;
        seen.borrow_mut().clone_from(&value);
        Ok(value)
    }

    async fn swap(&self, cas: Self::Cas, value: &[u8]) -> Result<(), SwapError<Self::Cas>> {
        let there = self.get(&cas.0).await.map_err(SwapError::Store)?;
        if there != *cas.1.borrow() {
            return Err(SwapError::CasFailed(cas));
        }
        self.set(&cas.0, value).await.map_err(SwapError::Store)
    }
}
