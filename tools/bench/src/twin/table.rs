//! The twin's table: one row for an operation, whose key is unique.
//!
//! One connection behind one lock: SQLite has one writer at a time anyway, and a look takes microseconds.

use std::sync::{Mutex, PoisonError};

use reprise_e2e::fill::{self, Filling};
use reprise_e2e::now;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use uuid::Uuid;

/// An operation as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) id: Uuid,
    pub(crate) kind: &'static str,
    pub(crate) key: Option<String>,
    /// What a repeat must ask for too.
    pub(crate) request: String,
    pub(crate) created_at_ms: u64,
    /// The answer, once there is one.
    pub(crate) answer: Option<Answer>,
}

/// What was answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
}

/// Makes the table.
pub(crate) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE operations (
             id BLOB NOT NULL PRIMARY KEY, kind TEXT NOT NULL, key TEXT, request TEXT NOT NULL,
             created_at_ms INTEGER NOT NULL, status INTEGER, location TEXT, body TEXT,
             UNIQUE (kind, key)
         );",
    )
}

/// Fills the table with orders of these ids, under the keys that they have with Reprise.
pub(crate) fn fill(connection: &mut Connection, ids: &[Uuid]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for (number, id) in (0..).zip(ids) {
        insert(
            &transaction,
            &Operation {
                id: *id,
                kind: "orders",
                key: Some(fill::key(number)),
                request: "42 1".to_owned(),
                created_at_ms: now().as_unix_ms(),
                answer: Some(Answer {
                    status: 201,
                    location: None,
                    body: format!("{{\"id\":\"{id}\",{}", &Filling::Orders.body()[1..]),
                }),
            },
        )?;
    }
    transaction.commit()
}

const INSERT: &str =
    "INSERT INTO operations (id, kind, key, request, created_at_ms, status, location, body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING";

/// Inserts an operation unless its key is taken, and tells whether it did.
fn insert(connection: &Connection, new: &Operation) -> rusqlite::Result<bool> {
    let answer = new.answer.as_ref();
    let inserted = connection.prepare_cached(INSERT)?.execute(params![
        new.id.as_bytes(),
        new.kind,
        new.key,
        new.request,
        new.created_at_ms.cast_signed(),
        answer.map(|answer| answer.status),
        answer.and_then(|answer| answer.location.as_deref()),
        answer.map(|answer| &answer.body),
    ])?;
    Ok(inserted == 1)
}

/// The table, open.
#[derive(Debug)]
pub(crate) struct Table(pub(crate) Mutex<Connection>);

impl Table {
    /// Creates an operation, or gives the one that has its key.
    pub(crate) fn submit(&self, new: &Operation) -> rusqlite::Result<Option<Operation>> {
        self.run(|connection| {
            let known = |key: &str| {
                let sql = "SELECT id, request, created_at_ms, status, location, body
                           FROM operations WHERE kind = ?1 AND key = ?2";
                connection
                    .prepare_cached(sql)?
                    .query_row([new.kind, key], |row| read(row, new.kind))
                    .optional()
            };
            let Some(key) = &new.key else {
                return insert(connection, new).map(|_| None);
            };
            // A repeat is looked up before it is written, so that it need not wait for the disk.
            if let Some(known) = known(key)? {
                return Ok(Some(known));
            }
            if insert(connection, new)? {
                return Ok(None);
            }
            known(key)
        })
    }

    /// The operation with this id.
    pub(crate) fn find(&self, kind: &'static str, id: Uuid) -> rusqlite::Result<Option<Operation>> {
        let sql = "SELECT id, request, created_at_ms, status, location, body
                   FROM operations WHERE id = ?1 AND kind = ?2";
        self.run(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row(params![id.as_bytes(), kind], |row| read(row, kind))
                .optional()
        })
    }

    /// Notes what was answered.
    pub(crate) fn finish(&self, id: Uuid, answer: &Answer) -> rusqlite::Result<()> {
        let sql = "UPDATE operations SET status = ?2, location = ?3, body = ?4
                   WHERE id = ?1 AND status IS NULL";
        self.run(|connection| {
            let values = params![id.as_bytes(), answer.status, answer.location, answer.body];
            connection.prepare_cached(sql)?.execute(values).map(drop)
        })
    }

    /// Runs one piece of work, which blocks the thread.
    fn run<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        tokio::task::block_in_place(|| work(&self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(row: &Row<'_>, kind: &'static str) -> rusqlite::Result<Operation> {
    let status: Option<u16> = row.get(3)?;
    let answer = match status {
        Some(status) => Some(Answer {
            status,
            location: row.get(4)?,
            body: row.get(5)?,
        }),
        None => None,
    };
    Ok(Operation {
        id: Uuid::from_bytes(row.get(0)?),
        kind,
        key: None,
        request: row.get(1)?,
        created_at_ms: row.get::<_, i64>(2)?.cast_unsigned(),
        answer,
    })
}
