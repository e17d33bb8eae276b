//! The Python in which the programs of `requirements.txt` are installed.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// A program of `requirements.txt`, to be started.
///
/// # Panics
/// When nobody says where they are: a check that did not run must not look like one that passed.
#[must_use]
pub fn python_program(name: &str) -> Command {
    Command::new(python().with_file_name(name))
}

/// The interpreter itself.
///
/// # Panics
/// As [`python_program`].
#[must_use]
pub fn python() -> PathBuf {
    let python = env::var_os("REPRISE_PYTHON").map(PathBuf::from);
    python.expect(
        "REPRISE_PYTHON names no Python: `cargo xtask python` makes one with what tools/e2e/requirements.txt lists, and \
         prints where it is",
    )
}
