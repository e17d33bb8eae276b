//! The development commands of Reprise, run as `cargo xtask …`.
//!
//! `up` and `test` are the two commands that a newcomer types: they install what the machine lacks, say what they
//! install and why, and end in a served address or in a verdict. Everything that a script or a CI job would otherwise
//! have to know about building the component is here, and nowhere else.
//!
//! Messages about progress go to the standard error, results to the standard output.

mod args;
mod axe;
mod bench;
mod build;
mod checks;
mod debian;
mod demo;
mod deny;
mod help;
mod http;
mod imports;
mod json;
mod process;
mod proxies;
mod python;
mod release;
mod restate;
mod rustc;
mod rustup;
mod screen;
mod serve;
mod spin;
mod store_file;
mod tick;
mod token;
mod toolchain;
mod watch;
mod workspace;

use std::process::ExitCode;

use args::Task;
use workspace::Workspace;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let task = args::parse(std::env::args_os().skip(1))?;
    let workspace = Workspace::locate()?;
    match task {
        Task::Help(text) => {
            print!("{text}");
            Ok(())
        }
        Task::Up(options) => serve::up(&workspace, &options),
        Task::Tick(options) => tick::tick(&options),
        Task::Demo(options) => demo::demo(&workspace, options),
        Task::Watch(options) => watch::watch(&options),
        Task::Wasm => build::wasm(&workspace),
        Task::Imports { bless } => build::imports(&workspace, bless),
        Task::Deny => deny::deny(&workspace),
        Task::Bench(options) => bench::bench(&workspace, &options),
        Task::Python => {
            println!("{}", python::ensure(&workspace)?.display());
            Ok(())
        }
        Task::Axe => {
            println!("{}", axe::ensure(&workspace)?.display());
            Ok(())
        }
        Task::Test(which) => checks::test(&workspace, which),
        Task::ReleaseCheck => release::check(&workspace),
    }
}
