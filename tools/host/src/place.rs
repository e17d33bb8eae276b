//! A process's own place in the state directory: the copies of its guests' files.
//!
//! A state directory can have several processes, on Redis for instance, and what the guests of one read must not change
//! when another one starts. So each takes the first place whose lock is free, and keeps the lock. A lock belongs to an open
//! file and ends with the process however that ends: the next start finds the places of processes that were killed, and
//! empties them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The folder of all places in a state directory.
const PLACES: &str = "processes";

/// More processes than one state directory will ever have.
const PLACES_MAX: u32 = 256;

/// A place. Its files are removed with this value.
#[derive(Debug)]
pub struct Place {
    files: PathBuf,
    /// Locked as long as it is open.
    lock: File,
}

impl Place {
    /// Takes a free place in this state directory, with nothing in it, and empties all others that are free.
    pub fn take(state_directory: &Path) -> Result<Self> {
        let places = state_directory.join(PLACES);
        let mut taken = None;
        for number in 0..PLACES_MAX {
            let place = places.join(number.to_string());
            // Behind the place that is taken, only those are looked at that somebody has made.
            if taken.is_some() && !place.exists() {
                break;
            }
            let found = Self::at(&place).with_context(|| place.display().to_string())?;
            taken = taken.or(found);
        }
        match taken {
            Some(place) => Ok(place),
            None => bail!("{PLACES_MAX} processes use {}", state_directory.display()),
        }
    }

    /// Takes this place, if nobody has it.
    fn at(place: &Path) -> io::Result<Option<Self>> {
        fs::create_dir_all(place)?;
        let lock = File::create(place.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let files = place.join("files");
        match fs::remove_dir_all(&files) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        fs::create_dir(&files)?;
        Ok(Some(Self { files, lock }))
    }

    /// The folder for files.
    #[must_use]
    pub fn files(&self) -> &Path {
        &self.files
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next start.
        let _ = fs::remove_dir_all(&self.files);
        // It would go by itself, but must not go before.
        let _ = self.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_place_and_the_next_start_empties_those_that_are_left() {
        let state = tempfile::tempdir().unwrap();
        let [one, two] = [(); 2].map(|()| Place::take(state.path()).unwrap());
        assert_ne!(one.files(), two.files());
        let [left, kept] = [one.files(), two.files()].map(|files| files.join("copy"));
        fs::write(&left, "copy").unwrap();
        fs::write(&kept, "copy").unwrap();
        // The lock of a killed process goes, and its files stay.
        one.lock.unlock().unwrap();
        let three = Place::take(state.path()).unwrap();
        assert_eq!(three.files(), one.files());
        assert!(!left.exists(), "what a killed process left is gone");
        assert!(kept.exists(), "what a running one has is there");
        drop(two);
        assert!(!kept.exists(), "a process that ends takes it along");
        let four = Place::take(state.path()).unwrap();
        assert_ne!(four.files(), three.files());
    }

    #[test]
    fn a_place_behind_the_one_that_is_taken_is_emptied_too() {
        let state = tempfile::tempdir().unwrap();
        let [one, two] = [(); 2].map(|()| Place::take(state.path()).unwrap());
        let left = two.files().join("copy");
        fs::write(&left, "copy").unwrap();
        two.lock.unlock().unwrap();
        drop(one);
        let _one = Place::take(state.path()).unwrap();
        assert!(!left.exists());
    }
}
