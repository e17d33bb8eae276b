//! Fills a store's file with tasks, by the product's own code.

use reprise::config::Draft;
use reprise::driver::entropy::Entropy;
use reprise::driver::kv::{Kv, KvError, SwapError};
use reprise::shell::app::{App, Setup, World};
use reprise::shell::outgoing::{CallLimits, Called, Outgoing};
use reprise::shell::request::{Invocation, RequestBody};
use reprise_e2e::now;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use ureq::http::Request;

/// The text of every task.
pub(crate) const TEXT: &str = "a short text";

/// The Idempotency-Key of a task.
pub(crate) fn key(number: u64) -> String {
    format!("key-{number}")
}

/// Creates the tasks with these numbers.
pub(crate) fn fill(file: &Path, numbers: Range<u64>) {
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
    for number in numbers {
        let body = format!("{{\"text\":\"{TEXT}\"}}").into_bytes();
        let request = Request::post("/tasks")
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
            kv: File(&connection),
            outgoing: NoWayOut,
            clock: now,
        };
        let body = RequestBody::Whole(body);
        let answer = pin!(app.answer(app.admit(&head), &head, &body, world, invocation));
        let Poll::Ready(reply) = answer.poll(&mut Context::from_waker(Waker::noop())) else {
            unreachable!("nothing here waits")
        };
        assert_eq!(reply.status(), 201, "{number}: {reply:?}");
    }
    connection.execute_batch("COMMIT").expect("there is room");
}

/// The product's own configuration, with the values that its manifest gives the variables.
fn setup() -> Setup {
    let text = include_str!("../../../../../reprise.toml");
    let draft = Draft::parse(text).expect("the configuration is sound");
    let manifest = include_str!("../../../../../spin.toml");
    let default = |name: &str| {
        if name == "events_url" {
            // The manifest makes it of two others. Tasks have no events.
            return Some("http://localhost".to_owned());
        }
        let line = manifest
            .lines()
            .find(|line| line.starts_with(&format!("{name} = {{ default = ")))?;
        line.split('"').nth(1).map(str::to_owned)
    };
    Setup {
        config: draft.settle(default).expect("the configuration is sound"),
        openapi: String::new(),
        page: |_| Err("nobody looks".to_owned()),
    }
}

/// Tasks call nobody.
struct NoWayOut;

impl Outgoing for NoWayOut {
    async fn call(&self, request: Request<Vec<u8>>, _: CallLimits) -> Called {
        unreachable!("a task calls {}", request.uri())
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
