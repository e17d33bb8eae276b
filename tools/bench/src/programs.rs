//! The programs and files that `cargo xtask bench` has built or found, by the variables that name them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use reprise_e2e::Options as Application;
use reprise_e2e::fill::ORDERS_EVENT;

use crate::subject::Subject;

/// The programs.
#[derive(Debug)]
pub(crate) struct Programs {
    host: PathBuf,
    /// Takes the place of the host.
    spin: Option<PathBuf>,
    bare: PathBuf,
    sandbox: PathBuf,
    /// Where compiled code is kept, by our host.
    cache: PathBuf,
    /// The folder with Restate, its handler and what both need, where they are installed.
    pub(crate) restate: Option<PathBuf>,
    /// Where files may lie that are written to as a store is: not in memory.
    pub(crate) scratch: PathBuf,
}

/// How Reprise takes orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Events {
    /// Without an event: no other subject has any.
    Off,
    /// As the reference configuration has it.
    On,
}

impl Programs {
    /// Looks them up.
    pub(crate) fn find(spin: Option<PathBuf>) -> Result<Self> {
        let named = |name: &str| {
            env::var_os(name)
                .map(PathBuf::from)
                .with_context(|| format!("{name} is not set: start this as `cargo xtask bench`"))
        };
        let target = named("CARGO_TARGET_DIR")?;
        let scratch = target.join("bench");
        fs::create_dir_all(&scratch)?;
        Ok(Self {
            host: named("REPRISE_HOST")?,
            spin,
            bare: named("REPRISE_BARE_WASM")?,
            sandbox: named("REPRISE_SANDBOX_WASM")?,
            cache: target.join("wasmtime-cache"),
            restate: env::var_os("REPRISE_RESTATE").map(PathBuf::from),
            scratch,
        })
    }

    /// Writes the application of a component into its state's folder, and gives its manifest.
    pub(crate) fn application(
        &self,
        subject: Subject,
        state: &Path,
        events: Events,
    ) -> Result<PathBuf> {
        let folder = if subject == Subject::Bare {
            let folder = state.join("application");
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("spin.toml"), self.bare_manifest())?;
            folder
        } else {
            let application = Application::default();
            match events {
                Events::Off => application.edit(ORDERS_EVENT, ""),
                Events::On => application,
            }
            .application(state)
        };
        Ok(folder.join("spin.toml"))
    }

    /// What serves an application, over the state in this folder.
    pub(crate) fn server(&self, manifest: &Path, state: &Path, address: &str) -> Command {
        let mut command;
        if let Some(spin) = &self.spin {
            command = Command::new(spin);
            command.arg("up");
        } else {
            command = Command::new(&self.host);
            command.arg("--stats").arg("--cache-dir").arg(&self.cache);
        }
        command.arg("--from").arg(manifest);
        command.args(["--listen", address]);
        command.arg("--state-dir").arg(state);
        command
    }

    /// Whether what serves the components counts their calls.
    pub(crate) const fn counts_calls(&self) -> bool {
        self.spin.is_none()
    }

    fn bare_manifest(&self) -> String {
        format!(
            r#"spin_manifest_version = 2

[application]
name = "bench-bare"
version = "0.1.0"

[[trigger.http]]
route = "/..."
component = "bare"

[[trigger.http]]
route = "/payment-sandbox/..."
component = "payment-sandbox"

[component.bare]
source = "{}"
key_value_stores = ["default"]
allowed_outbound_hosts = ["http://payment-sandbox.spin.internal"]

[component.payment-sandbox]
source = "{}"
key_value_stores = ["default"]
allowed_outbound_hosts = []
"#,
            self.bare.display(),
            self.sandbox.display()
        )
    }
}
