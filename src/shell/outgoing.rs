//! The way out: one HTTP call, whole or not at all.

use crate::machine::Timestamp;
use http::{HeaderMap, Request, StatusCode};

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
