//! Replies: what a client gets.

use crate::json::raw::Object;
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

/// An answer to a client.
pub type Reply = Response<ReplyBody>;

/// The body of a reply, whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplyBody(pub Vec<u8>);

impl ReplyBody {
    /// The JSON of a value, and a line end for people at a terminal.
    pub(super) fn json(value: &impl Serialize) -> Self {
        let mut body = serde_json::to_vec(value).expect("our own documents have a JSON form");
        body.push(b'\n');
        Self(body)
    }
}

/// A reply with a JSON body.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Reply {
    written(status, ReplyBody::json(value))
}

/// A reply with an object.
pub(super) fn object(object: Object) -> Reply {
    let mut json = object.end();
    json.push(b'\n');
    written(StatusCode::OK, ReplyBody(json))
}

/// A reply with a body that is JSON already.
pub(super) fn written(status: StatusCode, json: ReplyBody) -> Reply {
    let mut reply = Response::new(json);
    *reply.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(http::header::CONTENT_TYPE, json);
    reply
}

/// A reply with a body of text.
pub(super) fn text(media_type: &'static str, body: String) -> Reply {
    let mut reply = Response::new(ReplyBody(body.into_bytes()));
    let media_type = HeaderValue::from_static(media_type);
    reply
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, media_type);
    reply
}
