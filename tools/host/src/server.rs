//! The HTTP server: connections in, requests to components, responses out.
//!
//! Like Spin's it leaves `TCP_NODELAY` alone, so that a response whose head and body leave separately waits for the
//! client's delayed acknowledgement here too.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use wasmtime_wasi_http::handler::ProxyHandler;
use wasmtime_wasi_http::{Error, WasiBody};

use crate::guest::Guest;
use crate::headers;
use crate::kv::stats::Stats;
use crate::routes::{Match, Routes};

/// Where Spin answers for itself; only its health check is there.
const SPIN_PREFIX: &str = "/.well-known/spin/";

/// Where the host tells its counts, if asked to.
const STATS_PATH: &str = "/.host/stats";

/// The client that a request which came over no connection seems to have.
pub(crate) const INTERNAL_CLIENT: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// How long to wait when no more connections can be accepted, for instance because there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The components of an application and the way to them.
pub struct Host {
    routes: Routes,
    components: BTreeMap<String, ProxyHandler<Guest>>,
    stats: Arc<Stats>,
    /// Whether the counts may be asked for.
    tells_stats: bool,
}

impl Host {
    /// A host for these components, which may send requests to each other through it.
    ///
    /// `components` makes them, given the host that they will belong to.
    pub fn new(
        routes: Routes,
        components: impl FnOnce(&Weak<Self>) -> Result<BTreeMap<String, Guest>>,
        stats: Arc<Stats>,
        tells_stats: bool,
    ) -> Result<Arc<Self>> {
        let mut failed = None;
        let host = Arc::new_cyclic(|host| {
            let components = components(host).unwrap_or_else(|error| {
                failed = Some(error);
                BTreeMap::new()
            });
            let components = components
                .into_iter()
                .map(|(id, guest)| (id, ProxyHandler::new(guest)))
                .collect();
            Self {
                routes,
                components,
                stats,
                tells_stats,
            }
        });
        failed.map_or(Ok(host), Err)
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
    pub(crate) async fn answer(
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

    /// Runs a component. What goes wrong inside of it is a 500, and so is a header that it cannot be given.
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
        headers::make_absolute(&mut request)?;
        let answered = match headers::add(&mut request, found, client) {
            Ok(()) => {
                self.stats.count_request();
                component
                    .handle((), request)
                    .await
                    .map_err(|error| anyhow!("{error:?}"))
            }
            Err(problem) => Err(problem),
        };
        answered.or_else(|error| {
            eprintln!("request to component {}: {error:#}", found.component);
            reply(StatusCode::INTERNAL_SERVER_ERROR, "")
        })
    }
}

fn json(value: &serde_json::Value) -> Result<Response<WasiBody>> {
    let mut response = reply(StatusCode::OK, value.to_string())?;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn reply(status: StatusCode, body: impl Into<Bytes>) -> Result<Response<WasiBody>> {
    let body = Full::new(body.into())
        .map_err(|never| match never {})
        .boxed_unsync();
    Ok(Response::builder().status(status).body(body)?)
}
