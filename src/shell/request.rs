//! Requests: what is read of one before anything is done with it.

use super::problem::Problem;
use crate::config::{FingerprintRule, Handler, Operation};
use crate::driver::entropy::Entropy;
use crate::machine::Timestamp;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

/// The body of a request, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestBody {
    /// All of it.
    Whole(Vec<u8>),
    /// It has more bytes than the operation takes; the rest was not read.
    TooLarge,
    /// It broke off.
    Broken,
    /// It had not come whole when its time was over.
    Late,
}

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

/// Refuses a body of a kind that the operation does not take, before it is read.
///
/// What we read ourselves is JSON. An upstream gets its body byte for byte, so where every byte counts any kind will do.
pub(super) fn check_media_type(operation: &Operation, headers: &HeaderMap) -> Result<(), Problem> {
    let (reads_json, is_ours) = match (&operation.handler, &operation.fingerprint) {
        (Handler::Analyze | Handler::Order { .. }, _) => (true, true),
        (Handler::Forward(_), FingerprintRule::CanonicalJson | FingerprintRule::Pointers(_)) => {
            (true, false)
        }
        (Handler::Forward(_), FingerprintRule::Raw) => (false, false),
    };
    let is_coded = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.is_empty() && !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if is_coded && (reads_json || !operation.forward_headers.has(&CONTENT_ENCODING)) {
        return Err(Problem::UnsupportedMediaType(
            "a Content-Encoding is not taken",
        ));
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let is_json = |value: &HeaderValue| is_json(value.as_bytes(), !is_ours);
    if reads_json && !(types.next().is_some_and(is_json) && types.next().is_none()) {
        return Err(Problem::UnsupportedMediaType(
            "send JSON, with the header Content-Type: application/json",
        ));
    }
    Ok(())
}

/// The bytes of a body that has come whole.
pub(super) fn bytes(body: &RequestBody, max: usize) -> Result<&[u8], Problem> {
    match body {
        RequestBody::Whole(bytes) if bytes.len() <= max => Ok(bytes),
        RequestBody::Whole(_) | RequestBody::TooLarge => Err(Problem::BodyTooLarge { max }),
        RequestBody::Late => Err(Problem::RequestTimeout),
        RequestBody::Broken => Err(Problem::InvalidBody("the body broke off".to_owned())),
    }
}

/// Whether a Content-Type is JSON, or with `or_suffix` a type that is made of it (RFC 6839). Parameters say nothing about
/// it: JSON is UTF-8 (RFC 8259, section 11).
pub(super) fn is_json(value: &[u8], or_suffix: bool) -> bool {
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
    let essence = essence.trim_ascii().to_ascii_lowercase();
    essence == b"application/json" || (or_suffix && essence.ends_with(b"+json"))
}
