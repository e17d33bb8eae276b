//! HTTP as the platform has it: heads for the types of the `http` crate, and bodies as streams of bytes.
//!
//! The SDK's own conversions make frames of a body and builders of a head, for bodies and trailers of any kind, which costs
//! a request about a twentieth of its time. Here a body is sent whole or read in pieces, and trailers are dropped.

use crate::shell::request::length_bytes;
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use spin_sdk::wasip3::http::types::{self, ErrorCode, Fields, Trailers};
use spin_sdk::wasip3::wit_bindgen::{
    FutureReader, FutureWriter, StreamReader, StreamResult, spawn,
};
use spin_sdk::wasip3::{http::client, wit_future, wit_stream};

/// What is read of a body at a time, in bytes.
const PIECE_BYTES: usize = 16 * 1_024;

/// How the stream of a body ends.
type End = Result<Option<Trailers>, ErrorCode>;

/// The head of a request; `None` when it is none that HTTP knows.
pub(super) fn head(request: &types::Request) -> Option<Parts> {
    let (mut head, ()) = Request::new(()).into_parts();
    head.method = Method::try_from(request.get_method()).ok()?;
    head.headers = header_map(&request.get_headers())?;
    if let Some(path) = request.get_path_with_query() {
        head.uri = Uri::from(PathAndQuery::try_from(path).ok()?);
    }
    is_of_one_mind(&head.headers).then_some(head)
}

/// Whether the headers tell at most one length, and that as a number.
fn is_of_one_mind(headers: &HeaderMap) -> bool {
    let lengths = headers.get_all(CONTENT_LENGTH).iter().count();
    let is_length = || length_bytes(headers).is_some_and(|length| i64::try_from(length).is_ok());
    lengths == 0 || lengths == 1 && is_length()
}

/// A body that comes in.
pub(super) struct Incoming {
    /// How long it should be, in bytes, where that is known.
    length_bytes: Option<usize>,
    bytes: StreamReader<u8>,
    end: FutureReader<End>,
    /// How the other side is told what became of its body; dropping it says that all is well.
    _said: FutureWriter<Result<(), ErrorCode>>,
}

impl Incoming {
    /// The body of a request with this head.
    pub(super) fn of_request(request: types::Request, head: &Parts) -> Self {
        let length_bytes = length_bytes(&head.headers).and_then(|length| length.try_into().ok());
        Self::start(length_bytes, |said| {
            types::Request::consume_body(request, said)
        })
    }

    /// The body of a response. The length that its head tells may be that of another one: the answer to HEAD has none.
    fn of_response(response: types::Response) -> Self {
        Self::start(None, |said| types::Response::consume_body(response, said))
    }

    fn start(
        length_bytes: Option<usize>,
        consume: impl FnOnce(
            FutureReader<Result<(), ErrorCode>>,
        ) -> (StreamReader<u8>, FutureReader<End>),
    ) -> Self {
        let (said, said_reader) = wit_future::new(|| Ok(()));
        let (bytes, end) = consume(said_reader);
        Self {
            length_bytes,
            bytes,
            end,
            _said: said,
        }
    }

    /// Reads a body that is of no use, so many bytes of it at most, and keeps nothing.
    pub(super) async fn drain(mut self, bytes_max: usize) {
        let mut left = bytes_max;
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        while left > 0 {
            let result;
            (result, piece) = self.bytes.read(piece).await;
            match result {
                StreamResult::Complete(read) => left = left.saturating_sub(read),
                StreamResult::Dropped | StreamResult::Cancelled => return,
            }
            piece.clear();
        }
    }

    /// Reads a body of at most this many bytes.
    pub(super) async fn collect(mut self, bytes_max: usize) -> Result<Collected, ErrorCode> {
        let mut length_bytes = self.length_bytes;
        let room_bytes = length_bytes.map_or(PIECE_BYTES, |length| length.min(PIECE_BYTES));
        let mut collected = Vec::with_capacity(room_bytes);
        loop {
            // Where a body should be over it is read on without room: the host then knows at once that it is, while a
            // read with room waits for a turn of the host's to learn it.
            let is_as_long = length_bytes == Some(collected.len());
            if collected.len() == collected.capacity() && !is_as_long {
                collected.reserve(PIECE_BYTES);
            }
            let result;
            // What comes is put behind what is there, as far as there is room.
            (result, collected) = self.bytes.read(collected).await;
            let read = collected.len();
            if read > bytes_max {
                return Ok(Collected::TooLarge { read, rest: self });
            }
            match result {
                // There is more than there should be, and it needs room.
                StreamResult::Complete(0) => length_bytes = None,
                StreamResult::Complete(_) => {}
                StreamResult::Dropped | StreamResult::Cancelled if is_as_long => {
                    return Ok(Collected::Announced(collected, Ending(self.end)));
                }
                StreamResult::Dropped | StreamResult::Cancelled => {
                    Ending(self.end).check().await?;
                    return Ok(Collected::Whole(collected));
                }
            }
        }
    }
}

