//! The commands about the built components: building them, their sizes, the product's imports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::imports;
use crate::process;
use crate::toolchain::WasmToolchain;
use crate::workspace::{COMPONENTS, MAIN, Workspace};

/// The product must be smaller than this: every instance that an edge starts loads it.
const SIZE_LIMIT_BYTES: u64 = 900_000;

/// The package of our host.
pub(crate) const HOST_PACKAGE: &str = "reprise-host";

/// A profile that our host is built with, and by its name also the directory of what comes out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostProfile {
    /// What tests and `up` use: as quick to build as it may be.
    Host,
    /// What is measured: as quick to run as it may be.
    BenchHost,
}

impl HostProfile {
    /// Its name in `Cargo.toml`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::BenchHost => "bench-host",
        }
    }
}

/// `cargo xtask wasm`.
pub(crate) fn wasm(workspace: &Workspace) -> Result<()> {
    let toolchain = WasmToolchain::prepare(workspace)?;
    components(workspace, &toolchain)?;
    check_sizes(workspace)
}

/// `cargo xtask imports`.
pub(crate) fn imports(workspace: &Workspace, bless: bool) -> Result<()> {
    components(workspace, &WasmToolchain::prepare(workspace)?)?;
    if bless {
        bless_imports(workspace)
    } else {
        check_imports(workspace)
    }
}

/// Builds the components, and puts them where the manifest says that they are.
pub(crate) fn components(workspace: &Workspace, toolchain: &WasmToolchain) -> Result<()> {
    let mut cargo = toolchain.cargo(workspace, "build");
    cargo.arg("--release");
    process::run(cargo)?;
    for component in COMPONENTS {
        let built = workspace.wasm_output(component.file);
        let expected = workspace.component(component);
        if built != expected {
            copy(&built, &expected)?;
        }
    }
    Ok(())
}

/// The manifest of the component that the benchmark takes for the floor, a package of its own.
pub(crate) fn bare_manifest(workspace: &Workspace) -> PathBuf {
    workspace.root.join("tools/bench/bare/Cargo.toml")
}

/// The manifest of the component that the host's tests serve, a package of its own, where there is one.
pub(crate) fn guest_manifest(workspace: &Workspace) -> Option<PathBuf> {
    let manifest = workspace.root.join("tools/host/tests/guest/Cargo.toml");
    manifest.is_file().then_some(manifest)
}

/// Builds a component that is a package of its own, and tells where it is.
pub(crate) fn guest(
    workspace: &Workspace,
    toolchain: &WasmToolchain,
    manifest: &Path,
) -> Result<PathBuf> {
    let mut cargo = toolchain.cargo(workspace, "build");
    cargo.arg("--release").arg("--manifest-path").arg(manifest);
    process::run(cargo)?;
    let text = fs::read_to_string(manifest).with_context(|| manifest.display().to_string())?;
    let name = package_name(&text)
        .with_context(|| format!("no package name in {}", manifest.display()))?;
    Ok(workspace.wasm_output(&format!("{}.wasm", name.replace('-', "_"))))
}

/// Builds our host, and tells where it is.
pub(crate) fn host(workspace: &Workspace) -> Result<PathBuf> {
    process::run(host_command(workspace, HostProfile::Host, "build"))?;
    Ok(host_program(workspace))
}

/// Where our host is once it is built.
pub(crate) fn host_program(workspace: &Workspace) -> PathBuf {
    program(workspace, HostProfile::Host, HOST_PACKAGE)
}

/// Where a native program is once it is built in this profile.
pub(crate) fn program(workspace: &Workspace, profile: HostProfile, package: &str) -> PathBuf {
    let program = format!("{package}{}", std::env::consts::EXE_SUFFIX);
    workspace.target.join(profile.name()).join(program)
}

/// `cargo` with a subcommand for our host.
pub(crate) fn host_command(
    workspace: &Workspace,
    profile: HostProfile,
    subcommand: &str,
) -> Command {
    workspace.cargo(&format!(
        "{subcommand} --profile {} --package {HOST_PACKAGE}",
        profile.name()
    ))
}

/// Prints the components' paths and sizes, and fails when the product is too large.
pub(crate) fn check_sizes(workspace: &Workspace) -> Result<()> {
    for component in COMPONENTS {
        let path = workspace.component(component);
        let size = fs::metadata(&path)
            .with_context(|| path.display().to_string())?
            .len();
        println!("{} {size} bytes", path.display());
        if component == MAIN && size >= SIZE_LIMIT_BYTES {
            bail!("the component must be smaller than {SIZE_LIMIT_BYTES} bytes");
        }
    }
    Ok(())
}

/// Compares the product's imports with the checked-in list.
pub(crate) fn check_imports(workspace: &Workspace) -> Result<()> {
    let actual = component_imports(workspace)?;
    let path = workspace.import_list();
    let list = fs::read_to_string(&path).with_context(|| {
        format!(
            "{}: `cargo xtask imports --bless` writes it",
            path.display()
        )
    })?;
    if let Some(difference) = imports::difference(&imports::from_list(&list), &actual) {
        bail!(
            "the component's imports differ from {}:{difference}\nIf that is meant, `cargo xtask imports --bless`.",
            path.display()
        );
    }
    println!("{} imports, as listed in {}", actual.len(), path.display());
    Ok(())
}

fn bless_imports(workspace: &Workspace) -> Result<()> {
    let actual = component_imports(workspace)?;
    let path = workspace.import_list();
    let former = imports::from_list(&fs::read_to_string(&path).unwrap_or_default());
    let list = imports::to_list(&actual, &former);
    fs::write(&path, list).with_context(|| path.display().to_string())?;
    println!("{} imports written to {}", actual.len(), path.display());
    Ok(())
}

fn component_imports(workspace: &Workspace) -> Result<imports::Imports> {
    let path = workspace.component(MAIN);
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    imports::of_component(&bytes).with_context(|| path.display().to_string())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir)?;
    }
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// The name in a manifest that starts with its package, as ours do.
fn package_name(manifest: &str) -> Option<&str> {
    let package = manifest.split("[package]").nth(1)?;
    let line = package
        .lines()
        .find(|line| line.trim_start().starts_with("name"))?;
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_s_name_is_read_from_its_manifest() {
        let manifest =
            "[workspace]\n\n[package]\nname = \"host-guest\"\n\n[lib]\nname = \"other\"\n";
        assert_eq!(package_name(manifest), Some("host-guest"));
        assert_eq!(package_name("[lib]\nname = \"other\"\n"), None);
    }
}
