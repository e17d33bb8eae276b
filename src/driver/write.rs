//! Deciding and writing: a decision is in force once its record is in the store, from the revision that it was made on.

use super::act::{Step, Upstream};
use super::entropy::Entropy;
use super::error::DriverError;
use super::kv::Kv;
use super::operation::{Operations, TURNS_MAX};
use super::store::{Change, NEVER, Node, StoreError, Updated};
use super::witness::Fact;
use crate::machine::{
    DeliveryEvent, Effect, Event, OperationEvent, OutboxEvent, Record, Seed, Timestamp, decide,
    stored,
};

/// An operation's node, with the record in it where somebody has read that already.
#[derive(Debug, Clone)]
pub struct Found {
    node: Node,
    record: Option<Record>,
}

impl Found {
    /// A node whose record is this one.
    pub const fn read(node: Node, record: Record) -> Self {
        let record = Some(record);
        Self { node, record }
    }
}

impl From<Node> for Found {
    fn from(node: Node) -> Self {
        Self { node, record: None }
    }
}

impl<K: Kv, U: Upstream> Operations<'_, K, U> {
    /// Decides and writes, again and again while others come in between. `None` when the record is gone.
    ///
    /// Nothing new is begun on a store that is too slow. One that fails while an outcome is in our hands is asked again:
    /// the outcome exists nowhere else. It may find its own write there; then the report is stale, and the record is as
    /// it should be.
    pub(super) async fn write(
        &self,
        found: Found,
        event: Event,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Option<(Node, Step)>, DriverError> {
        let Found {
            mut node,
            mut record,
        } = found;
        let id = node.id();
        let is_report = is_report(&event);
        for _ in 0..TURNS_MAX {
            let record = match record.take() {
                Some(record) => record,
                None => stored::decode(node.payload()).map_err(DriverError::Record)?,
            };
            let step = self.decide(record, event.clone(), now, entropy);
            if step.effect == Effect::Expired {
                return Ok(None);
            }
            if !step.is_changed {
                return Ok(Some((node, step)));
            }
            if !is_report {
                self.store.check_pace()?;
            }
            let change = Change {
                payload: stored::encode(&step.record),
                expires_at_ms: expires_at_ms(&step.record),
            };
            match self
                .store
                .update(&node, change, now.as_unix_ms(), entropy)
                .await
            {
                Ok(Updated::Applied(node)) => {
                    let (before, after) = (step.before.as_deref(), &step.record);
                    self.witness.note(Fact::Written { before, after }, now);
                    return Ok(Some((node, step)));
                }
                Ok(Updated::Conflict(seen)) => node = seen,
                Ok(Updated::Gone) => return Ok(None),
                Err(StoreError::Unavailable(_) | StoreError::Contended) if is_report => {
                    match self.store.load(id, now.as_unix_ms()).await? {
                        Some(seen) => node = seen,
                        None => return Ok(None),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(DriverError::Contended)
    }

    pub(super) fn decide(
        &self,
        record: Record,
        event: Event,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Step {
        let seed = Seed::new(entropy.next_u64());
        let decision = decide(&record, event, now, seed, self.policy);
        let (record, before) = match decision.write {
            Some(next) => (next, Some(Box::new(record))),
            None => (record, None),
        };
        Step {
            record,
            effect: decision.effect,
            is_changed: before.is_some(),
            before,
            now,
        }
    }
}

/// Whether the event carries something that was done and is known to nobody else.
fn is_report(event: &Event) -> bool {
    match event {
        Event::Operation(event) => match event {
            OperationEvent::AttemptFinished { .. } | OperationEvent::BudgetAnswered(_) => true,
            OperationEvent::Submitted { .. }
            | OperationEvent::Woken
            | OperationEvent::CancelAsked
            | OperationEvent::RetryAsked => false,
        },
        Event::Outbox(OutboxEvent::Delivery {
            event: DeliveryEvent::Finished { .. },
            ..
        }) => true,
        Event::Outbox(_) => false,
    }
}

/// The expiry of a record as the store has it.
pub(super) fn expires_at_ms(record: &Record) -> u64 {
    record.expires_at().map_or(NEVER, Timestamp::as_unix_ms)
}
