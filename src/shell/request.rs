//! Requests: what is read of one before anything is done with it.

use super::problem::Problem;
use crate::config::{FingerprintRule, Handler, Operation};
use crate::driver::entropy::Entropy;
use crate::machine::Timestamp;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use std::fmt;
use std::pin::Pin;

/// The body of a request, as far as it was read.
#[derive(Debug)]
pub enum RequestBody {
    /// All of it.
    Whole(Vec<u8>),
    /// As many bytes as its head told, and it is over. How it ended is still to be asked.
    Announced(Vec<u8>, Ending),
    /// It has more bytes than the operation takes; the rest was not read.
    TooLarge,
    /// It broke off.
    Broken,
    /// It had not come whole when its time was over.
    Late,
}

/// How a body has ended that is as long as it should be.
///
/// Where its length frames it there is one way to end (RFC 9112, section 6.3). Over HTTP/2 the client may have called its
/// request off all the same, or have sent more than it told, which makes it none (RFC 9113, section 8.1.1). To ask costs
/// a turn of the platform's, which for a repeat is a twentieth of its time. So it is asked before anything is begun, and
/// not where a request is only told what there is.
pub struct Ending(Option<Pin<Box<dyn Future<Output = bool>>>>);

impl Ending {
    /// The ending that this tells: whether the body is whole.
    pub fn told_by(is_whole: impl Future<Output = bool> + 'static) -> Self {
        Self(Some(Box::pin(is_whole)))
    }

    /// Passes when the body is whole.
    pub(super) async fn check(self) -> Result<(), Problem> {
        let is_whole = match self.0 {
            Some(is_whole) => is_whole.await,
            None => true,
        };
        if is_whole { Ok(()) } else { Err(broken()) }
    }
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ending")
    }
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

/// How long a head says that its body is, in bytes; `None` where it says nothing that is a length.
pub(super) fn length_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The bytes of a body that has come, and how it ended.
pub(super) fn taken(body: RequestBody, max: usize) -> Result<(Vec<u8>, Ending), Problem> {
    let (bytes, ending) = match body {
        RequestBody::Whole(bytes) => (bytes, Ending(None)),
        RequestBody::Announced(bytes, ending) => (bytes, ending),
        RequestBody::TooLarge => return Err(Problem::BodyTooLarge { max }),
        RequestBody::Late => return Err(Problem::RequestTimeout),
        RequestBody::Broken => return Err(broken()),
    };
    if bytes.len() > max {
        return Err(Problem::BodyTooLarge { max });
    }
    Ok((bytes, ending))
}

fn broken() -> Problem {
    Problem::InvalidBody("the body broke off".to_owned())
}

/// Whether a Content-Type is JSON, or with `or_suffix` a type that is made of it (RFC 6839). Parameters say nothing about
/// it: JSON is UTF-8 (RFC 8259, section 11).
pub(super) fn is_json(value: &[u8], or_suffix: bool) -> bool {
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default();
    let essence = essence.trim_ascii().to_ascii_lowercase();
    essence == b"application/json" || (or_suffix && essence.ends_with(b"+json"))
}
