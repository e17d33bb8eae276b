//! From the command line's options to an application that serves.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use reprise_locks::place::Place;
use reprise_locks::sole;
use tokio::net::TcpListener;

use crate::app::{self, App};
use crate::connect;
use crate::guest::Guest;
use crate::kv::redis_store::{self, RedisStores};
use crate::kv::slow_store::SlowStores;
use crate::kv::sqlite_store::{self, FILE_NAME, Journal, SqliteStores};
use crate::kv::stats::Stats;
use crate::kv::{KvContext, Stores};
use crate::manifest::Manifest;
use crate::outbound::Outbound;
use crate::server::Host;
use crate::ticks::Ticks;

/// Where in a state directory the copies of the guests' files are, those of each process apart.
const PLACES: &str = "processes";

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The manifest or its directory.
    pub from: PathBuf,
    /// Where to listen; port 0 is any free one.
    pub listen: SocketAddr,
    /// Where the SQLite file is; by default `.spin` beside the manifest, as in Spin.
    pub state_dir: Option<PathBuf>,
    /// The journal that the SQLite file is given before it is used.
    pub journal: Journal,
    /// The Redis server to keep the stores on, instead of in the SQLite file.
    pub redis: Option<String>,
    /// A file that says how long each call of a store waits, in milliseconds.
    pub store_delay: Option<PathBuf>,
    /// Values of application variables.
    pub variables: BTreeMap<String, String>,
    /// How often to tick, if at all.
    pub tick: Option<Duration>,
    /// Whether to tell the counts.
    pub stats: bool,
    /// Whether to tell `perf` the names of the guests' functions.
    pub perf_map: bool,
    /// Where compiled code is kept; by default in the state directory, because that is where the host may write, and
    /// removing it removes all that the host left behind.
    pub cache_dir: Option<PathBuf>,
}

/// An application that has been compiled and has its address. Connections wait until it serves.
pub struct Bound {
    host: Arc<Host>,
    listener: TcpListener,
    address: SocketAddr,
    ticks: Option<Ticks>,
    /// The files that guests read; removed with this value.
    _place: Place,
    /// The claim to the store's file, if that is used.
    _claim: Option<File>,
}

impl Bound {
    /// Binds the address, then loads and compiles the application.
    ///
    /// Fails on everything that is wrong with the manifest, the components or the options; a store that cannot be
    /// opened shows at the first request that uses it.
    pub async fn start(options: Options) -> Result<Self> {
        let listener = TcpListener::bind(options.listen)
            .await
            .map_err(|error| unbound(options.listen, error))?;
        let address = listener.local_addr()?;
        let manifest_path = app::manifest_path(&options.from)?;
        let directory = manifest_path
            .parent()
            .context("the manifest has no directory")?;
        let manifest = Manifest::read(&manifest_path)?;
        let state_dir = options.state_dir.unwrap_or_else(|| directory.join(".spin"));
        std::fs::create_dir_all(&state_dir)
            .with_context(|| format!("cannot create {}", state_dir.display()))?;
        let place = Place::take(&state_dir.join(PLACES))?;
        let environment = |name: &str| std::env::var(name).ok();
        let app = App::settle(
            &manifest,
            directory,
            place.files(),
            environment,
            &options.variables,
        )
        .with_context(|| manifest_path.display().to_string())?;

        let ticks = match options.tick {
            Some(every) => Some(Ticks::new(every, &app.variables, address).context("--tick")?),
            None => None,
        };

        let cache_dir = options
            .cache_dir
            .unwrap_or_else(|| state_dir.join("wasmtime-cache"));
        let engine = engine(&cache_dir, options.perf_map)?;
        // A claim comes before anything is done with the file.
        let is_file = options.redis.is_none();
        let claim = is_file
            .then(|| sole::claim_or_warn(&state_dir.join(FILE_NAME)))
            .flatten();
        let check = options.redis.clone().map(|url| tokio::spawn(check(url)));
        let mut stores = stores(options.redis.as_deref(), &state_dir, options.journal)?;
        if let Some(file) = &options.store_delay {
            stores = Arc::new(SlowStores::new(stores, file));
        }
        let stats = Arc::new(Stats::default());
        let compile = |host: &Weak<Host>| {
            let client = connect::client();
            let compile = |(id, settings): (String, app::Component)| {
                let kv = KvContext::new(stores.clone(), settings.stores.clone(), stats.clone());
                let outbound = Outbound {
                    allowed: settings.allowed_hosts.clone(),
                    client: client.clone(),
                    own_address: address,
                    host: host.clone(),
                };
                let guest = Guest::compile(&engine, &id, settings, kv, outbound)
                    .with_context(|| format!("component.{id}"))?;
                Ok((id, guest))
            };
            app.components.into_iter().map(compile).collect()
        };
        let host = Host::new(app.routes, compile, stats.clone(), options.stats)?;
        if let Some(check) = check {
            check.await?;
        }
        Ok(Self {
            host,
            listener,
            address,
            ticks,
            _place: place,
            _claim: claim,
        })
    }

    /// The address that it listens on, with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves without end, and ticks if it was asked to.
    pub async fn serve(self) -> Infallible {
        if let Some(ticks) = self.ticks {
            tokio::spawn(ticks.run(self.host.clone()));
        }
        self.host.serve(self.listener).await
    }
}

/// Why an address cannot be listened on, and what to do about the common case.
fn unbound(address: SocketAddr, error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow!("{address} is taken, perhaps by another host; --listen takes another address")
        }
        _ => anyhow::Error::new(error).context(format!("cannot listen on {address}")),
    }
}

/// Says when a Redis server cannot be used. The application is served all the same, because the server may come later.
async fn check(url: String) {
    if let Err(problem) = redis_store::check(&url).await {
        eprintln!(
            "The store cannot be used now, and what needs it is answered 503: Redis at {problem}"
        );
    }
}

fn stores(redis: Option<&str>, state_dir: &Path, journal: Journal) -> Result<Arc<dyn Stores>> {
    let Some(url) = redis else {
        if let Err(error) = sqlite_store::prepare(state_dir, journal) {
            // It is the same store with any journal, and what is wrong with the file shows when it is used.
            let journal = journal.name();
            eprintln!("the store's file does not get the journal {journal}: {error:#}");
        }
        return Ok(Arc::new(SqliteStores::new(state_dir)));
    };
    Ok(Arc::new(RedisStores::new(url).context("--redis")?))
}

/// The compiler and runtime, with compiled code kept in `cache`.
fn engine(cache: &Path, perf_map: bool) -> Result<wasmtime::Engine> {
    let mut cache_config = wasmtime::CacheConfig::new();
    // Relative to here; the configuration insists on an absolute path.
    cache_config.with_directory(std::path::absolute(cache)?);
    let mut config = wasmtime::Config::new();
    config.wasm_component_model_async(true);
    if perf_map {
        config.profiler(wasmtime::ProfilingStrategy::PerfMap);
    }
    config.cache(Some(
        wasmtime::Cache::new(cache_config).map_err(|error| anyhow!("{error:?}"))?,
    ));
    wasmtime::Engine::new(&config).map_err(|error| anyhow!("{error:?}"))
}
