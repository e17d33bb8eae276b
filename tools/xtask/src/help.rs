//! `cargo xtask help`: what each command does.

use anyhow::{Context as _, Result};

use crate::bench;

/// What `cargo xtask help` prints.
pub(crate) const USAGE: &str = "\
The development commands of Reprise.

  cargo xtask up [--host] [--listen ADDR] [--state-dir DIR] [--tick DURATION | --no-tick] [-- ARGS…]
      Builds the components and serves them on http://127.0.0.1:3000, with `spin up` where a Spin of at least 4.1
      is on the PATH and with the workspace's own host otherwise or with --host. ARGS go to the server as they are.
      Ticks every second, or as often as --tick says, so that work goes on when nobody asks. That takes an operators'
      token: without one (SPIN_VARIABLE_ADMIN_TOKEN, or -- --variable admin_token=TOKEN) this run gets a random one.
  cargo xtask tick [--listen ADDR] [--every DURATION] [--beside PID]
      Calls POST /-/tick of what is served at ADDR, with SPIN_VARIABLE_ADMIN_TOKEN for a token, until it is stopped or
      is no longer a child of the process PID. `up` starts it beside Spin, which has no ticks.
  cargo xtask demo [--step] [--keep]
      Builds what `up` builds and plays a story of lost answers, outages and crashes on a free port, checking each
      promise. --step: waits for Enter before each act. --keep: leaves the service running at the end.
  cargo xtask watch [--listen ADDR] [--every DURATION]
      Shows the counters of what is served at ADDR, with SPIN_VARIABLE_ADMIN_TOKEN for a token, until it is stopped.
  cargo xtask test [--quick | --store STORE]
      Checks everything. --quick: formatting, lints and tests of the components' code, natively. --store: only the
      end-to-end tests, on sqlite with one host, on redis with one, or on redis-two with two that are asked in turn.
  cargo xtask release-check
      Says whether what is here can be released: one version everywhere and in the change log, nothing that is not
      committed, documentation without warnings, the component's size and imports, the documents' examples.
  cargo xtask wasm
      Builds the components and prints their paths and sizes.
  cargo xtask imports [--bless]
      Builds the component and compares its imports with wit/imports.txt. --bless: writes that file instead.
  cargo xtask deny
      Holds what the workspace depends on against deny.toml and its like: licences, sources, versions, and known flaws
      where their database can be reached. Installs cargo-deny in the target directory if it is not on the PATH.
  cargo xtask bench [--quick] [OPTIONS…]
      Measures Reprise beside its peers and prints a table; `cargo xtask bench --help` lists the options. --quick: only
      checks that the benchmark works, on what the tests have built.
  cargo xtask python
      Installs the Python programs of the end-to-end tests in the target directory, and prints where their Python is:
      `REPRISE_PYTHON=$(cargo xtask python) cargo test --profile host --package reprise-e2e --test openapi`.
  cargo xtask axe
      Installs the accessibility checker of the end-to-end tests in the target directory, and prints where it is:
      `REPRISE_AXE=$(cargo xtask axe) cargo test --profile host --package reprise-e2e --test console`.
  cargo xtask help [COMMAND]
      Tells this, or what a command does, as `cargo xtask COMMAND --help` does.
";

/// How a command's paragraph in [`USAGE`] begins, up to the command.
pub(crate) const PARAGRAPH: &str = "\n  cargo xtask ";

/// What one command does.
pub(crate) fn of(name: &str) -> Result<String> {
    if name == "bench" {
        return Ok(bench::USAGE.to_owned());
    }
    let mut paragraphs = USAGE.split(PARAGRAPH).skip(1);
    let is_of = |paragraph: &&str| paragraph.split_whitespace().next() == Some(name);
    let paragraph = paragraphs
        .find(is_of)
        .with_context(|| format!("no command `{name}`; `cargo xtask help` lists them"))?;
    Ok(format!("cargo xtask {}\n", paragraph.trim_end()))
}
