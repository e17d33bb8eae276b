//! The HTTP server: connections in, requests to components, responses out.
//!
//! Like Spin's it leaves `TCP_NODELAY` alone, so that a response whose head and body leave separately waits for the
//! client's delayed acknowledgement here too.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use wasmtime_wasi_http::handler::ProxyHandler;
use wasmtime_wasi_http::{Error, WasiBody};

use crate::app::{self, App};
use crate::guest::Guest;
use crate::headers;
use crate::kv::redis_store::RedisStores;
use crate::kv::sqlite_store::SqliteStores;
use crate::kv::stats::Stats;
use crate::kv::{KvContext, Stores};
use crate::manifest::Manifest;
use crate::outbound::{self, Outbound};
use crate::routes::{Match, Routes};

/// Where Spin answers for itself; only its health check is there.
const SPIN_PREFIX: &str = "/.well-known/spin/";

/// Where the host tells its counts, if asked to.
const STATS_PATH: &str = "/.host/stats";

/// The client that a request from another component seems to have.
const INTERNAL_CLIENT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);

/// How long to wait when no more connections can be accepted, for instance because there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The manifest or its directory.
    pub from: PathBuf,
    /// Where to listen; port 0 is any free one.
    pub listen: SocketAddr,
    /// Where the SQLite file is; by default `.spin` beside the manifest, as in Spin.
    pub state_dir: Option<PathBuf>,
    /// The Redis server to keep the stores on, instead of in the SQLite file.
    pub redis: Option<String>,
    /// Values of application variables.
    pub variables: BTreeMap<String, String>,
    /// Whether to tell the counts.
    pub stats: bool,
    /// Where compiled code is kept; by default in the state directory, because that is where the host may write, and
    /// removing it removes all that the host left behind.
    pub cache_dir: Option<PathBuf>,
}

/// A running application.
pub struct Host {
    address: SocketAddr,
    routes: Routes,
    components: BTreeMap<String, ProxyHandler<Guest>>,
    stats: Arc<Stats>,
    tells_stats: bool,
    /// The files that guests read; removed with the host.
    _mounts: tempfile::TempDir,
}

impl Host {
    /// Loads and compiles an application and binds its address. Connections wait until [`Host::serve`].
    ///
    /// Fails on everything that is wrong with the manifest, the components or the options; a store that cannot be
    /// opened shows at the first request that uses it.
    pub async fn start(options: Options) -> Result<(Arc<Self>, TcpListener)> {
        let listener = TcpListener::bind(options.listen)
            .await
            .with_context(|| format!("cannot listen on {}", options.listen))?;
        let address = listener.local_addr()?;
        let manifest_path = app::manifest_path(&options.from);
        let directory = manifest_path
            .parent()
            .context("the manifest has no directory")?
            .to_owned();
        let manifest = Manifest::read(&manifest_path)?;
        let mounts = tempfile::tempdir()?;
        let environment = |name: &str| std::env::var(name).ok();
        let app = App::settle(
            &manifest,
            &directory,
            mounts.path(),
            environment,
            &options.variables,
        )
        .with_context(|| manifest_path.display().to_string())?;

        let state_dir = options.state_dir.unwrap_or_else(|| directory.join(".spin"));
        std::fs::create_dir_all(&state_dir)
            .with_context(|| format!("cannot create {}", state_dir.display()))?;
        let stores: Arc<dyn Stores> = match &options.redis {
            Some(url) => Arc::new(RedisStores::new(url).context("--redis")?),
            None => Arc::new(SqliteStores::new(&state_dir)),
        };
        let engine = engine(
            options
                .cache_dir
                .unwrap_or_else(|| state_dir.join("wasmtime-cache")),
        )?;
        let (stats, client) = (Arc::new(Stats::default()), outbound::client());
        let mut failed = None;
        let host = Arc::new_cyclic(|host| {
            let mut components = BTreeMap::new();
            for (id, settings) in app.components {
                let kv = KvContext::new(stores.clone(), settings.stores.clone(), stats.clone());
                let outbound = Outbound {
                    allowed: settings.allowed_hosts.clone(),
                    client: client.clone(),
                    own_address: address,
                    host: host.clone(),
                };
                match Guest::compile(&engine, &id, settings, kv, outbound) {
                    Ok(guest) => drop(components.insert(id, ProxyHandler::new(guest))),
                    Err(error) => failed = Some(error.context(format!("component.{id}"))),
                }
            }
            Self {
                address,
                routes: app.routes,
                components,
                stats,
                tells_stats: options.stats,
                _mounts: mounts,
            }
        });
        failed.map_or(Ok((host, listener)), Err)
    }

