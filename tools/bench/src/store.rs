//! The SQLite files that the services start from: filled once, copied for each repetition.
//!
//! A store that was in use has all its buckets' words and many records, and costs less to write to than one that is
//! new. Reprise and the bare component get the same file. The native twin gets the same orders in its own table.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use reprise_e2e::fill::{self, Filling};
use rusqlite::Connection;
use uuid::Uuid;

use crate::twin;

/// The file's name in a state directory, for Spin and our host.
pub(crate) const KEY_VALUE: &str = "sqlite_key_value.db";

/// How many of the live records are asked for: all services can be given so many in a moment.
const ASKED_FOR: u64 = 1_000;
/// A step through the numbers that visits them in no order, and never the same twice.
const STRIDE: u64 = 7_919;
/// Where a node has the leading bits of its record's identity, which are its bucket.
const IDENTITY: std::ops::Range<usize> = 72..76;

/// SQLite's way to make a transaction last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Journal {
    /// A log beside the file.
    Wal,
    /// SQLite's default: what is overwritten is kept aside until the transaction is done.
    Delete,
}

impl Journal {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
        }
    }

    /// Has the file written in this way from now on.
    fn set(self, connection: &Connection) -> Result<()> {
        let mode: String =
            connection
                .pragma_update_and_check(None, "journal_mode", self.name(), |row| row.get(0))?;
        ensure!(mode == self.name(), "SQLite keeps to journal mode {mode}");
        Ok(())
    }
}

/// Files to start from.
#[derive(Debug)]
pub(crate) struct Stores {
    /// Of Reprise and the bare component, filled.
    pub(crate) used: PathBuf,
    /// The same, empty but for Spin's table.
    pub(crate) new: PathBuf,
    /// Of the native twin, filled.
    pub(crate) twin_used: PathBuf,
    /// The same, empty.
    pub(crate) twin_new: PathBuf,
    /// The live records that are asked for: key, id, bucket and pointer.
    pub(crate) live: PathBuf,
    /// Their keys.
    pub(crate) live_keys: Vec<String>,
}

impl Stores {
    /// Makes the files in this folder, with so many live orders.
    pub(crate) fn prepare(folder: &Path, live: u64, journal: Journal) -> Result<Self> {
        let path = |name: &str| folder.join(name);
        let stores = Self {
            used: path("used.db"),
            new: path("new.db"),
            twin_used: path("twin-used.db"),
            twin_new: path("twin-new.db"),
            live: path("live.txt"),
            live_keys: asked_for(live).map(fill::key).collect(),
        };
        let ids = fill_used(&stores.used, live, journal)?;
        let connection = Connection::open(&stores.new)?;
        connection.execute_batch(
            "CREATE TABLE spin_key_value
             (store TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (store, key))",
        )?;
        journal.set(&connection)?;
        write_live(&stores.live, &stores.used, &ids)?;
        for (file, ids) in [(&stores.twin_used, &ids[..]), (&stores.twin_new, &[])] {
            let mut connection = Connection::open(file)?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            twin::table::create(&connection)?;
            twin::table::fill(&mut connection, ids)?;
            journal.set(&connection)?;
        }
        Ok(stores)
    }
}

/// Fills a store with so many live orders, and tells their ids.
pub(crate) fn fill_used(file: &Path, live: u64, journal: Journal) -> Result<Vec<Uuid>> {
    let ids = fill::fill(file, Filling::Orders, 0..live);
    fill::create_words(file);
    journal.set(&Connection::open(file)?)?;
    Ok(ids)
}

/// A copy of a store's file, as `name` in a folder of its own.
pub(crate) fn copy(file: &Path, folder: &Path, name: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    // What an earlier service has left would be taken for this file's.
    for left in [
        format!("{name}-wal"),
        format!("{name}-shm"),
        format!("{name}-journal"),
    ] {
        match fs::remove_file(folder.join(left)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    fs::copy(file, folder.join(name)).with_context(|| file.display().to_string())?;
    // Not the next cell's to pay for.
    fs::File::open(folder.join(name))?.sync_all()?;
    Ok(())
}

/// The numbers of the records that are asked for.
fn asked_for(live: u64) -> impl Iterator<Item = u64> {
    (0..ASKED_FOR.min(live)).map(move |step| step * STRIDE % live)
}

/// Writes down which of the orders in a store are asked for: key, id, bucket and pointer of each.
pub(crate) fn write_live(list: &Path, store: &Path, ids: &[Uuid]) -> Result<()> {
    fs::write(list, lines(store, ids)?).with_context(|| list.display().to_string())
}

fn lines(file: &Path, ids: &[Uuid]) -> Result<String> {
    let connection = Connection::open(file)?;
    let mut lines = String::new();
    for number in asked_for(ids.len() as u64) {
        let id = ids[usize::try_from(number)?];
        let pointer = pointer(id);
        let node: Vec<u8> = connection.query_row(
            "SELECT value FROM spin_key_value WHERE store = 'default' AND key = ?1",
            [format!("n/{pointer:016x}")],
            |row| row.get(0),
        )?;
        let identity = node.get(IDENTITY).and_then(|bits| bits.try_into().ok());
        let bucket = u32::from_be_bytes(identity.context("a node ends before its identity")?) >> 18;
        let key = fill::key(number);
        writeln!(lines, "{key} {id} {bucket:05x} {pointer:016x}")?;
    }
    Ok(lines)
}

/// Where a record is kept: the low bits of its id.
fn pointer(id: Uuid) -> u64 {
    let (_, low) = id.as_u64_pair();
    low & ((1 << 62) - 1)
}
