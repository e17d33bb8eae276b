//! Requests that guests send: whether they may, and how they get there.
//!
//! A request to the own application goes through its listening socket like any other; one to another component goes
//! straight to that. Connections are kept and reused, across instances, as in Spin.

use std::error::Error as _;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Weak;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::{Authority, Scheme, Uri};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, SizeHint};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, timeout};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::allowed_hosts::{AllowedHosts, Destination};
use crate::server::Host;

/// How long to wait for a connection, for the first byte, and between bytes, where the guest does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

/// The client that all instances share.
pub type SharedClient = Client<HttpsConnector<Connector>, WasiBody>;

/// A client without any open connection.
#[must_use]
pub fn client() -> SharedClient {
    let connector = HttpsConnectorBuilder::new()
        .with_webpki_roots()
        .https_or_http()
        .enable_http1()
        .wrap_connector(Connector);
    Client::builder(TokioExecutor::new()).build(connector)
}

/// One component's way out.
#[derive(Clone)]
pub struct Outbound {
    /// Where it may go.
    pub allowed: AllowedHosts,
    /// What carries it there.
    pub client: SharedClient,
    /// The address of the own application.
    pub own_address: SocketAddr,
    /// The host, for requests from component to component.
    pub host: Weak<Host>,
}

type BoxFuture<T> = Box<dyn Future<Output = T> + Send>;

impl WasiHttpHooks for Outbound {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        // Would tell how the guest fares with the response; there is nobody to pass it on to.
        _: BoxFuture<Result<(), Error>>,
    ) -> BoxFuture<Result<(Response<WasiBody>, BoxFuture<Result<(), Error>>), Error>> {
        let outbound = self.clone();
        Box::new(async move {
            let response = outbound.send(request, options.unwrap_or_default()).await?;
            // The connection reports its errors through the response's body.
            let done: BoxFuture<Result<(), Error>> = Box::new(async { Ok(()) });
            Ok((response, done))
        })
    }
}

impl Outbound {
    async fn send(
        self,
        mut request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Response<WasiBody>, Error> {
        if !self.allowed.allow(request.uri()) {
            return Err(Error::HttpRequestDenied);
        }
        // The client writes the header anew, from the address.
        request.headers_mut().remove(HOST);
        match Destination::of(request.uri()) {
            Destination::Component(id) => {
                let host = self.host.upgrade().ok_or(Error::ConnectionTerminated)?;
                let response = host.answer_internally(&id, request).await;
                return response.map_err(|error| Error::InternalError(Some(format!("{error:#}"))));
            }
            Destination::OwnApplication => {
                let uri = own_uri(request.uri(), self.own_address)?;
                *request.uri_mut() = uri;
            }
            Destination::Outside => {}
        }
        let connect_timeout = options.connect_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let first_byte_timeout = options.first_byte_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let between_bytes_timeout = options.between_bytes_timeout.unwrap_or(DEFAULT_TIMEOUT);
        let sending = CONNECT_TIMEOUT.scope(connect_timeout, self.client.request(request));
        let response = timeout(first_byte_timeout, sending)
            .await
            .map_err(|_| Error::ConnectionReadTimeout)?;
        let response = response.map_err(|error| to_guest(&error))?;
        Ok(response.map(|body| {
            let body = body.map_err(Error::from).boxed_unsync();
            TimedBody {
                body,
                limit: between_bytes_timeout,
                sleep: Box::pin(sleep(between_bytes_timeout)),
            }
            .boxed_unsync()
        }))
    }
}

/// The same path at the own application's address.
fn own_uri(uri: &Uri, address: SocketAddr) -> Result<Uri, Error> {
    let mut parts = uri.clone().into_parts();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Authority::try_from(address.to_string()).ok();
    Uri::from_parts(parts).map_err(|_| Error::HttpRequestUriInvalid)
}

/// The client's error in the guest's terms.
fn to_guest(error: &legacy::Error) -> Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        match inner.downcast_ref() {
            Some(ConnectError::Lookup) => {
                return Error::DnsError {
                    rcode: Some("address not available".to_owned()),
                    info_code: Some(0),
                };
            }
            Some(ConnectError::Refused) => return Error::ConnectionRefused,
            Some(ConnectError::TimedOut) => return Error::ConnectionTimeout,
            None => cause = inner.source(),
        }
    }
    // The connection itself was made, so what is left of connecting is TLS.
    if error.is_connect() {
        Error::TlsProtocolError
    } else {
        Error::HttpProtocolError
    }
}

tokio::task_local! {
    /// How long the connection of the current request may take; the client has no parameter for it.
    static CONNECT_TIMEOUT: Duration;
}

/// Opens TCP connections, without `TCP_NODELAY`, as in Spin.
#[derive(Clone, Copy, Debug)]
pub struct Connector;

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// The host's name has no address.
    Lookup,
    /// No address of the host takes connections.
    Refused,
    /// The guest's patience ended.
    TimedOut,
}

impl std::fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Lookup => "the host's name has no address",
            Self::Refused => "no connection to the host",
            Self::TimedOut => "connecting took too long",
        })
    }
}

impl std::error::Error for ConnectError {}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let limit = CONNECT_TIMEOUT
            .try_with(|limit| *limit)
            .unwrap_or(DEFAULT_TIMEOUT);
        Box::pin(async move {
            let connecting = timeout(limit, connect(uri)).await;
            connecting
                .unwrap_or(Err(ConnectError::TimedOut))
                .map(TokioIo::new)
        })
    }
}

async fn connect(uri: Uri) -> Result<TcpStream, ConnectError> {
    let host = uri.host().ok_or(ConnectError::Lookup)?;
    let default_port = if uri.scheme() == Some(&Scheme::HTTPS) {
        443
    } else {
        80
    };
    // An IPv6 address is in brackets in a URI, and must not be in a look-up.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = tokio::net::lookup_host((host, uri.port_u16().unwrap_or(default_port))).await;
    let addresses: Vec<SocketAddr> = addresses.map_err(|_| ConnectError::Lookup)?.collect();
    TcpStream::connect(addresses.as_slice())
        .await
        .map_err(|_| ConnectError::Refused)
}

/// A response's body that fails if its next piece takes too long.
struct TimedBody {
    body: WasiBody,
    limit: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            let next = Instant::now() + self.limit;
            self.sleep.as_mut().reset(next);
            return Poll::Ready(frame);
        }
        ready!(self.sleep.as_mut().poll(context));
        Poll::Ready(Some(Err(Error::ConnectionReadTimeout)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
