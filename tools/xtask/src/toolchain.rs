//! The toolchain that compiles the component: where its standard library comes from, and how cargo is then called.
//!
//! A Rust toolchain can compile for wasm32-wasip2 only with that target's standard library, which a fresh machine
//! lacks. [`WasmToolchain::prepare`] gets it in the first way that works: it is there already; rustup adds it; or
//! Debian's packages bring a compiler together with the sources of its standard library, which cargo then builds
//! along with the component. Where none of these works, the error says what to install.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::debian;
use crate::rustc::{ActiveToolchain, COMPONENT_LINKER};
use crate::rustup::{self, Refusal, Rustup};
use crate::workspace::{WASM_TARGET, Workspace};

/// Debian's compiler for the web, cargo, clippy and the sources of its standard library, all of one version; the
/// linker that goes with that compiler's LLVM; and the C library that the standard library links.
const DEBIAN_PACKAGES: &[&str] = &[
    "rustc-web",
    "cargo-web",
    "rust-web-clippy",
    "rust-web-src",
    "lld-22",
    "wasi-libc",
];

/// What the packages are for, as it is told before they are installed.
const DEBIAN_WHY: &str =
    "they compile the standard library of wasm32-wasip2 along with the component";

/// A way to run cargo for the component's target.
#[derive(Debug)]
pub(crate) enum WasmToolchain {
    /// The active toolchain, which has the target's standard library.
    Active,
    /// Debian's toolchain, which compiles the standard library from its sources.
    Debian {
        /// The linker of components, from elsewhere.
        linker: PathBuf,
    },
}

impl WasmToolchain {
    /// Makes sure that the component can be compiled, installing what is missing.
    pub(crate) fn prepare(workspace: &Workspace) -> Result<Self> {
        let active = ActiveToolchain::ask(workspace)?;
        let refusal = Refusal::of(workspace, &active);
        let mut rustup = Rustup::look(workspace, &refusal);
        loop {
            match Way::first_open(active.has_wasm_std(), rustup, debian::is_here()) {
                Way::Installed => return Ok(Self::Active),
                Way::Rustup => {
                    rustup = Rustup::Refused;
                    if let Err(error) = rustup::add_target(workspace) {
                        eprintln!("rustup cannot add {WASM_TARGET}: {error}");
                        refusal.remember()?;
                    }
                }
                Way::Debian => return Self::prepare_debian(workspace, &active, &refusal),
                Way::Closed => bail!("{}", how_to_install()),
            }
        }
    }

    fn prepare_debian(
        workspace: &Workspace,
        active: &ActiveToolchain,
        refusal: &Refusal,
    ) -> Result<Self> {
        eprintln!("Debian's Rust compiles the component, and the standard library along with it.");
        if refusal.is_remembered() {
            let file = refusal.file.display();
            eprintln!("Rustup could not add it; it is asked again once {file} is removed.");
        }
        debian::ensure(workspace, DEBIAN_PACKAGES, DEBIAN_WHY).with_context(how_to_install)?;
        let linker = active.component_linker(workspace).with_context(|| {
            format!(
                "{COMPONENT_LINKER} is missing: the toolchains that rustup installs have it, and \
                 `cargo install {COMPONENT_LINKER}` installs it alone"
            )
        })?;
        Ok(Self::Debian { linker })
    }

    /// `cargo` with a subcommand that compiles for the component's target.
    pub(crate) fn cargo(&self, workspace: &Workspace, subcommand: &str) -> Command {
        match self {
            Self::Active => workspace.cargo(&format!("{subcommand} --target {WASM_TARGET}")),
            Self::Debian { linker } => debian_cargo(workspace, subcommand, linker),
        }
    }
}

