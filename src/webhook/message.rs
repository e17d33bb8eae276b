//! Messages: an event over HTTP in either of the two modes, and the way back.
//!
//! Which mode a message is in is told by its `content-type` alone, as the binding asks.

use core::fmt;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};

use super::attribute::CodingError;
use super::cloudevent::{CloudEvent, EventError, essence};
use super::{binary, structured};

/// Where the attributes of an event go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Into the body, with the data: what signs the body signs them all.
    #[default]
    Structured,
    /// Into headers. The body is the data, which receivers that know nothing of CloudEvents can read.
    Binary,
}

/// What is to be sent, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Header lines.
    pub headers: Vec<(HeaderName, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why a message is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindingError {
    /// It holds several events in a batch, which is not taken.
    Batch,
    /// It holds an event in another format than JSON.
    Format,
    /// It is of another version than 1.0, or of none.
    Version,
    /// This header is there more than once.
    Repeated(HeaderName),
    /// This header's value cannot be read.
    Header(HeaderName, CodingError),
    /// The body is not the JSON of an event.
    Body {
        /// What is wrong, for people.
        problem: String,
    },
    /// The event is not sound.
    Event(EventError),
}

impl From<EventError> for BindingError {
    fn from(error: EventError) -> Self {
        Self::Event(error)
    }
}

impl CloudEvent {
    /// The event as a message.
    pub fn message(&self, mode: Mode) -> Message {
        match mode {
            Mode::Structured => structured::build(self),
            Mode::Binary => binary::build(self),
        }
    }
}

/// Reads the event of a message, and which mode the message is in.
pub fn parse(headers: &HeaderMap, body: &[u8]) -> Result<(CloudEvent, Mode), BindingError> {
    let media_type = one(headers, &CONTENT_TYPE)?;
    // A media type is ASCII: what is not even UTF-8 is none that is known here.
    let kind = media_type.and_then(|kind| str::from_utf8(kind).ok());
    let kind = kind.map(essence).unwrap_or_default();
    match kind.as_str() {
        structured::MEDIA_TYPE => Ok((structured::parse(body)?, Mode::Structured)),
        _ if kind.starts_with("application/cloudevents-batch") => Err(BindingError::Batch),
        _ if kind.starts_with("application/cloudevents") => Err(BindingError::Format),
        _ => Ok((binary::parse(headers, body)?, Mode::Binary)),
    }
}

/// The value of a header that may be there once.
pub(super) fn one<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a [u8]>, BindingError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        return Err(BindingError::Repeated(name.clone()));
    }
    Ok(value.map(http::HeaderValue::as_bytes))
}

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch => f.write_str("events are taken one by one, not in batches"),
            Self::Format => f.write_str("of the formats of CloudEvents only JSON is taken"),
            Self::Version => f.write_str("the message is not a CloudEvent of version 1.0"),
            Self::Repeated(name) => write!(f, "the header {name} is there more than once"),
            Self::Header(name, error) => write!(f, "the header {name}: {error}"),
            Self::Body { problem } => write!(f, "the body is not an event: {problem}"),
            Self::Event(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BindingError {}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
