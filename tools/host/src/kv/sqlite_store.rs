//! The default store: one SQLite file, one table, one connection behind one lock.
//!
//! Everything about it is Spin's: the table, so that either program continues the other's state; the one lock, held
//! through each transaction; the default synchronous mode and the driver's busy timeout of 5 s. The journal is the one
//! that the file has; a file remembers it, so it can be prepared for either program with [`prepare`]. Spin's are also
//! three faults:
//!
//! - a swap whose `current` saw no value, or which was never preceded by one, overwrites whatever is there;
//! - an increment of a value that is not 8 bytes panics, and the poisoned lock makes every later call panic too, until
//!   the process is restarted;
//! - `get_many` leaves absent keys out instead of answering none for them.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use async_trait::async_trait;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, named_params, params};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{block_in_place, spawn_blocking};

use super::{Cas, KeyStream, ResultSize, Store, StoreError, Stores, SwapError};

/// The file's name in the state directory.
pub const FILE_NAME: &str = "sqlite_key_value.db";

/// How many key names wait to be read by a guest; until it has read the rest, the lock is held.
const KEY_STREAM_BUFFER: usize = 4;

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS spin_key_value \
    (store TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (store, key))";
const SELECT: &str = "SELECT value FROM spin_key_value WHERE store = ?1 AND key = ?2";
const SELECT_KEYS: &str = "SELECT key FROM spin_key_value WHERE store = ?1";
const SELECT_MANY: &str =
    "SELECT key, value FROM spin_key_value WHERE store = :store AND key IN rarray(:keys)";
const UPSERT: &str = "INSERT INTO spin_key_value (store, key, value) VALUES (?1, ?2, ?3) \
    ON CONFLICT (store, key) DO UPDATE SET value = ?3";
const UPDATE_IF: &str =
    "UPDATE spin_key_value SET value = :new WHERE store = :store AND key = :key AND value = :old";
const DELETE: &str = "DELETE FROM spin_key_value WHERE store = ?1 AND key = ?2";
const DELETE_MANY: &str =
    "DELETE FROM spin_key_value WHERE store = :store AND key IN rarray(:keys)";

/// How the file keeps a change until it is part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// In a log beside the file, which makes a change one wait for the disk. As durable as the other one.
    Wal,
    /// In a file that is made and deleted for each change: several waits for the disk. What a new file has by itself.
    Delete,
}

impl Journal {
    /// The name that the journal has in SQLite.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
        }
    }
}

/// Gives the file in this state directory its journal, and makes the file if there is none.
///
/// Fails when the file is none of SQLite's or cannot be written, and when somebody else has it open and would have to
/// be kept out for the change.
pub fn prepare(state_directory: &Path, journal: Journal) -> anyhow::Result<()> {
    let connection = Connection::open(state_directory.join(FILE_NAME))?;
    let wanted = journal.name();
    let settled: String =
        connection.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0))?;
    anyhow::ensure!(settled == wanted, "SQLite keeps the journal {settled}");
    // A new file that nothing was written to would forget it.
    connection.execute(CREATE_TABLE, [])?;
    Ok(())
}

/// All stores in one file.
pub struct SqliteStores {
    path: PathBuf,
    connection: OnceLock<Shared>,
}

/// The connection that everybody shares.
#[derive(Clone)]
struct Shared(Arc<Mutex<Connection>>);

/// One store: the rows that bear its name.
struct SqliteStore {
    name: String,
    connection: Shared,
}

/// One conditional write.
struct SqliteCas {
    store: String,
    key: String,
    connection: Shared,
    /// What `current` saw last; none also if it was never called.
    seen: Mutex<Option<Vec<u8>>>,
}

impl SqliteStores {
    /// The stores in the file of this state directory, which is opened on first use.
    #[must_use]
    pub fn new(state_directory: &Path) -> Self {
        Self {
            path: state_directory.join(FILE_NAME),
            connection: OnceLock::new(),
        }
    }

    fn connect(&self) -> rusqlite::Result<Shared> {
        let connection = Connection::open(&self.path)?;
        connection.execute(CREATE_TABLE, [])?;
        rusqlite::vtab::array::load_module(&connection)?;
        Ok(Shared(Arc::new(Mutex::new(connection))))
    }
}

#[async_trait]
impl Stores for SqliteStores {
    async fn open(&self, name: &str) -> Result<Arc<dyn Store>, StoreError> {
        let connection = block_in_place(|| match self.connection.get() {
            Some(connection) => Ok(connection.clone()),
            // Two first uses may both connect; one of the connections is kept.
            None => self
                .connect()
                .map(|new| self.connection.get_or_init(|| new).clone()),
        });
        let connection = connection.map_err(StoreError::from_driver)?;
        Ok(Arc::new(SqliteStore {
            name: name.to_owned(),
            connection,
        }))
    }
}

impl Shared {
    /// Takes the lock. It blocks the thread, so callers are inside `block_in_place`.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0
            .lock()
            .expect("as in Spin, a panic under the lock breaks the store until a restart")
    }

    /// Runs one piece of work under the lock.
    fn run<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        block_in_place(|| work(&mut self.lock())).map_err(StoreError::from_driver)
    }
}

fn select(connection: &Connection, store: &str, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached(SELECT)?
        .query_row([store, key], |row| row.get(0))
        .optional()
}

fn upsert(
    connection: &Connection,
    store: &str,
    key: &str,
    value: &[u8],
) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(UPSERT)?
        .execute(params![store, key, value])
}

