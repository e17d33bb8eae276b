//! The application as the demo serves it: the repository's manifest and configuration, with a shorter lease.
//!
//! How long a crash takes to be seen is the lease's time. The repository's is meant for a network with clocks that
//! differ; a demo has one clock, and somebody who waits.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;

/// From where on the configuration is about charges.
const CHARGES: &str = "name = \"charge\"";

/// The operators' page, which the manifest mounts.
const PAGE: &str = "src/shell/console";

/// How long nobody knows that an attempt is lost, as it is said below.
pub(super) const LEASE: Duration = Duration::from_secs(5);

/// What is different for charges.
const EDITS: [(&str, &str); 2] = [
    ("attempt_timeout = \"5s\"", "attempt_timeout = \"3s\""),
    ("lease = \"15s\"", "lease = \"5s\""),
];

/// Writes the application to a folder, and gives its manifest.
pub(crate) fn write(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let read = |name: &str| {
        let path = workspace.root.join(name);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        Ok::<_, anyhow::Error>(path)
    };
    write("reprise.toml", &with_short_lease(&read("reprise.toml")?)?)?;
    write("openapi.yaml", &read("openapi.yaml")?)?;
    copy_folder(&workspace.root.join(PAGE), &folder.join(PAGE))
        .context("cannot copy the operators' page")?;
    // Only the components stay where they are.
    let source = format!("source = \"{}/target/", workspace.root.display());
    write(
        "spin.toml",
        &read("spin.toml")?.replace("source = \"target/", &source),
    )
}

/// Copies the files of a folder; folders in it are not copied.
fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn with_short_lease(config: &str) -> Result<String> {
    let (before, charges) = config
        .split_once(CHARGES)
        .with_context(|| format!("reprise.toml has no {CHARGES}"))?;
    let mut charges = charges.to_owned();
    for (from, to) in EDITS {
        let (head, tail) = charges
            .split_once(from)
            .with_context(|| format!("the charges in reprise.toml have no {from}"))?;
        charges = format!("{head}{to}{tail}");
    }
    Ok(format!("{before}{CHARGES}{charges}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_s_configuration_can_be_edited_and_nothing_else_changes() {
        let workspace = Workspace::locate().unwrap();
        let config = fs::read_to_string(workspace.root.join("reprise.toml")).unwrap();
        let edited = with_short_lease(&config).unwrap();
        let changed: Vec<_> = config
            .lines()
            .zip(edited.lines())
            .filter(|(before, after)| before != after)
            .collect();
        assert_eq!(changed, EDITS);
        assert_eq!(config.lines().count(), edited.lines().count());
        assert!(with_short_lease("").is_err());
        assert!(with_short_lease(CHARGES).is_err());
    }
}