/// Debian's cargo, with a subcommand that compiles the standard library along with the workspace.
fn debian_cargo(workspace: &Workspace, subcommand: &str, linker: &Path) -> Command {
    let mut command = if subcommand == "clippy" {
        // Cargo would look for its subcommands in rustup's directory first, and run the active toolchain's clippy.
        let mut clippy = workspace.command("/usr/bin/cargo-clippy");
        clippy.env("CARGO", "/usr/bin/cargo");
        clippy
    } else {
        workspace.command("/usr/bin/cargo")
    };
    command.args([
        subcommand,
        "-Z",
        "build-std=std,panic_abort",
        "--target",
        WASM_TARGET,
    ]);
    // As a ready-made standard library is: with the profile's own level it would be small and slow.
    for package in ["alloc", "core", "dlmalloc", "std"] {
        command.arg("--config");
        command.arg(format!("profile.release.package.{package}.opt-level=3"));
    }
    command.env("RUSTC", "/usr/bin/rustc");
    // Building the standard library is an unstable feature of cargo; the component's code keeps to the stable ones, as
    // it has to compile with other toolchains.
    command.env("RUSTC_BOOTSTRAP", "1");
    // Both would take the place of the flags below, which only the target's code may see.
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.env("CARGO_TARGET_WASM32_WASIP2_LINKER", linker);
    command.env(
        "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS",
        DEBIAN_FLAGS.join(" "),
    );
    command
}

/// Debian's standard library has no C library inside (`self-contained`): the one that is installed takes its place,
/// along with the start code of a library that is initialised once and then called many times (a reactor).
const DEBIAN_FLAGS: &[&str] = &[
    "-C link-arg=--wasm-ld-path=/usr/bin/wasm-ld-22",
    "-C link-self-contained=no",
    "-L native=/usr/lib/wasm32-wasi",
    "-C link-arg=/usr/lib/wasm32-wasi/crt1-reactor.o",
];

/// A way to the target's standard library.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Installed,
    Rustup,
    Debian,
    Closed,
}

impl Way {
    /// The ways in the order of what they cost.
    fn first_open(installed: bool, rustup: Rustup, debian: bool) -> Self {
        match (installed, rustup, debian) {
            (true, Rustup::Absent | Rustup::Ready | Rustup::Refused, _) => Self::Installed,
            (false, Rustup::Ready, _) => Self::Rustup,
            (false, Rustup::Absent | Rustup::Refused, true) => Self::Debian,
            (false, Rustup::Absent | Rustup::Refused, false) => Self::Closed,
        }
    }
}

fn how_to_install() -> String {
    format!(
        "the component needs the standard library of {WASM_TARGET}: install it with `rustup target add {WASM_TARGET}` \
         or, on Debian, as root, `apt-get install {}`",
        DEBIAN_PACKAGES.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn the_ways_are_taken_in_their_order() {
        for rustup in [Rustup::Absent, Rustup::Ready, Rustup::Refused] {
            for debian in [true, false] {
                assert_eq!(Way::first_open(true, rustup, debian), Way::Installed);
            }
        }
        assert_eq!(Way::first_open(false, Rustup::Ready, true), Way::Rustup);
        assert_eq!(Way::first_open(false, Rustup::Ready, false), Way::Rustup);
        assert_eq!(Way::first_open(false, Rustup::Refused, true), Way::Debian);
        assert_eq!(Way::first_open(false, Rustup::Absent, true), Way::Debian);
        assert_eq!(Way::first_open(false, Rustup::Refused, false), Way::Closed);
        assert_eq!(Way::first_open(false, Rustup::Absent, false), Way::Closed);
    }

    #[test]
    fn debian_s_recipe_leaves_no_flag_of_the_caller_in_the_way() {
        let workspace = Workspace {
            root: env::temp_dir(),
            target: env::temp_dir(),
        };
        let debian = WasmToolchain::Debian {
            linker: "/a dir/wasm-component-ld".into(),
        };
        let build = debian.cargo(&workspace, "build");
        let set = |name: &str| {
            build
                .get_envs()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value)
        };
        assert_eq!(set("RUSTFLAGS"), Some(None));
        assert_eq!(set("CARGO_ENCODED_RUSTFLAGS"), Some(None));
        assert_eq!(
            set("CARGO_TARGET_WASM32_WASIP2_LINKER"),
            Some(Some("/a dir/wasm-component-ld".as_ref()))
        );
        assert_eq!(build.get_program(), "/usr/bin/cargo");
        assert_eq!(
            debian.cargo(&workspace, "clippy").get_program(),
            "/usr/bin/cargo-clippy"
        );
    }
}
