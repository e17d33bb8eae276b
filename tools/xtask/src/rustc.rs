//! The toolchain that `cargo` uses in the workspace, and what it brings.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::workspace::{WASM_TARGET, Workspace};

/// The linker of components that Rust's own toolchains bring, and Debian's does not.
pub(crate) const COMPONENT_LINKER: &str = "wasm-component-ld";

/// The active toolchain.
#[derive(Debug)]
pub(crate) struct ActiveToolchain {
    /// What it says of its version.
    pub(crate) version: String,
    /// Where it is.
    pub(crate) sysroot: PathBuf,
    /// The target of its own programs.
    pub(crate) host: String,
}

impl ActiveToolchain {
    /// Asks the compiler.
    pub(crate) fn ask(workspace: &Workspace) -> Result<Self> {
        let rustc = |args: &[&str]| {
            let mut command = workspace.command("rustc");
            command.args(args);
            process::answer(command).context("rustc, asked about itself, gives no answer")
        };
        let version = rustc(&["--version"])?.trim_end().to_owned();
        let printed = rustc(&["--print", "sysroot", "--print", "host-tuple"])?;
        let mut lines = printed.lines();
        let (Some(sysroot), Some(host)) = (lines.next(), lines.next()) else {
            bail!("rustc, asked for its sysroot and host, prints {printed:?}");
        };
        Ok(Self {
            version,
            sysroot: sysroot.into(),
            host: host.to_owned(),
        })
    }

    /// Whether it can compile the component as it is.
    pub(crate) fn has_wasm_std(&self) -> bool {
        self.sysroot
            .join("lib/rustlib")
            .join(WASM_TARGET)
            .join("lib")
            .is_dir()
    }

    /// Its linker of components, or else one on the PATH.
    pub(crate) fn component_linker(&self, workspace: &Workspace) -> Option<PathBuf> {
        let own = self
            .sysroot
            .join("lib/rustlib")
            .join(&self.host)
            .join("bin")
            .join(COMPONENT_LINKER);
        if own.is_file() {
            return Some(own);
        }
        let mut on_path = workspace.command(COMPONENT_LINKER);
        on_path.arg("--version");
        process::succeeds(on_path).then(|| COMPONENT_LINKER.into())
    }
}