/// A list of keys as `rarray` takes it.
fn array(keys: Vec<String>) -> Rc<Vec<Value>> {
    Rc::new(keys.into_iter().map(Value::from).collect())
}

#[async_trait]
impl Store for SqliteStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        ResultSize::check_value(
            self.connection
                .run(|connection| select(connection, &self.name, key))?,
        )
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        self.connection
            .run(|connection| upsert(connection, &self.name, key, value).map(drop))
    }

    async fn delete(&self, key: &str) -> Result<(), StoreError> {
        self.connection.run(|connection| {
            connection
                .prepare_cached(DELETE)?
                .execute([self.name.as_str(), key])
                .map(drop)
        })
    }

    async fn exists(&self, key: &str) -> Result<bool, StoreError> {
        Ok(self
            .connection
            .run(|connection| select(connection, &self.name, key))?
            .is_some())
    }

    async fn keys(&self) -> Result<Vec<String>, StoreError> {
        let keys: Vec<String> = self.connection.run(|connection| {
            connection
                .prepare_cached(SELECT_KEYS)?
                .query_map([&self.name], |row| row.get(0))?
                .collect()
        })?;
        let mut size = ResultSize::new(size_of::<Vec<String>>());
        for key in &keys {
            size.add(size_of::<String>() + key.len())?;
        }
        Ok(keys)
    }

    async fn stream_keys(&self) -> KeyStream {
        let (sender, keys) = mpsc::channel(KEY_STREAM_BUFFER);
        let (end_sender, end) = oneshot::channel();
        let (connection, name) = (self.connection.clone(), self.name.clone());
        spawn_blocking(move || {
            // A guest that stopped listening needs no answer.
            let _ = end_sender.send(send_keys(&connection.lock(), &name, &sender));
        });
        KeyStream { keys, end }
    }

    async fn get_many(
        &self,
        keys: Vec<String>,
    ) -> Result<Vec<(String, Option<Vec<u8>>)>, StoreError> {
        let found: Vec<(String, Option<Vec<u8>>)> = self.connection.run(|connection| {
            connection
                .prepare_cached(SELECT_MANY)?
                .query_map(
                    named_params! {":store": self.name, ":keys": array(keys)},
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )?
                .collect()
        })?;
        let mut size = ResultSize::new(size_of::<Vec<String>>());
        for (key, value) in &found {
            let bytes = key.len() + value.as_ref().map_or(0, Vec::len);
            size.add(size_of::<(String, Option<Vec<u8>>)>() + bytes)?;
        }
        Ok(found)
    }

    async fn set_many(&self, pairs: Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
        self.connection.run(|connection| {
            let transaction = connection.transaction()?;
            for (key, value) in &pairs {
                upsert(&transaction, &self.name, key, value)?;
            }
            transaction.commit()
        })
    }

    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.connection.run(|connection| {
            connection
                .prepare_cached(DELETE_MANY)?
                .execute(named_params! {":store": self.name, ":keys": array(keys)})
                .map(drop)
        })
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.connection.run(|connection| {
            let transaction = connection.transaction()?;
            let counter = match select(&transaction, &self.name, key)? {
                Some(value) => {
                    i64::from_le_bytes(value.try_into().expect("as in Spin, a counter is 8 bytes"))
                }
                None => 0,
            };
            let sum = counter.wrapping_add(delta);
            upsert(&transaction, &self.name, key, &sum.to_le_bytes())?;
            transaction.commit()?;
            Ok(sum)
        })
    }

    async fn compare_and_swap(&self, key: &str) -> Result<Arc<dyn Cas>, StoreError> {
        Ok(Arc::new(SqliteCas {
            store: self.name.clone(),
            key: key.to_owned(),
            connection: self.connection.clone(),
            seen: Mutex::new(None),
        }))
    }
}

/// Sends all key names, blocking while the guest has not read the earlier ones.
fn send_keys(
    connection: &Connection,
    store: &str,
    sender: &mpsc::Sender<String>,
) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare_cached(SELECT_KEYS)
        .map_err(StoreError::from_driver)?;
    let keys = statement
        .query_map([store], |row| row.get::<_, String>(0))
        .map_err(StoreError::from_driver)?;
    for key in keys {
        sender
            .blocking_send(key.map_err(StoreError::from_driver)?)
            .map_err(StoreError::from_driver)?;
    }
    Ok(())
}

#[async_trait]
impl Cas for SqliteCas {
    async fn current(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self
            .connection
            .run(|connection| select(connection, &self.store, &self.key))?;
        self.seen
            .lock()
            .expect("nothing panics under this lock")
            .clone_from(&value);
        ResultSize::check_value(value)
    }

    async fn swap(&self, value: Vec<u8>) -> Result<(), SwapError> {
        let seen = self
            .seen
            .lock()
            .expect("nothing panics under this lock")
            .clone();
        let changed = self.connection.run(|connection| match &seen {
            Some(old) => connection
                .prepare_cached(UPDATE_IF)?
                .execute(named_params! {
                    ":store": self.store, ":key": self.key, ":old": old, ":new": value,
                }),
            None => upsert(connection, &self.store, &self.key, &value),
        });
        match changed {
            Ok(1) => Ok(()),
            Ok(_) => Err(SwapError::CasFailed),
            Err(error) => Err(SwapError::Store(error)),
        }
    }
}
