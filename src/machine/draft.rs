//! Events that are to be sent, before they are part of a record.

use serde::Serialize;

use super::blob::Blob;
use super::limits::{self, LimitError, within};
use super::message::Name;
use reprise_json::cursor::from_object;

/// An event that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventDraft {
    kind: Name,
    sink: Name,
    data: Blob,
}

from_object!(EventDraft { kind, sink, data });

impl EventDraft {
    /// An event of `kind` for the configured `sink`, or the limit that its data breaks.
    pub fn new(kind: Name, sink: Name, data: Blob) -> Result<Self, LimitError> {
        within("an event's data", data.len(), limits::EVENT_DATA_BYTES_MAX)?;
        Ok(Self { kind, sink, data })
    }

    /// What happened, such as `order.created`.
    pub fn kind(&self) -> &Name {
        &self.kind
    }

    /// Where it is to be sent.
    pub fn sink(&self) -> &Name {
        &self.sink
    }

    /// Its data.
    pub fn data(&self) -> &Blob {
        &self.data
    }
}

/// The events that one transition adds; few enough for any outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventDrafts(Vec<EventDraft>);

impl EventDrafts {
    /// Takes `drafts`, or says by how many they are too many.
    pub fn new(drafts: Vec<EventDraft>) -> Result<Self, LimitError> {
        within(
            "the number of events",
            drafts.len(),
            limits::EVENTS_PER_TRANSITION_MAX,
        )?;
        Ok(Self(drafts))
    }

    /// The drafts.
    pub fn as_slice(&self) -> &[EventDraft] {
        &self.0
    }
}
