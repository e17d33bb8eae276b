//! Requests: what is read of one before anything is done with it.

use super::problem::Problem;
use crate::driver::entropy::Entropy;
use crate::machine::Timestamp;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};

/// The body of a request, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestBody {
    /// All of it.
    Whole(Vec<u8>),
    /// It has more bytes than [`BODY_BYTES_MAX`]; the rest was not read.
    TooLarge,
    /// It broke off.
    Broken,
    /// It had not come whole when its time was over.
    Late,
}

/// The largest request body that is read, in bytes: the request and the result made of it must fit one stored record.
pub const BODY_BYTES_MAX: usize = 128 * 1_024;

/// How long a body may take to come, in seconds: a phone's bad minute, and no client that holds on for ever.
pub const BODY_DEADLINE_S: u64 = 60;

/// What one request may know of the world: the time and randomness, both read once, when the request is whole. Were the
/// time read before, a slow body would create records in the past.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The time of the request.
    pub now: Timestamp,
    /// Randomness for this request alone.
    pub entropy: Entropy,
}

/// The bytes of a JSON body, or what is wrong with the body before its content is looked at.
pub(super) fn json_bytes<'a>(
    headers: &HeaderMap,
    body: &'a RequestBody,
) -> Result<&'a [u8], Problem> {
    if headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.is_empty() && !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
    {
        return Err(Problem::UnsupportedMediaType(
            "a Content-Encoding is not taken",
        ));
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let json =
        types.next().is_some_and(|value| is_json(value.as_bytes())) && types.next().is_none();
    if !json {
        return Err(Problem::UnsupportedMediaType(
            "send JSON, with the header Content-Type: application/json",
        ));
    }
    match body {
        RequestBody::Whole(bytes) => Ok(bytes),
        RequestBody::TooLarge => Err(Problem::BodyTooLarge {
            max: BODY_BYTES_MAX,
        }),
        RequestBody::Late => Err(Problem::RequestTimeout),
        RequestBody::Broken => Err(Problem::InvalidBody("the body broke off".to_owned())),
    }
}

/// Whether a Content-Type is JSON. Parameters say nothing about it: JSON is UTF-8 (RFC 8259, section 11).
fn is_json(value: &[u8]) -> bool {
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
    essence
        .trim_ascii()
        .eq_ignore_ascii_case(b"application/json")
}
