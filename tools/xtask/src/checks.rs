//! `cargo xtask test`: every check, in the order of what they cost, up to the first that fails.

mod options;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::build::HostProfile;
use crate::proxies::Proxies;
use crate::toolchain::WasmToolchain;
use crate::workspace::{MAIN, Workspace};
use crate::{axe, bench, build, debian, deny, process, proxies, python};
pub(crate) use options::{Checks, Store};

/// The tests of the built components over HTTP. Building the host's own tests builds the host that they start.
const END_TO_END_PACKAGE: &str = "reprise-e2e";

/// What reads metrics as Prometheus does.
const PROMTOOL: &str = "promtool";

/// Runs checks and prints a summary of them, whichever way they end.
pub(crate) fn test(workspace: &Workspace, which: Checks) -> Result<()> {
    let mut steps = Steps::default();
    let outcome = match which {
        Checks::All => all_checks(workspace, &mut steps),
        Checks::Quick => quick_checks(workspace, &mut steps),
        Checks::EndToEnd(store) => end_to_end_checks(workspace, &mut steps, store),
    };
    println!("{}", steps.summary());
    outcome
}

fn quick_checks(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let cargo = |arguments: &str| workspace.cargo(arguments);
    steps.run("formatting", cargo("fmt --all --check"))?;
    steps.run("lints", cargo("clippy --all-targets -- -D warnings"))?;
    steps.run("tests", cargo("test"))
}

fn all_checks(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let cargo = |arguments: &str| workspace.cargo(arguments);
    steps.run("formatting", cargo("fmt --all --check"))?;
    // In the profile of the host's build, whose build scripts are then compiled once.
    let lints = cargo("clippy --profile host --workspace --all-targets -- -D warnings");
    steps.run("lints", lints)?;
    let toolchain = steps.check("wasm toolchain", || WasmToolchain::prepare(workspace))?;
    let lints = wasm_lints(workspace, &toolchain, None);
    steps.run("lints of the components", lints)?;
    steps.run("tests", cargo("test"))?;
    // Apart, because a link to what is private is wrong in the one and right in the other.
    for (name, items) in [
        ("documentation", ""),
        (
            "documentation of what is private",
            "--document-private-items",
        ),
    ] {
        let documentation = format!("doc --profile host --workspace --no-deps {items}");
        let mut documentation = cargo(&documentation);
        documentation.env("RUSTDOCFLAGS", "-D warnings");
        steps.run(name, documentation)?;
    }
    steps.check("components", || build::components(workspace, &toolchain))?;
    steps.check("imports", || build::check_imports(workspace))?;
    steps.check("sizes", || build::check_sizes(workspace))?;
    let guest = build::guest_manifest(workspace);
    let guest = guest.map(|manifest| guest_checks(workspace, steps, &toolchain, &manifest));
    let guest = guest.transpose()?;
    steps.check("dependencies", || deny::deny(workspace))?;
    let programs = Programs::ensure(workspace, steps)?;
    let mut tests = programs.tests(workspace, Store::Sqlite);
    tests.envs(guest.map(|guest| ("REPRISE_GUEST_WASM", guest)));
    // The demo is part of them: README.md shows what it prints, so it is played there.
    steps.run("host and end-to-end tests", tests)?;
    let mut tests = programs.tests(workspace, Store::RedisTwo);
    tests.args(end_to_end_tests(workspace, Store::RedisTwo)?);
    steps.run("end-to-end tests on Redis", tests)?;
    let bare = build::bare_manifest(workspace);
    let lints = wasm_lints(workspace, &toolchain, Some(&bare));
    steps.run("lints of the bare component", lints)?;
    steps.run("tests of the benchmark", bench::tests(workspace))?;
    steps.check("benchmark, quick", || bench::quick(workspace, &toolchain))?;
    // Last, so that a log ends in what a test runner says of its tests.
    let mut tests = cargo("test --package xtask");
    tests.args(["--package", "reprise-locks"]);
    steps.run("tests of these commands", tests)
}

