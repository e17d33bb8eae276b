//! A process's own place below a folder: for the copies of a host's guests' files, or for all that a demo leaves.
//!
//! A state directory can have several processes, on Redis for instance, and what the guests of one read must not change
//! when another one starts. So each takes the first place whose lock is free, and keeps the lock. A lock belongs to an open
//! file and ends with the process however that ends: the next start finds the places of processes that were killed, and
//! empties them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// More processes than one folder will ever have.
const PLACES_MAX: u32 = 256;

/// A place. Its files are removed with this value.
#[derive(Debug)]
pub struct Place {
    files: PathBuf,
    /// Locked as long as it is open.
    lock: File,
}

impl Place {
    /// Takes a free place below this folder, with nothing in it, and empties all others that are free.
    pub fn take(places: &Path) -> io::Result<Self> {
        let mut taken = None;
        for number in 0..PLACES_MAX {
            let place = places.join(number.to_string());
            // Behind the place that is taken, only those are looked at that somebody has made.
            if taken.is_some() && !place.exists() {
                break;
            }
            let named = |error| {
                io::Error::new(
                    io::Error::kind(&error),
                    format!("{}: {error}", place.display()),
                )
            };
            let found = Self::at(&place).map_err(named)?;
            taken = taken.or(found);
        }
        let problem = || format!("{PLACES_MAX} processes use {}", places.display());
        taken.ok_or_else(|| io::Error::other(problem()))
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
    use std::env;

    /// A folder of a test's own, which is gone with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let name = format!("reprise-locks-{test}-{}", std::process::id());
            Self(env::temp_dir().join(name))
        }

        fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn each_process_has_a_place_and_the_next_start_empties_those_that_are_left() {
        let state = Folder::new("place");
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
        let state = Folder::new("behind");
        let [one, two] = [(); 2].map(|()| Place::take(state.path()).unwrap());
        let left = two.files().join("copy");
        fs::write(&left, "copy").unwrap();
        two.lock.unlock().unwrap();
        drop(one);
        let _one = Place::take(state.path()).unwrap();
        assert!(!left.exists());
    }
}
