//! What is in `deploy`, checked as far as a machine without a cluster, an image and a running systemd can: read by the
//! programs that read it in earnest or by their makers' schemas, and run where it can be run.
//!
//! `cargo xtask test` installs those programs, and names them in the environment as for the other tests. A program that is
//! missing fails its test: a check that did not run must not look like one that passed.

mod files;
mod packed;
mod proxies;

use reprise_e2e::{python, python_program};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The repository's top level.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file in `deploy`.
fn deployed(name: &str) -> String {
    let path = root().join("deploy").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A program that the environment names, or else the PATH has.
fn program(variable: &str, name: &str) -> Command {
    Command::new(env::var_os(variable).unwrap_or_else(|| name.into()))
}

/// What a command prints, both its output and its errors.
///
/// # Panics
/// When it fails.
fn said_by(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| {
        panic!("{command:?} cannot be started: {error}; `cargo xtask test` installs what is needed")
    });
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}
