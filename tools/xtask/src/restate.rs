//! Restate for the benchmark: its server and its JavaScript SDK from npm, in the target directory, as
//! `tools/bench/restate` pins them.
//!
//! Where node or npm is missing, or the packages cannot be had, the benchmark goes without: Restate is a peer to be
//! compared with, and nothing of the product depends on it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::process;
use crate::workspace::Workspace;

/// The handler, and what it needs.
const FILES: [&str; 5] = [
    ".npmrc",
    "package.json",
    "orders.mjs",
    "with-resolvers.mjs",
    LOCK,
];
const LOCK: &str = "package-lock.json";

/// Makes sure that it is installed, and tells where; nothing where it cannot be.
pub(crate) fn ensure(workspace: &Workspace) -> Option<PathBuf> {
    for program in ["node", "npm"] {
        let mut version = workspace.command(program);
        version.arg("--version");
        if !process::succeeds(version) {
            eprintln!("Restate is left out: it needs {program}, which is not on the PATH.");
            return None;
        }
    }
    let folder = workspace.target.join("restate");
    match install(workspace, &folder) {
        Ok(()) => Some(folder),
        Err(error) => {
            eprintln!("Restate is left out: {error:#}");
            None
        }
    }
}

fn install(workspace: &Workspace, folder: &Path) -> Result<()> {
    let source = workspace.root.join("tools/bench/restate");
    let stamp = folder.join("installed.json");
    let wanted = fs::read_to_string(source.join(LOCK)).context(LOCK)?;
    fs::create_dir_all(folder)?;
    for file in FILES {
        fs::copy(source.join(file), folder.join(file)).context(file)?;
    }
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut npm = workspace.command("npm");
    npm.current_dir(folder).arg("ci");
    // The standard output is the table's.
    npm.stdout(io::stderr());
    process::run(npm)?;
    fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned_by_version_and_hash_and_name_no_registry() {
        let workspace = Workspace::locate().unwrap();
        let lock = workspace.root.join("tools/bench/restate").join(LOCK);
        let lock = fs::read_to_string(lock).unwrap();
        let packages = lock.matches("\"node_modules/").count();
        assert!(packages > 0);
        assert_eq!(lock.matches("\"integrity\": \"sha512-").count(), packages);
        assert!(!lock.contains("\"resolved\""));
    }
}
