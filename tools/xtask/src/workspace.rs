//! Where things are: the repository, the one target directory, the components.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

/// The components' target.
pub(crate) const WASM_TARGET: &str = "wasm32-wasip2";

/// Where `spin.toml` says that the components are, under the workspace's own target directory.
const COMPONENT_DIRECTORY: &str = "target/wasm32-wasip2/release";

/// One component of `spin.toml`, a default member of the workspace: so cargo builds all of them where no package is
/// named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Component {
    /// The name of its file.
    pub(crate) file: &'static str,
}

/// The product.
pub(crate) const MAIN: Component = Component {
    file: "reprise.wasm",
};

/// The payment provider to practise on.
pub(crate) const SANDBOX: Component = Component {
    file: "payment_sandbox.wasm",
};

/// All components, the product first.
pub(crate) const COMPONENTS: [Component; 2] = [MAIN, SANDBOX];

/// The places that every command works with, absolute.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The repository's top level.
    pub(crate) root: PathBuf,
    /// The target directory that every build of every command shares.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Finds the workspace that this program was started from with `cargo run`.
    pub(crate) fn locate() -> Result<Self> {
        // Cargo names the package at run time, so that a moved checkout is found; the constant serves a direct start.
        let package =
            env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&package)
            .join("../..")
            .canonicalize()
            .with_context(|| format!("no workspace above {}", Path::new(&package).display()))?;
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(dir) => std::path::absolute(dir).context("CARGO_TARGET_DIR")?,
            None => root.join("target"),
        };
        Ok(Self { root, target })
    }

    /// A command that works in the workspace's top level and shares its target directory.
    ///
    /// What `cargo run` sets for the program that it runs is taken out again: a build script that watches such a
    /// variable would otherwise run anew whenever a build is started from here after one that was started by hand.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target);
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&*name);
            }
        }
        command
    }

    /// A `cargo` command of the active toolchain, its arguments separated by spaces.
    pub(crate) fn cargo(&self, arguments: &str) -> Command {
        let mut command = self.command("cargo");
        command.args(arguments.split_whitespace());
        command
    }

    /// The manifest.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.root.join("spin.toml")
    }

    /// A component, where the manifest says that it is.
    pub(crate) fn component(&self, component: Component) -> PathBuf {
        self.root.join(COMPONENT_DIRECTORY).join(component.file)
    }

    /// Where a release build for the components' target leaves the file `name`.
    pub(crate) fn wasm_output(&self, name: &str) -> PathBuf {
        self.target.join(WASM_TARGET).join("release").join(name)
    }

    /// The checked-in list of the product's imports.
    pub(crate) fn import_list(&self) -> PathBuf {
        self.root.join("wit/imports.txt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_names_the_components_where_they_are_built() {
        let workspace = Workspace::locate().unwrap();
        let manifest = std::fs::read_to_string(workspace.manifest()).unwrap();
        let mut named: Vec<&str> = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("source = "))
            .collect();
        let mut built =
            COMPONENTS.map(|component| format!("\"{COMPONENT_DIRECTORY}/{}\"", component.file));
        named.sort_unstable();
        built.sort_unstable();
        assert_eq!(named, built);
    }
}
