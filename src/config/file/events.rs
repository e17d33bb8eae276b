//! The events of an operation.

use super::super::{ConfigError, EventRule, Sink};
use super::at::At;
use crate::machine::{Blob, EventDraft, Name, limits};
use crate::sorted::Sorted;
use serde::Serialize;

/// What is sent at the end of an operation, for each way to end.
#[derive(Default)]
pub(super) struct Events {
    pub(super) done: Vec<EventRule>,
    pub(super) failed: Vec<EventDraft>,
    pub(super) cancelled: Vec<EventDraft>,
}

/// The data of an event that no result gives any.
#[derive(Serialize)]
struct EndData<'a> {
    operation: &'a str,
    state: &'a str,
}

#[derive(Clone, Copy)]
enum On {
    Done,
    Failed,
    Cancelled,
}

/// Reads the events of the operation of this name.
pub(super) fn read(
    at: &At<'_>,
    operation: &Name,
    sinks: &Sorted<Name, Sink>,
) -> Result<Events, Box<ConfigError>> {
    let mut events = Events::default();
    for item in at.items()? {
        let fields = item.fields(&["on", "type", "sink"])?;
        let on = fields.need("on")?.choice(&[
            ("done", On::Done),
            ("failed", On::Failed),
            ("cancelled", On::Cancelled),
        ])?;
        let kind_at = fields.need("type")?;
        let kind = Name::new(kind_at.text()?)
            .map_err(|_| kind_at.wrong("is not 1 to 128 visible ASCII characters"))?;
        let sink_at = fields.need("sink")?;
        let sink = sink_at.name()?;
        if !sinks.contains_key(&sink) {
            return Err(sink_at.wrong("is the name of no sink of this file"));
        }
        let count = match on {
            On::Done => {
                events.done.push(EventRule { kind, sink });
                events.done.len()
            }
            On::Failed => {
                let draft = draft(kind, sink, operation, "failed");
                events.failed.push(draft);
                events.failed.len()
            }
            On::Cancelled => {
                let draft = draft(kind, sink, operation, "cancelled");
                events.cancelled.push(draft);
                events.cancelled.len()
            }
        };
        if count > limits::EVENTS_PER_TRANSITION_MAX {
            let max = limits::EVENTS_PER_TRANSITION_MAX;
            return Err(item.wrong(format!("is one too many: at most {max} for one end")));
        }
    }
    Ok(events)
}

fn draft(kind: Name, sink: Name, operation: &Name, state: &str) -> EventDraft {
    let data = EndData {
        operation: operation.as_str(),
        state,
    };
    let data = serde_json::to_vec(&data).expect("two strings have a JSON form");
    EventDraft::new(kind, sink, Blob::new(data)).expect("two short strings are within the limit")
}
