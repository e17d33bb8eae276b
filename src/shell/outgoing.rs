//! The way out: one HTTP call, whole or not at all.

use super::request::length_bytes;
use crate::machine::{AttemptError, ErrorKind, Timestamp};
use http::header::HeaderMap;
use http::{Request, StatusCode};

/// Who carries requests to other services. It follows no redirect and repeats nothing.
#[expect(
    async_fn_in_trait,
    reason = "a component is single-threaded: no future here is ever sent to another thread"
)]
pub trait Outgoing {
    /// Makes one call, to an end at `until` at the latest.
    async fn call(&self, request: Request<Vec<u8>>, limits: CallLimits) -> Called;
}

/// How far one call may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// When it is over, whatever has come until then.
    pub until: Timestamp,
    /// The largest response body that is read. `None` when the head says all: then no body is waited for, nor may one that
    /// breaks off undo what the head has said.
    pub response_bytes_max: Option<usize>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// The response, or why there is none.
    pub end: Result<Answered, CallError>,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// A response that came whole, as far as it was to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, those of the connection among them.
    pub headers: HeaderMap,
    /// Its body.
    pub body: AnsweredBody,
}

impl Answered {
    /// The length that the head of a response announces for its body; `None` where it announces none. A response of 204
    /// or 304 has no body, whatever its head says: with 304 the length is that of another response (RFC 9110, section
    /// 8.6).
    #[must_use]
    pub fn announced_bytes(status: StatusCode, headers: &HeaderMap) -> Option<u64> {
        if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return None;
        }
        length_bytes(headers)
    }
}

/// The body of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnsweredBody {
    /// Every byte of it.
    Whole(Vec<u8>),
    /// It is larger than was to be read.
    TooLarge {
        /// Its length in bytes, as far as it was announced or read.
        length_bytes: u64,
    },
}

/// Why a call has no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The other side could not be reached, so nothing was done.
    Unreachable(String),
    /// The connection broke before the response was whole: whether something was done is not known.
    BrokenOff(String),
    /// The time was over: whether something was done is not known.
    TimedOut,
}

impl CallError {
    /// The error of the attempt that made the call; `timed_out` says of whom an answer was waited for.
    pub(super) fn of_attempt(&self, timed_out: &str) -> AttemptError {
        let (kind, detail) = match self {
            Self::Unreachable(detail) => (ErrorKind::Unreachable, detail.as_str()),
            Self::BrokenOff(detail) => (ErrorKind::BrokenOff, detail.as_str()),
            Self::TimedOut => (ErrorKind::TimedOut, timed_out),
        };
        AttemptError::new(kind, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use http::header::CONTENT_LENGTH;

    #[test]
    fn a_response_without_a_body_announces_no_length() {
        for (status, length, announced) in [
            (200, Some("5"), Some(5)),
            (200, None, None),
            (200, Some("five"), None),
            (205, Some("0"), Some(0)),
            (204, Some("5"), None),
            (304, Some("5"), None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(length) = length {
                headers.insert(CONTENT_LENGTH, HeaderValue::from_static(length));
            }
            let status = StatusCode::from_u16(status).expect("a status");
            let found = Answered::announced_bytes(status, &headers);
            assert_eq!(found, announced, "{status}, {length:?}");
        }
    }
}
