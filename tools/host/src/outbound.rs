//! Requests that guests send: whether they may, and how they get there.
//!
//! A request to the own application goes through its listening socket like any other; one to another component goes
//! straight to that.

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
use tokio::time::{Sleep, sleep, timeout};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::allowed_hosts::{AllowedHosts, Destination};
use crate::connect::{CONNECT_TIMEOUT, DEFAULT_TIMEOUT, SharedClient, to_guest};
use crate::server::Host;

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
                // In Spin a component that does not exist is a trap; the hook cannot raise one.
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
                sleep: None,
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

/// A response's body that fails if a piece that the guest waits for takes too long.
struct TimedBody {
    body: WasiBody,
    limit: Duration,
    /// There while the guest waits.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.sleep = None;
            return Poll::Ready(frame);
        }
        let limit = self.limit;
        let waiting = self.sleep.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Some(Err(Error::ConnectionReadTimeout)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::client;
    use http_body_util::Empty;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    const SHORT: Duration = Duration::from_millis(50);

    /// Asks a server that reads the request and then says no more than `answer`, keeping the connection open.
    async fn ask(
        answer: &'static str,
        scheme: &str,
        options: RequestOptions,
    ) -> Result<Bytes, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        });
        let outbound = Outbound {
            allowed: AllowedHosts::parse(&["*://*:*".to_owned()], &[]).unwrap(),
            client: client(),
            own_address: address,
            host: Weak::new(),
        };
        let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
        let request = Request::get(format!("{scheme}://{address}/"))
            .body(body)
            .unwrap();
        let answered = async {
            Ok(outbound
                .send(request, options)
                .await?
                .collect()
                .await?
                .to_bytes())
        };
        let result = answered.await;
        server.abort();
        result
    }

    #[tokio::test]
    async fn a_guest_can_limit_how_long_it_waits() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        let options = RequestOptions {
            connect_timeout: None,
            first_byte_timeout: Some(SHORT),
            between_bytes_timeout: Some(SHORT),
        };
        for (answer, cut_off) in [
            ("", true),
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no", true),
            (whole, false),
        ] {
            match ask(answer, "http", options).await {
                Err(Error::ConnectionReadTimeout) => assert!(cut_off, "{answer:?}"),
                other => assert!(!cut_off && other.unwrap() == "ok", "{answer:?}"),
            }
        }
    }

    #[tokio::test]
    async fn what_is_not_http_or_not_tls_is_a_protocol_error() {
        let result = ask("nonsense\r\n\r\n", "http", RequestOptions::default()).await;
        assert!(
            matches!(result, Err(Error::HttpProtocolError)),
            "{result:?}"
        );
        let result = ask("nonsense\r\n\r\n", "https", RequestOptions::default()).await;
        assert!(matches!(result, Err(Error::TlsProtocolError)), "{result:?}");
    }
}
