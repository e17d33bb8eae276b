//! What the machine says: what to write, and what to do once that is written.

use core::fmt;

use uuid::Uuid;

use super::event::Question;
use super::record::Record;
use super::time::Due;

/// The answer to one event.
///
/// The order is part of the promise: the effect is carried out only after the write has been swapped in. When the
/// swap is lost, the decision is void; read again and decide again.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The record to write; `None` when it stays as it is.
    pub write: Option<Record>,
    /// What is to be done then.
    pub effect: Effect,
}

/// What the driver is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing before this deadline.
    Idle(Due),
    /// Run this attempt and report its outcome.
    Start(AttemptStart),
    /// Withdraw one token from the upstream's retry budget and come back with the answer.
    Withdraw(Question),
    /// Deposit one success into the upstream's retry budget.
    Deposit,
    /// Deliver this event, report the outcome, and come by for the next one.
    Deliver(DeliveryStart),
    /// The report came from an attempt that is no longer the record's. Forget it.
    Stale,
    /// What was asked for is not possible.
    Refuse(Refusal),
    /// The record's retention is over: treat it as absent.
    Expired,
}

/// An attempt that is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptStart {
    /// Its number over all cycles, from 1; the report names it.
    pub attempt: u32,
    /// The key for the upstream.
    pub upstream_key: UpstreamKey,
    /// When it has to be over, and why.
    pub until: Due,
}

/// The Idempotency-Key that an upstream sees: made from the record's id, the same on every attempt, and unlike the
/// client's key, which may mean something else to the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamKey(pub(super) Uuid);

impl fmt::Display for UpstreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reprise-{}", self.0)
    }
}

/// A delivery that is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryStart {
    /// The event's number.
    pub seq: u32,
    /// The delivery's number; the report names it.
    pub attempt: u32,
    /// When it has to be over.
    pub until: Due,
}

/// Why something is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The key is bound to an operation with other content.
    Mismatch,
    /// The operation has ended and cannot be cancelled any more.
    AlreadyEnded,
    /// Only an operation that has failed, or waits, can be started by an operator.
    NotToRetry,
    /// The outbox is full of events that nobody has settled.
    OutboxFull,
    /// The outbox has no event of this number.
    NoSuchEvent,
    /// Only a dead letter can be replayed or dropped.
    NotDead,
}

impl Decision {
    /// Writes nothing.
    pub(super) fn keep(effect: Effect) -> Self {
        Self {
            write: None,
            effect,
        }
    }

    /// The report came too late.
    pub(super) fn stale() -> Self {
        Self::keep(Effect::Stale)
    }

    /// What was asked for is not possible.
    pub(super) fn refuse(refusal: Refusal) -> Self {
        Self::keep(Effect::Refuse(refusal))
    }

    /// Writes `record`, then does `effect`.
    pub(super) fn write(record: Record, effect: Effect) -> Self {
        Self {
            write: Some(record),
            effect,
        }
    }

    /// Writes `record` and waits for its next deadline.
    pub(super) fn write_and_wait(record: Record) -> Self {
        let effect = Effect::Idle(record.due());
        Self::write(record, effect)
    }
}
