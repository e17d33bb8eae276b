//! Whether this process is the only one that uses the store's file.
//!
//! The SQLite store is for one process. Two lose nothing, because the file's own locks hold, but each waits for the other,
//! and what waits too long fails. Nothing in the file says that it is in use, so there is a lock beside it, which all that
//! use the file share: whoever can have it alone is alone. It ends with the process however that ends. `cargo xtask up`
//! holds the same lock for a Spin that it starts; a Spin that was started otherwise is not noticed.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use crate::kv::sqlite_store::FILE_NAME;

/// What is added to the name of the store's file.
const SUFFIX: &str = ".lock";

/// A process's share in the lock.
#[derive(Debug)]
pub struct Claim {
    /// Whether nobody else had one.
    pub is_sole: bool,
    /// Locked as long as it is open.
    pub lock: File,
}

/// Claims the store's file in this state directory.
pub fn claim(state_directory: &Path) -> io::Result<Claim> {
    let lock = File::create(state_directory.join(format!("{FILE_NAME}{SUFFIX}")))?;
    // First a share: of two that start at once, at least one then sees the other. Nobody has the lock alone for longer
    // than this takes.
    lock.lock_shared()?;
    let is_sole = match lock.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(error)) => return Err(error),
    };
    lock.lock_shared()?;
    Ok(Claim { is_sole, lock })
}

/// Claims the store's file, and says so when it is shared. Gives what has to be kept while the file is used.
#[must_use]
pub fn claim_or_warn(state_directory: &Path) -> Option<File> {
    let file = state_directory.join(FILE_NAME);
    let file = file.display();
    let claim = claim(state_directory)
        .inspect_err(|error| eprintln!("nobody knows whether another process uses {file}: {error}"))
        .ok()?;
    if !claim.is_sole {
        eprintln!(
            "warning: another process uses {file}. SQLite is for one process: with two, each waits for the other, and what \
             waits too long is answered 503. Several processes can share a Redis: deploy/STORES.md"
        );
    }
    Some(claim.lock)
}
