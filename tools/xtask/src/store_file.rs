//! The file of Spin's key-value store, before Spin opens it: its journal, and who else uses it.
//!
//! Spin leaves the journal as it finds it, and a file remembers its journal. With a write-ahead log a change waits for
//! the disk once instead of several times, and is as durable. Nor does Spin look whether it is alone, and the file is for
//! one process: so whoever uses it shares a lock beside it, and who can have that lock alone is alone. Our own host sees
//! to both by itself, with the same lock.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use reprise_locks::sole;

use crate::process;
use crate::workspace::Workspace;

/// Where Spin keeps its state unless told otherwise, beside the manifest.
const STATE_DIR: &str = ".spin";

/// The file in it.
const FILE: &str = "sqlite_key_value.db";

/// The table is Spin's own: a file without any would not remember its journal.
const PREPARE: &str = "PRAGMA journal_mode = wal; CREATE TABLE IF NOT EXISTS spin_key_value \
    (store TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (store, key));";

/// Prepares the file and claims it, or says why not: Spin runs either way. What it gives has to stay open as long as Spin
/// runs, and holds the claim.
///
/// With a runtime configuration the store may be another one, and is whoever's who wrote it.
pub(crate) fn prepare(
    workspace: &Workspace,
    state_dir: Option<&Path>,
    passed_on: &[OsString],
) -> Option<File> {
    let is_elsewhere =
        |word: &OsString| word.to_string_lossy().starts_with("--runtime-config-file");
    if passed_on.iter().any(is_elsewhere) {
        return None;
    }
    let directory = directory(workspace, state_dir);
    let file = directory.join(FILE);
    // Should it fail, so does what follows.
    let _ = fs::create_dir_all(&directory);
    let claim = sole::claim_or_warn(&file);
    let mut sqlite = workspace.command("sqlite3");
    sqlite.arg(&file).arg(PREPARE);
    if process::answer(sqlite).is_none_or(|answer| answer.trim() != "wal") {
        eprintln!(
            "Writes are slower than they could be: the program sqlite3 could not give {} a write-ahead log.",
            file.display()
        );
    }
    claim
}

/// Where Spin will keep its state.
fn directory(workspace: &Workspace, state_dir: Option<&Path>) -> PathBuf {
    // The name was typed where we were started, and not where Spin will be.
    match state_dir.map(std::path::absolute) {
        Some(Ok(directory)) => directory,
        Some(Err(_)) | None => workspace.root.join(STATE_DIR),
    }
}