/// How a body that is over has ended.
pub(super) struct Ending(FutureReader<End>);

impl Ending {
    /// Passes when the body is whole. One that broke off, or whose stream was reset, is over in the same way; only this
    /// tells.
    pub(super) async fn check(self) -> Result<(), ErrorCode> {
        self.0.await.map(drop)
    }
}

/// What was read of a body.
pub(super) enum Collected {
    /// All of it.
    Whole(Vec<u8>),
    /// As many bytes as its head told, and it is over. How it ended takes a turn of the host's.
    Announced(Vec<u8>, Ending),
    /// More than may be read.
    TooLarge {
        /// How many bytes came.
        read: usize,
        /// What may come behind them.
        rest: Incoming,
    },
}

/// A response as the platform sends it. A task of its own writes the body.
pub(super) fn response(response: Response<Vec<u8>>) -> Result<types::Response, ErrorCode> {
    let (head, body) = response.into_parts();
    let headers = fields(&head.headers)?;
    let (bytes, end) = send_body(body);
    let (response, _) = types::Response::new(headers, Some(bytes), end);
    response
        .set_status_code(head.status.as_u16())
        .map_err(|()| ErrorCode::HttpProtocolError)?;
    Ok(response)
}

/// Sends a request, and waits for the head of the response.
pub(super) async fn send(
    request: Request<Vec<u8>>,
) -> Result<(StatusCode, HeaderMap, Incoming), ErrorCode> {
    let (head, body) = request.into_parts();
    let headers = fields(&head.headers)?;
    let (bytes, end) = send_body(body);
    let (request, _) = types::Request::new(headers, Some(bytes), end, None);
    request
        .set_method(&head.method.into())
        .map_err(|()| ErrorCode::HttpRequestMethodInvalid)?;
    let scheme = head.uri.scheme().map(types::Scheme::from);
    let authority = head.uri.authority().map(Authority::as_str);
    let path = head.uri.path_and_query().map(PathAndQuery::as_str);
    request
        .set_scheme(scheme.as_ref())
        .and_then(|()| request.set_authority(authority))
        .and_then(|()| request.set_path_with_query(path))
        .map_err(|()| ErrorCode::HttpRequestUriInvalid)?;
    let response = client::send(request).await?;
    let status = StatusCode::from_u16(response.get_status_code())
        .map_err(|_| ErrorCode::HttpProtocolError)?;
    let headers = header_map(&response.get_headers()).ok_or(ErrorCode::HttpProtocolError)?;
    if !is_of_one_mind(&headers) {
        return Err(ErrorCode::HttpProtocolError);
    }
    Ok((status, headers, Incoming::of_response(response)))
}

/// The platform's headers; `None` when they are none that HTTP knows.
fn header_map(fields: &Fields) -> Option<HeaderMap> {
    let fields = fields.copy_all();
    let mut headers = HeaderMap::try_with_capacity(fields.len()).ok()?;
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        let value = HeaderValue::try_from(value).ok()?;
        headers.try_append(name, value).ok()?;
    }
    Some(headers)
}

fn fields(headers: &HeaderMap) -> Result<Fields, ErrorCode> {
    let fields: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    Fields::from_list(&fields).map_err(|error| ErrorCode::InternalError(Some(error.to_string())))
}

/// Begins to send a body. Should nobody want it, or not all of it, that is nobody's error.
fn send_body(body: Vec<u8>) -> (StreamReader<u8>, FutureReader<End>) {
    let (mut bytes, bytes_reader) = wit_stream::new();
    let (end, end_reader) = wit_future::new(|| Err(ErrorCode::ConnectionTerminated));
    spawn(async move {
        let unwritten = bytes.write_all(body).await;
        drop(bytes);
        if unwritten.is_empty() {
            let _ = end.write(Ok(None)).await;
        }
    });
    (bytes_reader, end_reader)
}
