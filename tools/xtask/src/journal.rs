//! Gives the file of Spin's key-value store a write-ahead log before Spin opens it.
//!
//! Spin leaves the journal as it finds it, and a file remembers its journal. With a write-ahead log a change waits for
//! the disk once instead of several times, and is as durable. Our own host sees to it by itself.

use std::ffi::OsString;
use std::path::Path;

use crate::process;
use crate::workspace::Workspace;

/// Where Spin keeps its state unless told otherwise, beside the manifest.
const STATE_DIR: &str = ".spin";

/// The file in it.
const FILE: &str = "sqlite_key_value.db";

/// The table is Spin's own: a file without any would not remember its journal.
const PREPARE: &str = "PRAGMA journal_mode = wal; CREATE TABLE IF NOT EXISTS spin_key_value \
    (store TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (store, key));";

/// Prepares the file, or says why it stays as it is: Spin runs either way, and only slower.
///
/// With a runtime configuration the store may be another one, and is whoever's who wrote it.
pub(crate) fn prepare(workspace: &Workspace, state_dir: Option<&Path>, passed_on: &[OsString]) {
    if passed_on
        .iter()
        .any(|word| word.to_string_lossy().starts_with("--runtime-config-file"))
    {
        return;
    }
    // The name was typed where we were started, and not where Spin will be.
    let directory = match state_dir.map(std::path::absolute) {
        Some(Ok(directory)) => directory,
        Some(Err(_)) | None => workspace.root.join(STATE_DIR),
    };
    let file = directory.join(FILE);
    let mut sqlite = workspace.command("sqlite3");
    sqlite.arg(&file).arg(PREPARE);
    let is_prepared = std::fs::create_dir_all(&directory).is_ok()
        && process::answer(sqlite).is_some_and(|answer| answer.trim() == "wal");
    if !is_prepared {
        eprintln!(
            "Writes are slower than they could be: the program sqlite3 could not give {} a write-ahead log.",
            file.display()
        );
    }
}
