//! Asking rustup for the component's target, and remembering that it could not help.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result};

use crate::process;
use crate::rustc::ActiveToolchain;
use crate::workspace::{WASM_TARGET, Workspace};

/// Set to anything, this environment variable keeps rustup from being asked: where a build must not download from
/// elsewhere than the package registries, or must be the same whatever rustup could reach.
const NEVER_ASK: &str = "XTASK_WITHOUT_RUSTUP";

/// What rustup can do here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rustup {
    /// It is not installed.
    Absent,
    /// It has not been asked.
    Ready,
    /// It was asked for this toolchain's target, now or in an earlier run, and that did not help.
    Refused,
}

impl Rustup {
    /// Finds out, without asking anything that takes a network.
    pub(crate) fn look(workspace: &Workspace, refusal: &Refusal) -> Self {
        let mut command = workspace.command("rustup");
        command.arg("--version");
        if !process::succeeds(command) || std::env::var_os(NEVER_ASK).is_some() {
            Self::Absent
        } else if refusal.is_remembered() {
            Self::Refused
        } else {
            Self::Ready
        }
    }
}

/// Asks rustup for the target, and gives the line in which it says why not.
pub(crate) fn add_target(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.command("rustup");
    command.args(["target", "add", WASM_TARGET]);
    eprintln!("$ {}", process::shown(&command));
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find_map(|line| line.strip_prefix("error: "));
    Err(line.map_or_else(|| output.status.to_string(), str::to_owned))
}

/// The memory, in the target directory, that rustup could not add the target to this toolchain.
///
/// Without a network the question costs up to three minutes, too much for every run. Another toolchain, or another
/// version of this one, is asked about anew.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Removing it makes the next run ask again.
    pub(crate) file: PathBuf,
    toolchain: String,
}

impl Refusal {
    /// The memory about this toolchain, whether there is one or not.
    pub(crate) fn of(workspace: &Workspace, active: &ActiveToolchain) -> Self {
        Self {
            file: workspace.target.join("rustup-refused-wasm32-wasip2"),
            toolchain: format!("{} in {}\n", active.version, active.sysroot.display()),
        }
    }

    /// Whether rustup could not do it in an earlier run.
    pub(crate) fn is_remembered(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|toolchain| toolchain == self.toolchain)
    }

    /// Spares later runs the question.
    pub(crate) fn remember(&self) -> Result<()> {
        if let Some(dir) = self.file.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&self.file, &self.toolchain).with_context(|| self.file.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn a_refusal_is_remembered_for_the_toolchain_it_was_about() {
        let target = env::temp_dir().join(format!("reprise-xtask-refusal-{}", std::process::id()));
        let workspace = Workspace {
            root: target.clone(),
            target: target.clone(),
        };
        let toolchain = |version: &str| ActiveToolchain {
            version: version.to_owned(),
            sysroot: "/toolchain".into(),
            host: "any".to_owned(),
        };
        let refusal = Refusal::of(&workspace, &toolchain("rustc 1.95.0"));
        assert!(!refusal.is_remembered());
        refusal.remember().unwrap();
        assert!(Refusal::of(&workspace, &toolchain("rustc 1.95.0")).is_remembered());
        assert!(!Refusal::of(&workspace, &toolchain("rustc 1.96.0")).is_remembered());
        fs::remove_dir_all(&target).unwrap();
    }
}
