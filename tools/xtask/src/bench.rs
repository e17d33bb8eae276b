//! `cargo xtask bench`: builds what is measured and what measures, then measures.
//!
//! What it measures and how is the business of `tools/bench`, which also reads the command's options.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::build::{self, HOST_PACKAGE, HostProfile};
use crate::toolchain::WasmToolchain;
use crate::workspace::{SANDBOX, Workspace};
use crate::{debian, process, restate};

/// What the benchmark tells of its options, without it: it takes minutes to compile.
pub(crate) const USAGE: &str = include_str!("../../bench/src/usage.txt");

/// The package that measures.
const PACKAGE: &str = "reprise-bench";

/// What has to be known of the arguments before; the benchmark itself reads all of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Only check that it works.
    pub(crate) quick: bool,
    /// Everything behind the command's name.
    pub(crate) passed_on: Vec<OsString>,
}

impl Options {
    /// Looks at the arguments behind the command.
    pub(crate) fn of(passed_on: Vec<OsString>) -> Self {
        Self {
            quick: passed_on.iter().any(|argument| argument == "--quick"),
            passed_on,
        }
    }
}

/// Builds everything, then measures.
pub(crate) fn bench(workspace: &Workspace, options: &Options) -> Result<()> {
    let profile = if options.quick {
        HostProfile::Host
    } else {
        HostProfile::BenchHost
    };
    let toolchain = WasmToolchain::prepare(workspace)?;
    build::components(workspace, &toolchain)?;
    // With a Spin the host would be built for nothing, and that takes long.
    let with_spin = |argument: &OsString| argument.to_string_lossy().starts_with("--spin");
    if !options.passed_on.iter().any(with_spin) {
        process::run(build::host_command(workspace, profile, "build"))?;
    }
    let mut measure = prepared(workspace, &toolchain, profile)?;
    if !options.quick
        && let Some(folder) = restate::ensure(workspace)
    {
        measure.env("REPRISE_RESTATE", folder);
    }
    measure.args(&options.passed_on);
    // Paths among the arguments are the caller's.
    measure.current_dir(env::current_dir()?);
    process::run(measure)
}

/// The quick run, on the components and the host as they were built already.
pub(crate) fn quick(workspace: &Workspace, toolchain: &WasmToolchain) -> Result<()> {
    let mut measure = prepared(workspace, toolchain, HostProfile::Host)?;
    measure.arg("--quick");
    process::run(measure)
}

/// The benchmark's own tests.
pub(crate) fn tests(workspace: &Workspace) -> Command {
    let profile = HostProfile::Host.name();
    workspace.cargo(&format!("test --profile {profile} --package {PACKAGE}"))
}

/// The benchmark with all that it needs, but for arguments and the host.
///
/// The host is built by itself: together with another package it would be compiled anew, with all of wasmtime, for the
/// features that the two have in common.
fn prepared(
    workspace: &Workspace,
    toolchain: &WasmToolchain,
    profile: HostProfile,
) -> Result<Command> {
    ensure_wrk(workspace)?;
    let bare = build::guest(workspace, toolchain, &build::bare_manifest(workspace))?;
    process::run(workspace.cargo(&format!(
        "build --profile {} --package {PACKAGE}",
        profile.name()
    )))?;
    let program = |package| build::program(workspace, profile, package);
    let mut measure = workspace.command(program(PACKAGE));
    let files: [(&str, PathBuf); 4] = [
        ("REPRISE_HOST", program(HOST_PACKAGE)),
        ("REPRISE_MANIFEST", workspace.manifest()),
        ("REPRISE_BARE_WASM", bare),
        ("REPRISE_SANDBOX_WASM", workspace.component(SANDBOX)),
    ];
    measure.envs(files);
    Ok(measure)
}

/// The load generator.
fn ensure_wrk(workspace: &Workspace) -> Result<()> {
    let is_there = || {
        // It knows no option that succeeds, and tells its version all the same.
        let mut command = Command::new("wrk");
        command.arg("--version");
        let output = command.output().ok()?;
        String::from_utf8(output.stdout)
            .ok()?
            .lines()
            .next()
            .map(str::to_owned)
    };
    if is_there().is_none() {
        if !debian::is_here() {
            bail!("the benchmark needs wrk on the PATH");
        }
        debian::ensure(workspace, &["wrk"], "the benchmark's load comes from it")?;
    }
    let version = is_there().context("wrk is installed, but does not start")?;
    eprintln!("{version}");
    Ok(())
}
