//! Running other programs: what is run is always shown, and a failure names it.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::token;

/// Shows the command, runs it with our output and no input, and fails when it fails.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let line = shown(&command);
    eprintln!("$ {line}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// The standard output of a command that only tells something, or nothing when it cannot be started or fails.
pub(crate) fn answer(mut command: Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8(output.stdout).ok()
}

/// Whether a command that only tells something succeeds.
pub(crate) fn succeeds(command: Command) -> bool {
    answer(command).is_some()
}

/// The command as one would type it in the workspace's top level.
pub(crate) fn shown(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        // The same for every command, and for a hand that types it.
        if name == "CARGO_TARGET_DIR" {
            continue;
        }
        // A secret, which the user is told elsewhere.
        if name == token::ENVIRONMENT {
            continue;
        }
        if let Some(value) = value {
            words.push(format!("{}={}", name.to_string_lossy(), quoted(value)));
        }
    }
    words.push(quoted(command.get_program()));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

/// The word as a POSIX shell reads it back.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_can_be_typed() {
        let mut command = Command::new("cargo");
        command.args(["test", "it's", "", "a b"]);
        command.env("FLAGS", "-C x=y").env_remove("GONE");
        command.env("CARGO_TARGET_DIR", "/anywhere");
        command.env(token::ENVIRONMENT, "secret");
        assert_eq!(
            shown(&command),
            r"FLAGS='-C x=y' cargo test 'it'\''s' '' 'a b'"
        );
    }

    #[test]
    fn a_failure_names_the_command() {
        let mut command = Command::new("cargo");
        command.arg("no-such-subcommand");
        let error = run(command).expect_err("cargo refuses it");
        assert!(
            error.to_string().contains("`cargo no-such-subcommand`"),
            "{error}"
        );
        let error = run(Command::new("no-such-program-anywhere")).expect_err("it is not there");
        assert!(error.to_string().contains("cannot start"), "{error}");
    }
}