/// Builds what the end-to-end tests start, and runs them on one store.
fn end_to_end_checks(workspace: &Workspace, steps: &mut Steps, store: Store) -> Result<()> {
    let toolchain = steps.check("wasm toolchain", || WasmToolchain::prepare(workspace))?;
    steps.check("components", || build::components(workspace, &toolchain))?;
    let programs = Programs::ensure(workspace, steps)?;
    let mut tests = programs.tests(workspace, store);
    tests.args(end_to_end_tests(workspace, store)?);
    steps.run("end-to-end tests", tests)
}

/// The tests of documents and of what is deployed, which choose their store themselves.
const WITHOUT_A_STORE: [&str; 2] = ["deploy", "documents"];

/// What chooses the end-to-end tests of all that the host's tests are built with: building them without those would
/// compile everything once more.
fn end_to_end_tests(workspace: &Workspace, store: Store) -> Result<Vec<String>> {
    let folder = workspace.root.join("tools/e2e/tests");
    let files = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut arguments = Vec::new();
    for file in files {
        let path = file?.path();
        let is_test = path.extension().is_some_and(|extension| extension == "rs")
            || path.join("main.rs").is_file();
        let Some(name) = path.file_stem().map(|name| name.to_string_lossy()) else {
            continue;
        };
        if is_test && !(store != Store::Sqlite && WITHOUT_A_STORE.contains(&&*name)) {
            arguments.extend(["--test".to_owned(), name.into_owned()]);
        }
    }
    Ok(arguments)
}

/// What the end-to-end tests need beside what is built here.
struct Programs {
    proxies: Proxies,
    python: PathBuf,
    axe: PathBuf,
}

impl Programs {
    /// Makes sure that all are there.
    fn ensure(workspace: &Workspace, steps: &mut Steps) -> Result<Self> {
        steps.check("redis-server", || {
            let why = "the end-to-end tests start a Redis of their own";
            ensure_program(workspace, "redis-server", &["redis-server"], why)
        })?;
        steps.check("promtool", || {
            let why = "the end-to-end tests have Prometheus' own tool read the metrics";
            ensure_program(workspace, PROMTOOL, &["prometheus"], why)
        })?;
        steps.check("sqlite3", || {
            let why = "the documents show how a store is backed up";
            ensure_program(workspace, "sqlite3", &["sqlite3"], why)
        })?;
        steps.check("systemd-analyze", || {
            let why = "the end-to-end tests have it verify the units in deploy";
            ensure_program(workspace, "systemd-analyze", &["systemd"], why)
        })?;
        let proxies = steps.check("proxies", || proxies::ensure(workspace))?;
        let python = steps.check("python", || python::ensure(workspace))?;
        steps.check("browser", || ensure_browser(workspace))?;
        let axe = steps.check("axe-core", || axe::ensure(workspace))?;
        Ok(Self {
            proxies,
            python,
            axe,
        })
    }

    /// The tests of the host, and those from end to end on this store.
    fn tests(&self, workspace: &Workspace, store: Store) -> Command {
        let mut tests = build::host_command(workspace, HostProfile::Host, "test");
        tests.args(["--package", END_TO_END_PACKAGE]);
        tests.env("REPRISE_HOST", build::host_program(workspace));
        tests.env("REPRISE_WASM", workspace.component(MAIN));
        tests.env("REPRISE_MANIFEST", workspace.manifest());
        tests.env("REPRISE_PROMTOOL", PROMTOOL);
        tests.env("REPRISE_NGINX", &self.proxies.nginx);
        tests.env("REPRISE_CADDY", &self.proxies.caddy);
        tests.env("REPRISE_PYTHON", &self.python);
        tests.env("REPRISE_AXE", &self.axe);
        tests.env("REPRISE_E2E_STORE", store.name());
        tests
    }
}

/// Checks and builds the component that the host's tests serve: no check of the workspace reaches that package.
fn guest_checks(
    workspace: &Workspace,
    steps: &mut Steps,
    toolchain: &WasmToolchain,
    manifest: &Path,
) -> Result<PathBuf> {
    let mut formatting = workspace.cargo("fmt --check --manifest-path");
    formatting.arg(manifest);
    steps.run("formatting of the test guest", formatting)?;
    let lints = wasm_lints(workspace, toolchain, Some(manifest));
    steps.run("lints of the test guest", lints)?;
    steps.check("test guest", || {
        build::guest(workspace, toolchain, manifest)
    })
}

