//! Connections for the requests that guests send. They are kept and reused, across instances, as in Spin.

use std::error::Error as _;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::{Scheme, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, WasiBody};

/// How long to wait for a connection, for the first byte, and between bytes, where the guest does not say.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

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

/// The client's error in the guest's terms.
pub(crate) fn to_guest(error: &legacy::Error) -> Error {
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
    pub(crate) static CONNECT_TIMEOUT: Duration;
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

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
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
