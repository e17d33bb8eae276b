//! The outbox: events that are part of the record.
//!
//! An event is written in the same swap as the state change that it tells of, so neither exists without the other.
//! Each event has its own delivery state and its own schedule; a poisoned one never holds up those behind it. How
//! the states follow each other is in the `relay` module.

use serde::Serialize;
use uuid::Uuid;

use super::draft::EventDraft;
use super::failure::AttemptError;
use super::limits;
use super::time::{Due, DueReason, Timestamp};
use reprise_json::cursor::{from_cases, from_object};

/// The events of one record, in the order in which they came about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outbox {
    /// The number of the next event. It only grows, so an event's id is never used twice.
    next_seq: u32,
    deliveries: Vec<Delivery>,
}

/// An event and how far its delivery is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Delivery {
    /// The event's number in its record, from 0.
    pub seq: u32,
    /// What is to be sent where.
    pub event: EventDraft,
    /// When the event came about.
    pub occurred_at: Timestamp,
    /// Deliveries that were started, over all cycles.
    pub attempts: u32,
    /// Deliveries that were started since the event was created or replayed.
    pub attempts_in_cycle: u32,
    /// How far it is.
    pub state: DeliveryState,
}

/// The state of one delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The next attempt has yet to come.
    Pending {
        /// When it may start.
        due: Timestamp,
        /// The error of the last attempt, if one has failed.
        error: Option<AttemptError>,
    },
    /// An attempt is under way, or its holder crashed.
    Delivering {
        /// The attempt's number over all cycles. An outcome counts only when it names this number.
        attempt: u32,
        /// Until when nobody else may take over.
        lease_until: Timestamp,
    },
    /// The receiver has said that it has the event.
    Delivered {
        /// When that was written.
        at: Timestamp,
    },
    /// A dead letter: given up until an operator replays or drops it.
    Dead {
        /// The last error; `None` when the attempts were lost without one.
        error: Option<AttemptError>,
        /// Until when it is kept.
        expires_at: Timestamp,
    },
    /// Dropped by an operator.
    Dropped {
        /// When.
        at: Timestamp,
    },
}

impl Outbox {
    /// The events, oldest first.
    pub fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }

    /// The event with this number, if it is still kept.
    pub fn find(&self, seq: u32) -> Option<&Delivery> {
        self.deliveries.iter().find(|delivery| delivery.seq == seq)
    }

    /// The next deadline of all deliveries; `None` when nothing is left to do.
    pub fn due(&self) -> Option<Due> {
        self.deliveries
            .iter()
            .filter_map(|delivery| delivery.state.due())
            .reduce(Due::earlier)
    }

    /// Until when the dead letters are kept; `None` when there is none.
    pub(super) fn dead_letters_until(&self) -> Option<Timestamp> {
        self.deliveries
            .iter()
            .filter_map(|delivery| delivery.state.dead_until())
            .max()
    }

    /// Whether one more transition can add its events.
    pub(super) fn has_room(&self) -> bool {
        self.deliveries.len() + limits::EVENTS_PER_TRANSITION_MAX <= limits::OUTBOX_EVENTS_MAX
    }

    /// The outbox without the events that need nobody any more. Their numbers stay used.
    #[must_use]
    pub(super) fn without_settled(&self) -> Self {
        let mut outbox = self.clone();
        outbox.deliveries.retain(|delivery| {
            delivery.state.due().is_some() || delivery.state.dead_until().is_some()
        });
        outbox
    }

    /// Adds events that are due at once.
    pub(super) fn add(&mut self, drafts: &[EventDraft], now: Timestamp) {
        for event in drafts {
            let state = DeliveryState::Pending {
                due: now,
                error: None,
            };
            let event = event.clone();
            let seq = self.next_seq;
            self.deliveries.push(Delivery {
                seq,
                event,
                occurred_at: now,
                attempts: 0,
                attempts_in_cycle: 0,
                state,
            });
            self.next_seq = seq.saturating_add(1);
        }
    }

    /// The event with this number, for a change of its state.
    pub(super) fn find_mut(&mut self, seq: u32) -> Option<&mut Delivery> {
        self.deliveries
            .iter_mut()
            .find(|delivery| delivery.seq == seq)
    }

    /// The event that has been due for longest at `now`; of several the oldest.
    pub(super) fn longest_due(&mut self, now: Timestamp) -> Option<&mut Delivery> {
        let due = |delivery: &Delivery| {
            delivery
                .state
                .due()
                .map(|due| due.at)
                .filter(|at| at.is_reached(now))
        };
        let seq = self
            .deliveries
            .iter()
            .filter_map(|one| Some((due(one)?, one.seq)))
            .min()?
            .1;
        self.find_mut(seq)
    }

    /// What is wrong with an outbox that was read from a store, if anything.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.deliveries.len() > limits::OUTBOX_EVENTS_MAX {
            return Some("too many events");
        }
        if !self.deliveries.is_sorted_by(|a, b| a.seq < b.seq) {
            return Some("events out of order");
        }
        if self
            .deliveries
            .last()
            .is_some_and(|delivery| delivery.seq >= self.next_seq)
        {
            return Some("an event's number is not used yet");
        }
        self.deliveries.iter().find_map(Delivery::problem)
    }
}

