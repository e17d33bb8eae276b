//! One delivery: an event sealed into a signed message, and such a message opened again.
//!
//! A signature covers the message's id, its time and its body. In structured mode that is the whole event. In binary
//! mode it is the data alone: whoever sees such a message could send it on with other attributes. So
//! - an event's id must be the id of its message, which is signed (and where the two are one, no reader can go by the
//!   wrong one);
//! - binary mode is only accepted from a source that the receiver knows beforehand. The pair (source, id) by which an
//!   event is told apart then has no part that a stranger could choose;
//! - the type and the time of an event in binary mode remain unsigned. A receiver that acts on several types whose
//!   data looks alike must insist on structured mode.

use core::fmt;

use http::HeaderMap;

use super::cloudevent::CloudEvent;
use super::message::{BindingError, Message, Mode, parse};
use super::signature::{MessageId, MessageIdError, Secrets, VerifyError};
use crate::machine::Timestamp;

/// The message of one attempt to deliver `event`, signed at `now`.
///
/// Every attempt has the same id and body. Its time and signature are its own.
pub fn seal(
    event: &CloudEvent,
    mode: Mode,
    secrets: &Secrets,
    now: Timestamp,
) -> Result<Message, MessageIdError> {
    let id = MessageId::new(&*event.parts().id)?;
    let mut message = event.message(mode);
    let signature = secrets.sign(&id, now, &message.body);
    message.headers.extend(signature);
    Ok(message)
}

/// Who receives events, and from whom.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The secrets that the sender may sign with.
    pub secrets: Secrets,
    /// The source of all events of this sender. Without one any source is accepted, in structured mode alone.
    pub source: Option<String>,
}

/// Why a message is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// It is not signed as it should be: nothing in it can be trusted.
    Unsigned(VerifyError),
    /// It is signed, and is no event.
    Binding(BindingError),
    /// The event has another id than what was signed.
    OtherId,
    /// The event is of another source than this sender's.
    OtherSource,
    /// It is in binary mode, and nothing says which source to expect.
    UnknownSource,
}

/// Takes a message apart, and answers with its event when it is one of this sender's.
///
/// The signature is checked before anything else is read.
pub fn open(
    receiver: &Receiver,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Result<CloudEvent, OpenError> {
    let id = receiver
        .secrets
        .verify(headers, now, body)
        .map_err(OpenError::Unsigned)?;
    let (event, mode) = parse(headers, body).map_err(OpenError::Binding)?;
    if event.parts().id != id.as_str() {
        return Err(OpenError::OtherId);
    }
    match (&receiver.source, mode) {
        (Some(source), Mode::Structured | Mode::Binary) if *source != event.parts().source => {
            Err(OpenError::OtherSource)
        }
        (None, Mode::Binary) => Err(OpenError::UnknownSource),
        (Some(_), Mode::Structured | Mode::Binary) | (None, Mode::Structured) => Ok(event),
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(error) => error.fmt(f),
            Self::Binding(error) => error.fmt(f),
            Self::OtherId => f.write_str("the event's id is not the webhook-id that was signed"),
            Self::OtherSource => f.write_str("the event's source is not the one of this sender"),
            Self::UnknownSource => f.write_str(
                "the event's source is outside of the signature; send it in structured mode",
            ),
        }
    }
}

impl core::error::Error for OpenError {}

#[cfg(test)]
#[path = "delivery_tests.rs"]
mod tests;
