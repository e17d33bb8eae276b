//! The file of Spin's key-value store, before Spin opens it: its journal, and who else uses it.
//!
//! Spin leaves the journal as it finds it, and a file remembers its journal. With a write-ahead log a change waits for
//! the disk once instead of several times, and is as durable. Nor does Spin look whether it is alone, and the file is for
//! one process: so whoever uses it shares a lock beside it, and who can have that lock alone is alone. Our own host sees
//! to both by itself, with the same lock (`tools/host/src/sole.rs`).

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::process;
use crate::workspace::Workspace;

/// Where Spin keeps its state unless told otherwise, beside the manifest.
const STATE_DIR: &str = ".spin";

/// The file in it, and the lock beside that.
const FILE: &str = "sqlite_key_value.db";
const LOCK: &str = "sqlite_key_value.db.lock";

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
    let claim = claim(&directory);
    match &claim {
        Ok((true, _)) => {}
        Ok((false, _)) => eprintln!(
            "warning: another process uses {}. SQLite is for one process: with two, each waits for the other, and what \
             waits too long is answered 503. Several processes can share a Redis: deploy/STORES.md",
            file.display()
        ),
        Err(error) => eprintln!(
            "nobody knows whether another process uses {}: {error}",
            file.display()
        ),
    }
    let mut sqlite = workspace.command("sqlite3");
    sqlite.arg(&file).arg(PREPARE);
    if process::answer(sqlite).is_none_or(|answer| answer.trim() != "wal") {
        eprintln!(
            "Writes are slower than they could be: the program sqlite3 could not give {} a write-ahead log.",
            file.display()
        );
    }
    Some(claim.ok()?.1)
}

/// Where Spin will keep its state.
fn directory(workspace: &Workspace, state_dir: Option<&Path>) -> PathBuf {
    // The name was typed where we were started, and not where Spin will be.
    match state_dir.map(std::path::absolute) {
        Some(Ok(directory)) => directory,
        Some(Err(_)) | None => workspace.root.join(STATE_DIR),
    }
}

/// Takes a share in the lock of this state directory, and tells whether nobody else has one.
fn claim(directory: &Path) -> io::Result<(bool, File)> {
    let lock = File::create(directory.join(LOCK))?;
    // First a share: of two that start at once, at least one then sees the other.
    lock.lock_shared()?;
    let is_sole = match lock.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(error)) => return Err(error),
    };
    lock.lock_shared()?;
    Ok((is_sole, lock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;
    use std::process::{Command, Stdio};

    #[test]
    fn a_claim_is_seen_by_others_and_held_by_the_server_that_is_given_it() {
        let name = format!("reprise-xtask-claim-{}", std::process::id());
        let directory = env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        let (is_sole, first) = claim(&directory).unwrap();
        let (is_second_sole, second) = claim(&directory).unwrap();
        drop(second);
        // A server has it as its input, which it does not read, and ends without saying so.
        let mut server = {
            let mut command = Command::new("sleep");
            command.arg("60").stdin(Stdio::from(first));
            command.spawn().unwrap()
        };
        let (is_beside_server, third) = claim(&directory).unwrap();
        drop(third);
        server.kill().unwrap();
        server.wait().unwrap();
        let (is_sole_again, _last) = claim(&directory).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(
            [is_sole, is_second_sole, is_beside_server, is_sole_again],
            [true, false, false, true]
        );
    }
}