impl Delivery {
    /// The event's id: the same on every delivery, and unlike any other event's.
    pub fn event_id(&self, record: Uuid) -> String {
        format!("{record}-{}", self.seq)
    }

    fn problem(&self) -> Option<&'static str> {
        if self.event.data().len() > limits::EVENT_DATA_BYTES_MAX {
            return Some("an event's data is too large");
        }
        if self.attempts_in_cycle > self.attempts {
            return Some("a delivery has more attempts in its cycle than in all");
        }
        match &self.state {
            DeliveryState::Delivering { attempt, .. }
                if *attempt != self.attempts || *attempt == 0 =>
            {
                Some("a running delivery is not the last one that was started")
            }
            DeliveryState::Pending {
                error: Some(error), ..
            }
            | DeliveryState::Dead {
                error: Some(error), ..
            } if !error.is_bounded() => Some("an error's detail is too large"),
            DeliveryState::Pending { .. }
            | DeliveryState::Delivering { .. }
            | DeliveryState::Delivered { .. }
            | DeliveryState::Dead { .. }
            | DeliveryState::Dropped { .. } => None,
        }
    }
}

impl DeliveryState {
    /// The state's name, as operators read it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Delivering { .. } => "delivering",
            Self::Delivered { .. } => "delivered",
            Self::Dead { .. } => "dead",
            Self::Dropped { .. } => "dropped",
        }
    }

    /// The next deadline; `None` when the relay has nothing left to do here.
    pub fn due(&self) -> Option<Due> {
        match self {
            Self::Pending { due, .. } => Some(Due::new(*due, DueReason::Delivery)),
            Self::Delivering { lease_until, .. } => {
                Some(Due::new(*lease_until, DueReason::DeliveryLeaseEnd))
            }
            Self::Delivered { .. } | Self::Dead { .. } | Self::Dropped { .. } => None,
        }
    }

    /// Until when a dead letter is kept.
    fn dead_until(&self) -> Option<Timestamp> {
        match self {
            Self::Dead { expires_at, .. } => Some(*expires_at),
            Self::Pending { .. }
            | Self::Delivering { .. }
            | Self::Delivered { .. }
            | Self::Dropped { .. } => None,
        }
    }
}

from_object!(Outbox {
    next_seq,
    deliveries
});

from_object!(Delivery {
    seq,
    event,
    occurred_at,
    attempts,
    attempts_in_cycle,
    state
});

from_cases!(DeliveryState {
    "pending" => Pending { due, error },
    "delivering" => Delivering { attempt, lease_until },
    "delivered" => Delivered { at },
    "dead" => Dead { error, expires_at },
    "dropped" => Dropped { at },
});
