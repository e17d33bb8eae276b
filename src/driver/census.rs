//! The census: what the walk over the buckets has seen of all records.
//!
//! Each record counts as it is when its bucket is visited, and a round takes its time: what moves meanwhile is seen
//! before or after its move. Nothing here is exact to the moment, and nothing is forgotten for longer than a round.

use serde::Serialize;

use super::counts::Counts;
use crate::json::cursor::from_object;
use crate::machine::{DeliveryState, Record, Timestamp};

/// What some buckets hold, or all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Census {
    /// Operations, as `{operation} {state}`.
    operations: Counts,
    /// Dead letters, by sink.
    dead_letters: Counts,
    /// How long the operation had been due whose next step was due for longest.
    due_lag_ms: u64,
    /// The same of events that were to be delivered.
    relay_lag_ms: u64,
}

from_object!(Census {
    operations,
    dead_letters,
    due_lag_ms,
    relay_lag_ms
});

impl Census {
    /// Counts one record as it is at `now`.
    pub fn see(&mut self, record: &Record, now: Timestamp) {
        let state = record.state();
        let operation = &record.identity().operation;
        self.operations
            .add(&format!("{operation} {}", state.name()), 1);
        if !state.is_terminal() {
            let lag = now.since(state.due().at).get();
            self.due_lag_ms = self.due_lag_ms.max(lag);
        }
        if let Some(due) = record.outbox().due() {
            self.relay_lag_ms = self.relay_lag_ms.max(now.since(due.at).get());
        }
        for delivery in record.outbox().deliveries() {
            if let DeliveryState::Dead { .. } = delivery.state {
                self.dead_letters.add(delivery.event.sink().as_str(), 1);
            }
        }
    }

    /// Adds what other buckets hold.
    pub fn merge(&mut self, others: &Self) {
        self.operations.merge(&others.operations);
        self.dead_letters.merge(&others.dead_letters);
        self.due_lag_ms = self.due_lag_ms.max(others.due_lag_ms);
        self.relay_lag_ms = self.relay_lag_ms.max(others.relay_lag_ms);
    }

    /// Operations, as `{operation} {state}`.
    #[must_use]
    pub const fn operations(&self) -> &Counts {
        &self.operations
    }

    /// Dead letters, by sink.
    #[must_use]
    pub const fn dead_letters(&self) -> &Counts {
        &self.dead_letters
    }

    /// How long the operation had been due whose next step was due for longest, in milliseconds.
    #[must_use]
    pub const fn due_lag_ms(&self) -> u64 {
        self.due_lag_ms
    }

    /// How long the event had been due whose delivery was due for longest, in milliseconds.
    #[must_use]
    pub const fn relay_lag_ms(&self) -> u64 {
        self.relay_lag_ms
    }
}
