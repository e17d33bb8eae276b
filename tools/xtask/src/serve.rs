//! `cargo xtask up`: from nothing to a served address.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::args::UpOptions;
use crate::toolchain::WasmToolchain;
use crate::workspace::Workspace;
use crate::{build, process, spin};

/// Builds the components and what serves them, then becomes that server.
pub(crate) fn up(workspace: &Workspace, options: &UpOptions) -> Result<()> {
    build::components(workspace, &WasmToolchain::prepare(workspace)?)?;
    let arguments = server_arguments(&workspace.manifest(), options)?;
    let mut server = if serves_with_spin(workspace, options) {
        let mut spin = workspace.command("spin");
        spin.arg("up");
        spin
    } else {
        workspace.command(build::host(workspace)?)
    };
    server.args(arguments);
    become_the(server)
}

fn serves_with_spin(workspace: &Workspace, options: &UpOptions) -> bool {
    if options.own_host {
        return false;
    }
    match spin::on_path(workspace) {
        Some(version) if version >= spin::NEEDED => true,
        Some(version) => {
            eprintln!(
                "The Spin on the PATH is {version}; at least {} is needed.",
                spin::NEEDED
            );
            false
        }
        None => false,
    }
}

/// The arguments that Spin and our host understand alike.
fn server_arguments(manifest: &Path, options: &UpOptions) -> Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = vec!["--from".into(), manifest.into(), "--listen".into()];
    arguments.push(options.listen.clone().into());
    if let Some(dir) = &options.state_dir {
        // The server starts in the workspace, but the name was typed elsewhere.
        let dir = std::path::absolute(dir).context("--state-dir")?;
        arguments.extend(["--state-dir".into(), dir.into()]);
    }
    arguments.extend(options.passed_on.iter().cloned());
    Ok(arguments)
}

/// Replaces this process by the server, so that a signal meant for it reaches it and nothing is left behind.
#[cfg(unix)]
fn become_the(mut server: Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;

    eprintln!("$ {}", process::shown(&server));
    let error = server.exec();
    Err(error).with_context(|| format!("cannot start `{}`", process::shown(&server)))
}

/// Runs the server until it ends; the console's Ctrl-C reaches both.
#[cfg(not(unix))]
fn become_the(server: Command) -> Result<()> {
    process::run(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_servers_get_the_same_arguments() {
        let words =
            |options: &UpOptions| server_arguments(Path::new("/w/spin.toml"), options).unwrap();
        let default = UpOptions::default();
        assert_eq!(
            words(&default),
            ["--from", "/w/spin.toml", "--listen", "127.0.0.1:3000"]
        );
        let full = UpOptions {
            own_host: true,
            listen: "127.0.0.1:1".to_owned(),
            state_dir: Some("/s".into()),
            passed_on: vec!["--stats".into()],
        };
        assert_eq!(
            words(&full),
            [
                "--from",
                "/w/spin.toml",
                "--listen",
                "127.0.0.1:1",
                "--state-dir",
                "/s",
                "--stats"
            ]
        );
    }

    #[test]
    fn a_relative_state_directory_is_the_caller_s() {
        let options = UpOptions {
            state_dir: Some("state".into()),
            ..UpOptions::default()
        };
        let here = std::env::current_dir().unwrap().join("state");
        let words = server_arguments(Path::new("/w/spin.toml"), &options).unwrap();
        assert_eq!(words.last(), Some(&here.into_os_string()));
    }
}
