//! An event: the attributes of CloudEvents 1.0, known to be sound, and its data as bytes.
//!
//! Of the extensions only `traceparent` is kept. Others are legal and are dropped when a message is read: nothing here
//! acts on them.

use core::fmt;

use super::limits;
use crate::json::raw;
use crate::machine::Timestamp;

/// The version of CloudEvents that is spoken here.
pub(super) const SPEC_VERSION: &str = "1.0";

/// The parts of an event, as somebody gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventParts {
    /// What names the event among all of its source.
    pub id: String,
    /// Where it came about: a URI reference.
    pub source: String,
    /// What happened, such as `order.created`: the attribute `type`.
    pub kind: String,
    /// What it happened to, within the source.
    pub subject: Option<String>,
    /// When it happened.
    pub time: Option<Timestamp>,
    /// The media type of the data. Without one it is JSON.
    pub datacontenttype: Option<String>,
    /// The trace that the event belongs to: the extension of W3C Trace Context.
    pub traceparent: Option<String>,
    /// The data. In binary mode none and empty data look alike.
    pub data: Option<Vec<u8>>,
}

/// A sound event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudEvent(EventParts);

/// What is wrong with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventError {
    /// A required attribute is not there, or is empty.
    Missing(&'static str),
    /// An attribute has characters or a form that it must not have.
    Malformed(&'static str),
    /// An attribute is longer than we take.
    TooLong(&'static str),
    /// The data is said to be JSON, and is not.
    NotJson,
}

impl CloudEvent {
    /// Takes the parts of an event, or says what is wrong with them.
    pub fn new(parts: EventParts) -> Result<Self, EventError> {
        required("id", &parts.id)?;
        required("source", &parts.source)?;
        required("type", &parts.kind)?;
        within("id", &parts.id, limits::ID_BYTES_MAX)?;
        if !is_uri_reference(&parts.source) {
            return Err(EventError::Malformed("source"));
        }
        if let Some(subject) = &parts.subject {
            required("subject", subject)?;
        }
        if let Some(media_type) = &parts.datacontenttype {
            within("datacontenttype", media_type, limits::ATTRIBUTE_BYTES_MAX)?;
            if !is_media_type(media_type) {
                return Err(EventError::Malformed("datacontenttype"));
            }
        }
        if let Some(traceparent) = &parts.traceparent
            && !is_traceparent(traceparent)
        {
            return Err(EventError::Malformed("traceparent"));
        }
        let event = Self(parts);
        if let Some(data) = &event.0.data
            && event.has_json()
            && raw::check(data).is_err()
        {
            return Err(EventError::NotJson);
        }
        Ok(event)
    }

    /// The parts.
    pub fn parts(&self) -> &EventParts {
        &self.0
    }

    /// Whether the data is JSON, by its media type.
    pub fn has_json(&self) -> bool {
        is_json(self.0.datacontenttype.as_deref())
    }
}

/// Whether data of this media type is JSON. Data without one is.
pub(super) fn is_json(media_type: Option<&str>) -> bool {
    let Some(media_type) = media_type else {
        return true;
    };
    let essence = essence(media_type);
    let Some((_, subtype)) = essence.split_once('/') else {
        return false;
    };
    subtype == "json" || subtype.ends_with("+json")
}

/// A media type without its parameters, in lower case.
pub(super) fn essence(media_type: &str) -> String {
    let end = media_type.find(';').unwrap_or(media_type.len());
    media_type[..end].trim().to_ascii_lowercase()
}

/// Passes for a text that is there, not too long, and free of what CloudEvents forbids in a string.
fn required(name: &'static str, text: &str) -> Result<(), EventError> {
    if text.is_empty() {
        return Err(EventError::Missing(name));
    }
    within(name, text, limits::ATTRIBUTE_BYTES_MAX)?;
    if text.chars().any(is_forbidden) {
        return Err(EventError::Malformed(name));
    }
    Ok(())
}

fn within(name: &'static str, text: &str, max: usize) -> Result<(), EventError> {
    if text.len() > max {
        return Err(EventError::TooLong(name));
    }
    Ok(())
}

/// Control characters and the code points that Unicode calls noncharacters.
fn is_forbidden(char: char) -> bool {
    let point = u32::from(char);
    char.is_control() || (0xfdd0..=0xfdef).contains(&point) || point & 0xfffe == 0xfffe
}

/// Whether the text has the characters of a URI reference alone (RFC 3986, section 2), its escapes whole.
fn is_uri_reference(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes
            .get(at + 1..at + 3)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
        _ => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(byte),
    })
}

/// Whether the text is a media type that a header can carry, and not that of a CloudEvent: data that claimed to be one
/// would turn a message in binary mode into another one.
fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let is_sound =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !part.is_empty() && part.bytes().all(is_sound)
    };
    let essence = essence(text);
    let is_event = essence.starts_with("application/cloudevents");
    let has_header_characters = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    has_header_characters
        && !is_event
        && essence
            .split_once('/')
            .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Whether the text is a `traceparent` of version 00 (W3C Trace Context, section 3.2).
pub(super) fn is_traceparent(text: &str) -> bool {
    let is_hex = |part: &str, length: usize| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        part.len() == length && part.bytes().all(is_digit)
    };
    let is_some = |part: &str| part.bytes().any(|byte| byte != b'0');
    let parts: Vec<&str> = text.split('-').collect();
    let ["00", trace, parent, flags] = parts.as_slice() else {
        return false;
    };
    is_hex(trace, 32) && is_some(trace) && is_hex(parent, 16) && is_some(parent) && is_hex(flags, 2)
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "the attribute {name} is missing or empty"),
            Self::Malformed(name) => write!(f, "the attribute {name} is malformed"),
            Self::TooLong(name) => write!(f, "the attribute {name} is too long"),
            Self::NotJson => f.write_str("the data is not the JSON that it is said to be"),
        }
    }
}

impl core::error::Error for EventError {}

#[cfg(test)]
#[path = "cloudevent_tests.rs"]
mod tests;
