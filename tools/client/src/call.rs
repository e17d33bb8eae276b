//! What is asked of a client, and what comes of it.

use super::key::Key;
use std::fmt;
use ureq::http::header::CONTENT_TYPE;
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

/// One operation to ask for.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) key: Option<Key>,
}

impl Call {
    /// A `POST` of this JSON to this path. The key will be drawn.
    pub fn post(path: impl Into<String>, json: impl Into<Vec<u8>>) -> Self {
        let media_type = HeaderValue::from_static("application/json");
        Self {
            path: path.into(),
            headers: [(CONTENT_TYPE, media_type)].into_iter().collect(),
            body: json.into(),
            key: None,
        }
    }

    /// The call with this key, which the caller has kept: it is the same operation as every other call with it.
    #[must_use]
    pub fn with_key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// The call with one more header, in the place of any of that name.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }
}

/// The answer to a call: what the operation has ended with, or why it was refused.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// Whether it is the reply to an earlier attempt, or an earlier call.
    pub is_replayed: bool,
    /// How often the operation was asked for.
    pub attempts: u32,
    /// How often its record was read meanwhile.
    pub polls: u32,
    /// The key that was used.
    pub key: Key,
}

impl Reply {
    /// Whether the status is a success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text; what is not UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A call that ended without the operation's reply. The operation may go on, or be asked for again with the same key.
#[derive(Clone, Debug)]
pub struct CallError {
    /// Why it ended.
    pub reason: Reason,
    /// The key that was used. With it the same operation can be asked for again.
    pub key: Key,
    /// How often the operation was asked for.
    pub attempts: u32,
    /// What came of the last request.
    pub last: Last,
}

/// Why a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The deadline came, or would have come in the next wait.
    Deadline,
    /// As many requests failed in a row as may.
    Attempts,
    /// The client's retries have failed so often that it does not retry for now.
    Budget,
    /// The operation was under way, and then its record could not be read any more.
    RecordGone,
    /// The answer is larger than a client takes.
    AnswerTooLarge,
    /// The request is one that cannot be sent.
    Unsendable,
}

/// What came of a call's last request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Last {
    /// There was none.
    Nothing,
    /// It was answered, with this status and body.
    Answer {
        /// The status.
        status: u16,
        /// The body.
        body: Vec<u8>,
    },
    /// No answer came. Whether it had an effect is not known.
    NoAnswer(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            Reason::Deadline => "the deadline has come",
            Reason::Attempts => "too many requests failed in a row",
            Reason::Budget => "the budget for retries is used up",
            Reason::RecordGone => "the operation's record cannot be read",
            Reason::AnswerTooLarge => "the answer is too large",
            Reason::Unsendable => "the request cannot be sent",
        };
        write!(
            f,
            "{reason}; key {}, attempts {}",
            self.key.as_str(),
            self.attempts
        )?;
        match &self.last {
            Last::Nothing => Ok(()),
            Last::Answer { status, body: _ } => write!(f, ", the last one answered {status}"),
            Last::NoAnswer(error) => write!(f, ", the last one: {error}"),
        }
    }
}

impl std::error::Error for CallError {}