    /// The address that it listens on, with the real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts connections, without end.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> Infallible {
        loop {
            match listener.accept().await {
                Ok((stream, client)) => {
                    tokio::spawn(self.clone().serve_connection(stream, client));
                }
                Err(error) => {
                    eprintln!("cannot accept a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn serve_connection(self: Arc<Self>, stream: TcpStream, client: SocketAddr) {
        let service = service_fn(|request: Request<Incoming>| {
            let host = self.clone();
            async move {
                let request = request.map(|body| body.map_err(Error::from).boxed_unsync());
                host.answer(request, client).await
            }
        });
        let served = auto::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
        if let Err(error) = served {
            eprintln!("connection from {client}: {error}");
        }
    }

    /// Answers a request from outside. An error closes the connection without an answer.
    async fn answer(
        &self,
        mut request: Request<WasiBody>,
        client: SocketAddr,
    ) -> Result<Response<WasiBody>> {
        headers::strip(&mut request);
        let path = request.uri().path();
        if self.tells_stats && path == STATS_PATH {
            return json(&self.stats.to_json());
        }
        if let Some(name) = path.strip_prefix(SPIN_PREFIX) {
            return if name == "health" {
                reply(StatusCode::OK, "OK")
            } else {
                reply(StatusCode::NOT_FOUND, "")
            };
        }
        match self.routes.find(path) {
            Some(found) => self.run(request, &found, client).await,
            None => reply(StatusCode::NOT_FOUND, ""),
        }
    }

    /// Answers a request from one component to another. Fails if there is no such component.
    pub(crate) async fn answer_internally(
        &self,
        component: &str,
        request: Request<WasiBody>,
    ) -> Result<Response<WasiBody>> {
        let found = Match::internal(component, request.uri().path());
        self.run(request, &found, INTERNAL_CLIENT).await
    }

    /// Runs a component. What goes wrong inside of it is a 500.
    async fn run(
        &self,
        mut request: Request<WasiBody>,
        found: &Match,
        client: SocketAddr,
    ) -> Result<Response<WasiBody>> {
        let component = self
            .components
            .get(&found.component)
            .with_context(|| format!("there is no component {:?}", found.component))?;
        headers::complete(&mut request, found, client)?;
        self.stats.count_request();
        match component.handle((), request).await {
            Ok(response) => Ok(response),
            Err(error) => {
                eprintln!("request to component {}: {error:?}", found.component);
                reply(StatusCode::INTERNAL_SERVER_ERROR, "")
            }
        }
    }
}

/// The compiler and runtime, with compiled code kept in `cache`.
fn engine(cache: PathBuf) -> Result<wasmtime::Engine> {
    let mut cache_config = wasmtime::CacheConfig::new();
    // Relative to here; the configuration insists on an absolute path.
    cache_config.with_directory(std::path::absolute(cache)?);
    let mut config = wasmtime::Config::new();
    config.wasm_component_model_async(true);
    config.cache(Some(
        wasmtime::Cache::new(cache_config).map_err(|error| anyhow!("{error:?}"))?,
    ));
    wasmtime::Engine::new(&config).map_err(|error| anyhow!("{error:?}"))
}

fn json(value: &serde_json::Value) -> Result<Response<WasiBody>> {
    let mut response = reply(StatusCode::OK, value.to_string())?;
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    Ok(response)
}

fn reply(status: StatusCode, body: impl Into<Bytes>) -> Result<Response<WasiBody>> {
    let body = Full::new(body.into())
        .map_err(|never| match never {})
        .boxed_unsync();
    Ok(Response::builder().status(status).body(body)?)
}
