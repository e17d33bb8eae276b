//! The demo's folder: the application that it serves, the state and the log. It is gone when the demo is.
//!
//! It lies in the target directory, and not among the temporary ones: Ctrl-C ends the demo in the middle, and what that
//! leaves is found and removed by the next one. A lock tells it from the folder of a demo that is being played.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// More demos than anybody plays at once.
const FOLDERS_MAX: u32 = 64;

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Locked as long as it is open.
    lock: File,
}

impl Folder {
    /// Makes a folder for this demo below the directory `demos`, and removes those that nobody has any more.
    pub(crate) fn create(demos: &Path) -> Result<Self> {
        fs::create_dir_all(demos).with_context(|| demos.display().to_string())?;
        let mut own = None;
        for number in 0..FOLDERS_MAX {
            let path = demos.join(number.to_string());
            // Behind the own one, only those are looked at that somebody has made.
            if own.is_some() && !path.exists() {
                break;
            }
            let found = Self::at(&path).with_context(|| path.display().to_string())?;
            own = own.or(found);
        }
        let Some(own) = own else {
            bail!(
                "{FOLDERS_MAX} demos are being played in {}",
                demos.display()
            );
        };
        fs::create_dir(&own.path).with_context(|| own.path.display().to_string())?;
        Ok(own)
    }

    /// Takes this path, if nobody has it, and removes what is there.
    fn at(path: &Path) -> std::io::Result<Option<Self>> {
        let lock = File::create(path.with_extension("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if path.exists() {
            fs::remove_dir_all(path)?;
        }
        let path = path.to_owned();
        Ok(Some(Self { path, lock }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next demo.
        let _ = fs::remove_dir_all(&self.path);
        // It would go by itself, but must not go before.
        let _ = self.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;

    #[test]
    fn what_a_demo_left_is_removed_by_the_next_one_and_what_one_has_is_not() {
        let name = format!("reprise-xtask-demo-{}", std::process::id());
        let demos = env::temp_dir().join(name);
        let [left, kept] = [(); 2].map(|()| Folder::create(&demos).unwrap());
        fs::write(left.path().join("log"), "x").unwrap();
        fs::write(kept.path().join("log"), "x").unwrap();
        // As Ctrl-C does: the lock goes, the folder stays.
        left.lock.unlock().unwrap();
        let next = Folder::create(&demos).unwrap();
        let found = [
            next.path() == left.path(),
            next.path().join("log").exists(),
            kept.path().join("log").exists(),
        ];
        let path = next.path().to_owned();
        drop(next);
        let is_left = path.exists();
        fs::remove_dir_all(&demos).unwrap();
        assert_eq!((found, is_left), ([true, false, true], false));
    }
}
