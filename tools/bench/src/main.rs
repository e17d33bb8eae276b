//! The benchmark: Reprise beside a bare component, a native twin and Restate, on one machine in one run.
//!
//! It is started by `cargo xtask bench`, which builds what it measures. Progress goes to the standard error, the table to
//! the standard output. Nothing here judges a single number: what counts are ratios of neighbours in one run, since a
//! disk may be five times as slow as it was an hour ago.

mod cells;
mod counters;
mod extras;
mod goals;
mod json;
mod lengths;
mod machine;
mod median;
mod options;
mod programs;
mod restate;
mod rows;
mod run;
mod server;
mod store;
mod subject;
mod summary;
mod table;
mod twin;
mod world;
mod wrk;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use twin::Twin;

fn main() -> ExitCode {
    match begin() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn begin() -> Result<()> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if let [command, rest @ ..] = &arguments[..]
        && command == "twin"
    {
        return twin_of(rest)?.serve();
    }
    match options::parse(arguments)? {
        Some(options) => run::run(options),
        None => {
            print!("{}", options::USAGE);
            Ok(())
        }
    }
}

/// The benchmark starts itself as the twin: `twin ADDRESS PAYMENTS FILE`.
fn twin_of(arguments: &[OsString]) -> Result<Twin> {
    let [listen, payments, file] = arguments else {
        anyhow::bail!("a twin takes an address, that of the payment API, and a file");
    };
    let text = |argument: &OsString| argument.clone().into_string().ok();
    Ok(Twin {
        listen: text(listen).context("the address is no text")?,
        payments: text(payments).context("the address is no text")?,
        file: file.into(),
    })
}
