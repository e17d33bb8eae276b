//! The Python of the end-to-end tests: a virtual environment in the target directory, with exactly the packages that
//! `tools/e2e/requirements.txt` lists, each by its hash.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use crate::{debian, process};

/// The oldest Python that the pinned packages run on.
const NEEDED: (u32, u32) = (3, 11);

/// What is installed, beside the environment: it is written last, so that one which was left unfinished is made anew.
const STAMP: &str = "installed.txt";

/// Makes sure that the environment is there and up to date, and tells where its Python is.
pub(crate) fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let requirements = workspace.root.join("tools/e2e/requirements.txt");
    let wanted =
        fs::read_to_string(&requirements).with_context(|| requirements.display().to_string())?;
    let folder = workspace.target.join("python");
    let python = folder.join("bin/python");
    let works = || {
        let mut version = workspace.command(&python);
        version.arg("--version");
        process::succeeds(version)
    };
    let stamp = folder.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && works() {
        return Ok(python);
    }
    install(workspace, &folder, &python, &requirements)?;
    fs::write(&stamp, wanted).with_context(|| stamp.display().to_string())?;
    Ok(python)
}

fn install(workspace: &Workspace, folder: &Path, python: &Path, requirements: &Path) -> Result<()> {
    let mut make = workspace.command(base(workspace)?);
    make.args(["-m", "venv", "--clear"]).arg(folder);
    process::run(make)?;
    let mut pip = workspace.command(python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
        .args(["--disable-pip-version-check", "--require-hashes"])
        .arg("--requirement")
        .arg(requirements);
    process::run(pip)
}

/// A Python that can make an environment: the one on the PATH, or Debian's.
fn base(workspace: &Workspace) -> Result<&'static str> {
    const ON_PATH: &str = "python3";
    const DEBIAN: &str = "/usr/bin/python3";
    if can_make(workspace, ON_PATH) {
        return Ok(ON_PATH);
    }
    let (major, minor) = NEEDED;
    if !debian::is_here() {
        bail!("the end-to-end tests need Python {major}.{minor} or newer, with its module venv");
    }
    debian::ensure(
        workspace,
        &["python3", "python3-venv"],
        "the end-to-end tests run programs that are written in Python",
    )?;
    if !can_make(workspace, DEBIAN) {
        bail!("Debian's Python is older than {major}.{minor}, or cannot make an environment");
    }
    Ok(DEBIAN)
}

/// Whether a Python is new enough, and has what an environment with pip in it is made from.
fn can_make(workspace: &Workspace, python: &str) -> bool {
    let (major, minor) = NEEDED;
    let mut question = workspace.command(python);
    question.arg("-c").arg(format!(
        "import sys, venv, ensurepip; sys.exit(sys.version_info < ({major}, {minor}))"
    ));
    process::succeeds(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_pinned_and_comes_by_its_hash() {
        let workspace = Workspace::locate().unwrap();
        let read = |name: &str| fs::read_to_string(workspace.root.join(name)).unwrap();
        let pinned = read("tools/e2e/requirements.txt");
        for name in read("tools/e2e/requirements.in").lines() {
            if !name.is_empty() && !name.starts_with('#') {
                let line = pinned
                    .lines()
                    .find(|line| line.starts_with(&format!("{name}==")));
                assert!(line.is_some(), "{name} is not pinned");
            }
        }
        let requirements = pinned.matches("==").count() - pinned.matches("sys_platform ==").count();
        let with_hash = pinned.matches(" \\\n    --hash=sha256:").count();
        assert!(
            requirements > 0 && with_hash >= requirements,
            "{requirements} {with_hash}"
        );
    }
}
