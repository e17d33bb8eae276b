//! The accessibility checker of the end-to-end tests: axe-core in the target directory, exactly the one that
//! `tools/e2e/axe/package-lock.json` names, by its hash.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use crate::{debian, process};

/// What names it, and its hash.
const NAMED: [&str; 2] = ["package.json", "package-lock.json"];

/// The script, below the folder that it is installed in.
const SCRIPT: &str = "node_modules/axe-core/axe.min.js";

/// What is installed: it is written last, so that what was left unfinished is done anew.
const STAMP: &str = "installed.json";

/// Makes sure that the script is there and up to date, and tells where.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let ours = workspace.root.join("tools/e2e/axe");
    let lock = ours.join(NAMED[1]);
    let wanted = fs::read_to_string(&lock).with_context(|| lock.display().to_string())?;
    let folder = workspace.target.join("axe");
    let (script, stamp) = (folder.join(SCRIPT), folder.join(STAMP));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && script.is_file() {
        return Ok(script);
    }
    install(workspace, &ours, &folder)?;
    fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())?;
    Ok(script)
}

fn install(workspace: &Workspace, ours: &Path, folder: &Path) -> Result<()> {
    ensure_npm(workspace)?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for name in NAMED {
        let copy = folder.join(name);
        fs::copy(ours.join(name), &copy).with_context(|| copy.display().to_string())?;
    }
    let mut npm = workspace.command("npm");
    npm.arg("ci").arg("--prefix").arg(folder);
    npm.args([
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
    ]);
    process::run(npm)
}

fn ensure_npm(workspace: &Workspace) -> Result<()> {
    let mut version = workspace.command("npm");
    version.arg("--version");
    if process::succeeds(version) {
        return Ok(());
    }
    if !debian::is_here() {
        bail!("the end-to-end tests need npm on the PATH");
    }
    debian::ensure(
        workspace,
        &["npm"],
        "the end-to-end tests check a page with axe-core, which comes from npm",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_pinned_and_comes_by_its_hash_from_wherever_npm_is_told() {
        let workspace = Workspace::locate().unwrap();
        let lock = workspace.root.join("tools/e2e/axe").join(NAMED[1]);
        let lock = fs::read_to_string(lock).unwrap();
        assert!(lock.contains("\"node_modules/axe-core\""), "{lock}");
        assert_eq!(
            lock.matches("\"integrity\": \"sha512-").count(),
            1,
            "{lock}"
        );
        assert!(!lock.contains("\"resolved\""), "{lock}");
    }
}
