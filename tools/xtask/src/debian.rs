//! Debian packages. They are installed only where they are missing, only as root or with a sudo that asks nothing, and never
//! at the price of removing another package; or they are unpacked into a folder, which changes nothing else.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::workspace::Workspace;

/// Whether this machine is a Debian, or one of its descendants, with apt.
pub(crate) fn is_here() -> bool {
    let has_apt = fs::exists("/usr/bin/apt-get").unwrap_or(false);
    has_apt && fs::read_to_string("/etc/os-release").is_ok_and(|text| is_debian(&text))
}

/// Makes sure that the packages are installed; `why` is said before anything changes.
pub(crate) fn ensure(workspace: &Workspace, packages: &[&str], why: &str) -> Result<()> {
    let missing: Vec<&str> = packages
        .iter()
        .copied()
        .filter(|name| !is_installed(workspace, name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    let Some(rights) = Rights::look(workspace) else {
        bail!("installing {names} takes root, or a sudo that asks for no password");
    };
    eprintln!("Installing the Debian packages {names}: {why}.");
    // A list that cannot be renewed, perhaps of a source that has none of these packages, need not be in the way.
    if let Err(error) = process::run(rights.apt_get(workspace, "update --quiet")) {
        eprintln!("{error:#}; going on with the lists that are there");
    }
    // `--no-remove`: where a package conflicts with one that the user has, that one stays and this fails.
    process::run(rights.apt_get(
        workspace,
        &format!("install --quiet --yes --no-remove --no-install-recommends {names}"),
    ))
}

/// Downloads a package and unpacks what is in it, without what it depends on, into a folder.
pub(crate) fn unpack(workspace: &Workspace, package: &str, folder: &Path, why: &str) -> Result<()> {
    eprintln!("Unpacking the Debian package {package}: {why}.");
    let download = || {
        let mut apt = workspace.command("apt-get");
        apt.args(["download", "--quiet", package])
            .current_dir(folder);
        process::run(apt)
    };
    if download().is_err() {
        // The lists may be missing, or older than the archive.
        let rights =
            Rights::look(workspace).context("renewing the lists of packages takes root")?;
        process::run(rights.apt_get(workspace, "update --quiet"))?;
        download()?;
    }
    for entry in fs::read_dir(folder)? {
        let archive = entry?.path();
        if archive.extension().is_some_and(|end| end == "deb") {
            let mut dpkg = workspace.command("dpkg-deb");
            dpkg.arg("--extract").arg(&archive).arg(folder);
            process::run(dpkg)?;
            fs::remove_file(&archive)?;
        }
    }
    Ok(())
}

fn is_installed(workspace: &Workspace, package: &str) -> bool {
    let mut query = workspace.command("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status}", package]);
    process::answer(query).is_some_and(|status| status == "installed")
}

/// How this user may change the system.
#[derive(Debug, Clone, Copy)]
enum Rights {
    Root,
    Sudo,
}

impl Rights {
    fn look(workspace: &Workspace) -> Option<Self> {
        let mut id = workspace.command("id");
        id.arg("-u");
        if process::answer(id).is_some_and(|uid| uid.trim() == "0") {
            return Some(Self::Root);
        }
        let mut sudo = workspace.command("sudo");
        sudo.args(["--non-interactive", "true"]);
        process::succeeds(sudo).then_some(Self::Sudo)
    }

    /// `apt-get`, its arguments separated by spaces.
    fn apt_get(self, workspace: &Workspace, arguments: &str) -> Command {
        // `env` within sudo, which would drop a variable that is only set around it.
        let (program, before) = match self {
            Self::Root => ("env", ""),
            Self::Sudo => ("sudo", "--non-interactive env "),
        };
        let line = format!("{before}DEBIAN_FRONTEND=noninteractive apt-get {arguments}");
        let mut command = workspace.command(program);
        command.args(line.split_whitespace());
        command
    }
}

/// Reads an os-release file: is it of Debian itself or of a system that says it is like it?
fn is_debian(os_release: &str) -> bool {
    let value = |name: &str| {
        let line = os_release
            .lines()
            .find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches(['"', '\''])
    };
    value("ID") == "debian"
        || value("ID_LIKE")
            .split_whitespace()
            .any(|name| name == "debian")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_and_its_descendants_are_known_by_their_os_release() {
        for text in [
            "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n",
            "ID=\"debian\"",
            "NAME='A Pi'\nID=raspbian\nID_LIKE=debian\n",
            "ID=mint\nID_LIKE=\"ubuntu debian\"\n",
        ] {
            assert!(is_debian(text), "{text}");
        }
    }

    #[test]
    fn other_systems_are_not_taken_for_debian() {
        for text in [
            "",
            "ID=fedora\nID_LIKE=\"rhel centos\"\n",
            "ID=alpine\nPRETTY_NAME=debian\n",
            "VERSION_ID=debian\nID=arch\n",
            "ID=debianish\n",
            "#ID=debian\n",
        ] {
            assert!(!is_debian(text), "{text}");
        }
    }

    #[test]
    fn sudo_gets_its_variable_through_env() {
        let workspace = Workspace {
            root: "/".into(),
            target: "/".into(),
        };
        let shown = |rights: Rights| process::shown(&rights.apt_get(&workspace, "update"));
        assert_eq!(
            shown(Rights::Root),
            "env DEBIAN_FRONTEND=noninteractive apt-get update"
        );
        assert_eq!(
            shown(Rights::Sudo),
            "sudo --non-interactive env DEBIAN_FRONTEND=noninteractive apt-get update"
        );
    }
}
