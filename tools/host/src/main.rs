//! The command line of the host: `reprise-host --help` lists what it takes.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use reprise_host::kv::sqlite_store::Journal;
use reprise_host::{Bound, Options, runtime_config};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Runs a Spin application without Spin. Prints `Serving http://ADDRESS` once it accepts connections.
#[derive(Parser)]
struct Arguments {
    /// The spin.toml, or its directory.
    #[arg(long, value_name = "PATH", default_value = "spin.toml")]
    from: PathBuf,

    /// Where to listen; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3000", value_parser = address)]
    listen: SocketAddr,

    /// Where the key-value data is kept [default: .spin beside the manifest].
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,

    /// The journal of the file with the key-value data: wal waits for the disk once for each change, delete, which
    /// Spin's own files have, several times. Both are durable.
    #[arg(long, value_name = "JOURNAL", default_value = "wal", value_parser = journal)]
    journal: Journal,

    /// Keep the key-value data on this Redis server instead.
    #[arg(long, value_name = "URL")]
    redis: Option<String>,

    /// Keep it where this runtime configuration file of Spin's says: on a Redis server.
    #[arg(long, value_name = "FILE", conflicts_with = "redis")]
    runtime_config_file: Option<PathBuf>,

    /// Let each call of the store wait for as many milliseconds as this file says at that moment, while it is there.
    #[arg(long, value_name = "FILE")]
    store_delay: Option<PathBuf>,

    /// The value of an application variable; may be repeated.
    #[arg(long = "variable", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,

    /// Call the application's own POST /-/tick this often, for instance 1s, with the token of its operators.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    tick: Option<Duration>,

    /// Tell at /.host/stats how often components used the key-value stores.
    #[arg(long)]
    stats: bool,

    /// Write /tmp/perf-PID.map, from which `perf report` knows the guests' functions by their names.
    #[arg(long)]
    perf_map: bool,

    /// End when the standard input does, and so with the process that holds its other end, however that ends.
    #[arg(long)]
    end_with_input: bool,

    /// Where compiled code is kept [default: wasmtime-cache in the state directory].
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let redis = match &arguments.runtime_config_file {
        Some(file) => Some(runtime_config::redis_url(file).context("--runtime-config-file")?),
        None => arguments.redis,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let end_with_input = arguments.end_with_input;
    let options = Options {
        from: arguments.from,
        listen: arguments.listen,
        state_dir: arguments.state_dir,
        journal: arguments.journal,
        redis,
        store_delay: arguments.store_delay,
        variables: BTreeMap::from_iter(arguments.variables),
        tick: arguments.tick,
        stats: arguments.stats,
        perf_map: arguments.perf_map,
        cache_dir: arguments.cache_dir,
    };
    let result = runtime.block_on(serve(options, end_with_input));
    // The process ends with whatever still runs in it: a guest in an endless loop must not hold that up, and instances
    // that are torn down would be reported as failed.
    std::mem::forget(runtime);
    result
}

/// Serves until a signal says to stop, or perhaps the end of the input.
async fn serve(options: Options, end_with_input: bool) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let bound = Bound::start(options).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "Serving http://{}", bound.address())?;
    stdout.flush()?;
    tokio::select! {
        never = bound.serve() => match never {},
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        () = input_end(), if end_with_input => Ok(()),
    }
}

/// Waits for the end of the standard input. A thread of its own reads it: a read that waits cannot be given up.
async fn input_end() {
    let (sender, end) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        // An input that fails has ended, too.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(sender);
    });
    // Nothing is ever sent: what tells the end is that nothing will be.
    let _ = end.await;
}

fn address(argument: &str) -> Result<SocketAddr, String> {
    let not_one =
        |_| format!("{argument:?} is not ADDRESS:PORT, such as 127.0.0.1:3077 or [::1]:3077");
    argument.parse().map_err(not_one)
}

fn journal(argument: &str) -> Result<Journal, String> {
    [Journal::Wal, Journal::Delete]
        .into_iter()
        .find(|journal| journal.name() == argument)
        .ok_or_else(|| "is wal or delete".to_owned())
}

fn variable(argument: &str) -> Result<(String, String), String> {
    let (name, value) = argument
        .split_once('=')
        .ok_or("needs the form NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
