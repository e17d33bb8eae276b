//! The proxies that the end-to-end tests put in front of a service: those on the PATH, or Debian's.
//!
//! Debian's packages are unpacked into the target directory and not installed: installing a server starts it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use crate::{debian, process};

/// Where each program is in Debian's package of the same name, and what makes it tell its version.
const PROXIES: [(&str, &str, &str); 2] = [
    ("nginx", "usr/sbin/nginx", "-v"),
    ("caddy", "usr/bin/caddy", "version"),
];

/// The programs.
pub(crate) struct Proxies {
    pub(crate) nginx: PathBuf,
    pub(crate) caddy: PathBuf,
}

/// Makes sure that both are there, and tells where.
pub(crate) fn ensure(workspace: &Workspace) -> Result<Proxies> {
    let [nginx, caddy] = PROXIES;
    Ok(Proxies {
        nginx: one(workspace, nginx)?,
        caddy: one(workspace, caddy)?,
    })
}

fn one(workspace: &Workspace, (name, place, version): (&str, &str, &str)) -> Result<PathBuf> {
    let works = |program: &PathBuf| {
        let mut command = workspace.command(program);
        command.arg(version);
        process::succeeds(command)
    };
    let folder = workspace.target.join("proxies").join(name);
    let unpacked = folder.join(place);
    for program in [PathBuf::from(name), unpacked.clone()] {
        if works(&program) {
            return Ok(program);
        }
    }
    if !debian::is_here() {
        bail!("{name} is not on the PATH: the end-to-end tests put it in front of the service");
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let why = "the end-to-end tests put it in front of the service";
    debian::unpack(workspace, name, &folder, why)?;
    if !works(&unpacked) {
        bail!(
            "Debian's {name} is unpacked in {}, but does not start",
            folder.display()
        );
    }
    Ok(unpacked)
}
