//! The toolchain that compiles the component: where its standard library comes from, and how cargo is then called.
//!
//! A Rust toolchain can compile for wasm32-wasip2 only with that target's standard library, which a fresh machine
//! lacks. [`WasmToolchain::prepare`] gets it in the first way that works: it is there already; rustup adds it; or
//! Debian's packages bring a compiler together with the sources of its standard library, which cargo then builds
//! along with the component. Another way to install anything is not looked for: the error names these.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::workspace::{WASM_TARGET, Workspace};
use crate::{debian, process};

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

/// The linker of components that Rust's own toolchains bring, and Debian's does not.
const COMPONENT_LINKER: &str = "wasm-component-ld";

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
                    if let Err(error) = add_with_rustup(workspace) {
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
        eprintln!(
            "The component is compiled with Debian's Rust, which builds the standard library of {WASM_TARGET}."
        );
        if refusal.is_remembered() {
            eprintln!(
                "(rustup could not add it; remove {} to ask again)",
                refusal.file.display()
            );
        }
        debian::ensure(workspace, DEBIAN_PACKAGES, DEBIAN_WHY).with_context(how_to_install)?;
        let linker = active.component_linker(workspace).with_context(|| {
            format!("{COMPONENT_LINKER} is missing: it comes with Rust's own toolchains, or `cargo install {COMPONENT_LINKER}`")
        })?;
        Ok(Self::Debian { linker })
    }

    /// `cargo` with a subcommand that compiles for the component's target.
    pub(crate) fn cargo(&self, workspace: &Workspace, subcommand: &str) -> Command {
        match self {
            Self::Active => workspace.cargo(&[subcommand, "--target", WASM_TARGET]),
            Self::Debian { linker } => {
                // Cargo would look for its subcommands on the PATH first, and find the active toolchain's clippy there.
                let program = if subcommand == "clippy" {
                    "/usr/bin/cargo-clippy"
                } else {
                    "/usr/bin/cargo"
                };
                let mut command = workspace.command(program);
                command.args([
                    subcommand,
                    "-Z",
                    "build-std=std,panic_abort",
                    "--target",
                    WASM_TARGET,
                ]);
                command.env("CARGO", "/usr/bin/cargo");
                command.env("RUSTC", "/usr/bin/rustc");
                // Building the standard library is an unstable feature of cargo; the language stays the stable one.
                command.env("RUSTC_BOOTSTRAP", "1");
                // Both would take the place of the flags below; and only the target's code may see those.
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
        }
    }
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

/// What rustup can do here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rustup {
    /// It is not installed.
    Absent,
    /// It has not been asked.
    Ready,
    /// It was asked for this toolchain's target, now or in an earlier run, and that did not help.
    Refused,
}

impl Rustup {
    fn look(workspace: &Workspace, refusal: &Refusal) -> Self {
        let mut command = workspace.command("rustup");
        command.arg("--version");
        if !process::succeeds(command) {
            Self::Absent
        } else if refusal.is_remembered() {
            Self::Refused
        } else {
            Self::Ready
        }
    }
}

/// Asks rustup for the target, and gives the line in which it says why not.
fn add_with_rustup(workspace: &Workspace) -> Result<(), String> {
    let mut command = workspace.command("rustup");
    command.args(["target", "add", WASM_TARGET]);
    eprintln!("$ {}", process::shown(&command));
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find_map(|line| line.strip_prefix("error: "));
    Err(line.map_or_else(|| output.status.to_string(), str::to_owned))
}

/// The memory, in the target directory, that rustup could not add the target to this toolchain.
///
/// Without a network the question costs up to three minutes, too much for every run. Another toolchain, or another
/// version of this one, is asked about anew.
#[derive(Debug)]
struct Refusal {
    file: PathBuf,
    toolchain: String,
}

impl Refusal {
    fn of(workspace: &Workspace, active: &ActiveToolchain) -> Self {
        Self {
            file: workspace.target.join("rustup-refused-wasm32-wasip2"),
            toolchain: format!("{} in {}\n", active.version, active.sysroot.display()),
        }
    }

    fn is_remembered(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|toolchain| toolchain == self.toolchain)
    }

    fn remember(&self) -> Result<()> {
        if let Some(dir) = self.file.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&self.file, &self.toolchain).with_context(|| self.file.display().to_string())
    }
}

/// The toolchain that `cargo` uses in the workspace.
#[derive(Debug)]
struct ActiveToolchain {
    version: String,
    sysroot: PathBuf,
    host: String,
}

impl ActiveToolchain {
    fn ask(workspace: &Workspace) -> Result<Self> {
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

    fn has_wasm_std(&self) -> bool {
        self.sysroot
            .join("lib/rustlib")
            .join(WASM_TARGET)
            .join("lib")
            .is_dir()
    }

    fn component_linker(&self, workspace: &Workspace) -> Option<PathBuf> {
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

fn how_to_install() -> String {
    format!(
        "the component needs the standard library of {WASM_TARGET}, which is not installed. Install it with \
         `rustup target add {WASM_TARGET}`; or, on Debian, as root: `apt-get install {}`",
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
    fn a_refusal_is_remembered_for_the_toolchain_it_was_about() {
        let target = env::temp_dir().join(format!("reprise-xtask-refusal-{}", std::process::id()));
        let workspace = Workspace {
            root: target.clone(),
            target: target.clone(),
        };
        let toolchain = |version: &str| ActiveToolchain {
            version: version.to_owned(),
            sysroot: "/toolchain".into(),
            host: "any".to_owned(),
        };
        let refusal = Refusal::of(&workspace, &toolchain("rustc 1.95.0"));
        assert!(!refusal.is_remembered());
        refusal.remember().unwrap();
        assert!(Refusal::of(&workspace, &toolchain("rustc 1.95.0")).is_remembered());
        assert!(!Refusal::of(&workspace, &toolchain("rustc 1.96.0")).is_remembered());
        fs::remove_dir_all(&target).unwrap();
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