/// Clippy for the components' target: natively it never sees the code that only a component has.
fn wasm_lints(
    workspace: &Workspace,
    toolchain: &WasmToolchain,
    manifest: Option<&Path>,
) -> Command {
    let mut clippy = toolchain.cargo(workspace, "clippy");
    // The profile of the build that follows, which then finds the build scripts and macros compiled.
    clippy.arg("--release");
    if let Some(manifest) = manifest {
        clippy.arg("--manifest-path").arg(manifest);
    }
    clippy.args(["--", "-D", "warnings"]);
    clippy
}

/// The end-to-end tests start a browser of their own, which takes the program that drives it: the one on the PATH, or
/// what the environment names.
fn ensure_browser(workspace: &Workspace) -> Result<()> {
    let program = env::var("REPRISE_CHROMEDRIVER").unwrap_or_else(|_| "chromedriver".to_owned());
    let why = "the end-to-end tests look at a page in a browser";
    ensure_program(workspace, &program, &["chromium", "chromium-driver"], why)
}

/// Makes sure that a program starts, which these packages of Debian have.
fn ensure_program(
    workspace: &Workspace,
    program: &str,
    packages: &[&str],
    why: &str,
) -> Result<()> {
    let is_there = || {
        let mut command = workspace.command(program);
        command.arg("--version");
        process::answer(command)
    };
    if is_there().is_none() {
        if !debian::is_here() {
            bail!("{program} is not on the PATH: {why}");
        }
        debian::ensure(workspace, packages, why)?;
    }
    let version =
        is_there().with_context(|| format!("{program} is installed, but does not start"))?;
    eprintln!("{}", version.trim_end());
    Ok(())
}

/// The checks that have run, each with its time.
#[derive(Debug, Default)]
struct Steps {
    done: Vec<(&'static str, Duration)>,
    failed: Option<(&'static str, Duration)>,
}

impl Steps {
    /// Runs a command as one step.
    fn run(&mut self, name: &'static str, command: Command) -> Result<()> {
        self.check(name, || process::run(command))
    }

    /// Takes one step, whatever it consists of.
    fn check<T>(&mut self, name: &'static str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let outcome = step();
        let took = start.elapsed();
        match &outcome {
            Ok(_) => self.done.push((name, took)),
            Err(_) => self.failed = Some((name, took)),
        }
        eprintln!("== {name}: {took:.1?}");
        outcome.with_context(|| format!("{name} failed"))
    }

    fn summary(&self) -> String {
        let done = self.done.iter().map(|step| ("ok", step));
        let failed = self.failed.iter().map(|step| ("FAILED", step));
        let mut lines = vec![String::new(), "Checks:".to_owned()];
        let mut total = Duration::ZERO;
        for (verdict, (name, took)) in done.chain(failed) {
            lines.push(format!(
                "  {verdict:<6} {:>6}.{} s  {name}",
                took.as_secs(),
                took.subsec_millis() / 100
            ));
            total += *took;
        }
        lines.push(format!(
            "  total  {:>6}.{} s",
            total.as_secs(),
            total.subsec_millis() / 100
        ));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_to_end_test_is_chosen() {
        let workspace = Workspace::locate().unwrap();
        for store in Store::ALL {
            let chosen = end_to_end_tests(&workspace, store).unwrap();
            let has = |name: &str| chosen.iter().any(|argument| argument == name);
            for name in ["claims", "console", "durability", "torture"] {
                assert!(has(name), "{name}");
            }
            assert_eq!(has("documents"), store == Store::Sqlite);
            let options = chosen.iter().filter(|argument| *argument == "--test");
            assert_eq!(options.count() * 2, chosen.len());
        }
    }

    #[test]
    fn a_summary_lists_what_ran_and_what_failed() {
        let mut steps = Steps::default();
        assert_eq!(steps.check("first", || Ok(7)).unwrap(), 7);
        let error = steps
            .check("second", || -> Result<()> { bail!("no luck") })
            .expect_err("it failed");
        assert_eq!(format!("{error:#}"), "second failed: no luck");
        let summary = steps.summary();
        let verdicts: Vec<_> = summary
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(verdicts, ["Checks:", "ok", "FAILED", "total"]);
    }
}
