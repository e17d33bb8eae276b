//! The demo's folder: the application that it serves, the state and the log. It is gone when the demo is.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes a folder of its own among the temporary ones.
    pub(crate) fn create() -> Result<Self> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).context("no random name")?;
        let name = format!("reprise-demo-{:016x}", u64::from_le_bytes(bytes));
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is where the system removes it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
