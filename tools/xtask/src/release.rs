//! `cargo xtask release-check`: whether what is here can be released as it is, a line for each check.
//!
//! It changes nothing, and goes on after a check that fails, so that one run tells all. What `cargo xtask test` checks
//! is not repeated, but for what a release must not lack in any case.

mod text;

use std::env;
use std::fs;

use anyhow::{Context as _, Result, bail, ensure};

use crate::build::{self, HostProfile};
use crate::toolchain::WasmToolchain;
use crate::workspace::Workspace;
use crate::{deny, process, python};

/// Where a stored form's version is in the sources, and what the change log calls it.
const FORMS: [(&str, &str, &str); 2] = [
    ("src/driver/store/layout.rs", "FORMAT", "layout"),
    ("src/machine/stored.rs", "VERSION", "records"),
];

/// Runs every check, prints a line for each, and fails when one has failed.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut report = Report::default();
    let version = report.check("version", || version(workspace));
    if let Some(version) = &version {
        report.check("change log", || change_log(workspace, version));
        report.check("tag", || tag(workspace, version));
    }
    report.check("tree", || tree(workspace));
    report.check("documentation", || documentation(workspace));
    report.check("dependencies", || deny::deny(workspace));
    let components = report.check("components", || components(workspace));
    if components.is_some() {
        report.check("size", || build::check_sizes(workspace));
        report.check("imports", || build::check_imports(workspace));
        report.check("documents", || documents(workspace));
    }
    report.print()
}

/// What the checks have found.
#[derive(Debug, Default)]
struct Report {
    lines: Vec<String>,
    failed: usize,
}

impl Report {
    fn check<T>(&mut self, name: &str, check: impl FnOnce() -> Result<T>) -> Option<T> {
        eprintln!("\n== {name}");
        match check() {
            Ok(value) => {
                self.lines.push(format!("ok      {name}"));
                Some(value)
            }
            Err(error) => {
                self.lines.push(format!("FAILED  {name}: {error:#}"));
                self.failed += 1;
                None
            }
        }
    }

    fn print(self) -> Result<()> {
        println!();
        for line in &self.lines {
            println!("{line}");
        }
        match self.failed {
            0 => Ok(()),
            failed => bail!("{failed} of {} checks failed", self.lines.len()),
        }
    }
}

fn read(workspace: &Workspace, path: &str) -> Result<String> {
    fs::read_to_string(workspace.root.join(path)).with_context(|| path.to_owned())
}

/// The one version that all files name.
fn version(workspace: &Workspace) -> Result<String> {
    let cargo = read(workspace, "Cargo.toml")?;
    let version = text::value(&cargo, "[workspace.package]", "version = ")
        .context("Cargo.toml names no version of the workspace")?;
    for (path, section, name) in [
        ("spin.toml", "[application]", "version = "),
        ("openapi.yaml", "info:", "  version: "),
    ] {
        let other = text::value(&read(workspace, path)?, section, name)
            .with_context(|| format!("{path} names no version"))?;
        ensure!(other == version, "{path} has {other}, Cargo.toml {version}");
    }
    for member in text::members(&cargo) {
        let path = format!("{member}/Cargo.toml");
        let manifest = read(workspace, &path)?;
        ensure!(
            manifest.contains("\nversion.workspace = true\n"),
            "{path} has a version of its own"
        );
    }
    for path in [
        "deploy/container/Containerfile",
        "deploy/container/README.md",
        "deploy/README.md",
    ] {
        for tag in text::image_tags(&read(workspace, path)?) {
            ensure!(tag == version, "{path} has an image with the tag {tag}");
        }
    }
    Ok(version)
}

/// The newest entry is of this version, has a date, and says which forms are stored.
fn change_log(workspace: &Workspace, version: &str) -> Result<()> {
    let log = read(workspace, "CHANGELOG.md")?;
    let entry = text::newest_entry(&log).context("CHANGELOG.md has no entry with a version")?;
    ensure!(
        entry.version == version,
        "its newest entry is of {}",
        entry.version
    );
    ensure!(
        text::is_date(entry.date),
        "its newest entry has no date but {:?}",
        entry.date
    );
    for (path, constant, form) in FORMS {
        let number = text::constant(&read(workspace, path)?, constant)
            .with_context(|| format!("{path} has no {constant}"))?;
        let said = format!("{form} {number}");
        ensure!(
            entry.text.contains(&said),
            "its newest entry does not say that it stores {said}"
        );
    }
    Ok(())
}

/// A version is released once.
fn tag(workspace: &Workspace, version: &str) -> Result<()> {
    let mut git = workspace.command("git");
    git.args(["tag", "--list", &format!("v{version}")]);
    let tags = process::answer(git).context("git does not tell the tags")?;
    ensure!(tags.trim().is_empty(), "v{version} is there already");
    Ok(())
}

/// What is released is what is committed.
fn tree(workspace: &Workspace) -> Result<()> {
    let mut git = workspace.command("git");
    git.args(["status", "--porcelain"]);
    let changes = process::answer(git).context("git does not tell what has changed")?;
    let count = changes.lines().count();
    ensure!(
        count == 0,
        "{count} files are not committed, such as {}",
        text::first_path(&changes)
    );
    Ok(())
}

fn documentation(workspace: &Workspace) -> Result<()> {
    let mut cargo = workspace.cargo("doc --profile host --workspace --no-deps");
    cargo.env("RUSTDOCFLAGS", "-D warnings");
    process::run(cargo)
}

fn components(workspace: &Workspace) -> Result<()> {
    let toolchain = WasmToolchain::prepare(workspace)?;
    build::components(workspace, &toolchain)
}

/// Every transcript and every other example, replayed against what was built.
fn documents(workspace: &Workspace) -> Result<()> {
    let host = build::host(workspace)?;
    let profile = HostProfile::Host.name();
    let mut cargo = workspace.cargo(&format!(
        "test --profile {profile} --package reprise-e2e --test documents"
    ));
    cargo.env("REPRISE_HOST", host);
    cargo.env("REPRISE_PYTHON", python::ensure(workspace)?);
    // Set for another run, it would be in the way of this one.
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("SPIN_VARIABLE_") {
            cargo.env_remove(name);
        }
    }
    process::run(cargo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_goes_on_after_a_failure_and_fails_in_the_end() {
        let mut report = Report::default();
        assert_eq!(report.check("first", || bail!("no luck")), None::<()>);
        assert_eq!(report.check("second", || Ok(2)), Some(2));
        assert_eq!(report.lines, ["FAILED  first: no luck", "ok      second"]);
        let error = report.print().expect_err("one has failed");
        assert_eq!(error.to_string(), "1 of 2 checks failed");
    }

    /// So that a version which is raised in one place alone is noticed before a release.
    #[test]
    fn this_workspace_has_one_version_and_its_change_log_knows_it() {
        let workspace = Workspace::locate().unwrap();
        let version = version(&workspace).unwrap();
        change_log(&workspace, &version).unwrap();
    }
}
