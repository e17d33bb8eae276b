//! Whether this process is the only one that uses the store's file.
//!
//! The SQLite store is for one process. Two lose nothing, because the file's own locks hold, but each waits for the other,
//! and what waits too long fails. Nothing in the file says that it is in use, so there is a lock beside it, which all that
//! use the file share: whoever can have it alone is alone. Our host takes it, and so does `cargo xtask up` for a Spin that
//! it starts; a Spin that was started otherwise is not noticed.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// What is added to the name of the store's file.
const SUFFIX: &str = ".lock";

/// A process's share in the lock.
#[derive(Debug)]
struct Claim {
    /// Whether nobody else had one.
    is_sole: bool,
    /// Locked as long as it is open.
    lock: File,
}

/// Claims the store's file.
fn claim(file: &Path) -> io::Result<Claim> {
    let mut name = OsString::from(file);
    name.push(SUFFIX);
    let lock = File::create(name)?;
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
pub fn claim_or_warn(file: &Path) -> Option<File> {
    let name = file.display();
    let claim = claim(file)
        .inspect_err(|error| eprintln!("nobody knows whether another process uses {name}: {error}"))
        .ok()?;
    if !claim.is_sole {
        eprintln!(
            "warning: another process uses {name}. SQLite is for one process: with two, each waits for the other, and what \
             waits too long is answered 503. Several processes can share a Redis: deploy/STORES.md"
        );
    }
    Some(claim.lock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::{env, fs};

    #[test]
    fn a_claim_is_seen_by_others_and_held_by_the_server_that_is_given_it() {
        let name = format!("reprise-locks-claim-{}", std::process::id());
        let directory = env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        let file = directory.join("store.db");
        let first = claim(&file).unwrap();
        let second = claim(&file).unwrap();
        drop(second.lock);
        // A server has it as its input, which it does not read, and ends without saying so.
        let mut server = {
            let mut command = Command::new("sleep");
            command.arg("60").stdin(Stdio::from(first.lock));
            command.spawn().unwrap()
        };
        let beside_server = claim(&file).unwrap();
        drop(beside_server.lock);
        server.kill().unwrap();
        server.wait().unwrap();
        let again = claim(&file).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(
            [
                first.is_sole,
                second.is_sole,
                beside_server.is_sole,
                again.is_sole
            ],
            [true, false, false, true]
        );
    }
}
