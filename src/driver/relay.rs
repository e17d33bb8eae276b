//! The relay: it delivers the events of one record's outbox, each at least once.
//!
//! An event's mark is written after the receiver's word. A crash in between repeats the delivery under the same event
//! id, which is what lets the receiver tell.

use super::act::{Step, Upstream};
use super::entropy::Entropy;
use super::error::DriverError;
use super::kv::Kv;
use super::operation::{Operations, Settled, TURNS_MAX};
use crate::machine::{
    Delivery, DeliveryEvent, DeliveryOutcome, DeliveryStart, Effect, Event, OutboxEvent, Record,
    Timestamp,
};

/// Who takes events to their receivers.
#[expect(
    async_fn_in_trait,
    reason = "a component is single-threaded: no future here is ever sent to another thread"
)]
pub trait Sink {
    /// Delivers one event of `record`, to an end before `start.until`.
    async fn deliver(
        &self,
        record: &Record,
        delivery: &Delivery,
        start: &DeliveryStart,
    ) -> Delivered;
}

/// What came of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its outcome.
    pub outcome: DeliveryOutcome,
    /// When it ended. This layer has no clock.
    pub ended_at: Timestamp,
}

impl<K: Kv, U: Upstream> Operations<'_, K, U> {
    /// Delivers what is due of the record with this id, one event after the other.
    ///
    /// Two relays that meet here share the work: each takes the events that the other has not taken.
    pub async fn relay<S: Sink>(
        &self,
        id: uuid::Uuid,
        sink: &S,
        mut now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Settled, DriverError> {
        let Some(mut node) = self.store.load(id, now.as_unix_ms()).await? else {
            return Ok(Settled::Gone);
        };
        for _ in 0..TURNS_MAX {
            let woken = Event::Outbox(OutboxEvent::Woken);
            let Some((started, step)) = self.write(node, woken, now, entropy).await? else {
                return Ok(Settled::Gone);
            };
            let Effect::Deliver(start) = &step.effect else {
                if step.is_changed {
                    // One was given up; another may be due.
                    node = started;
                    continue;
                }
                return Ok(Settled::At {
                    record: Box::new(step.record),
                    effect: step.effect,
                });
            };
            let Delivered { outcome, ended_at } = deliver(sink, &step, start).await;
            now = ended_at;
            match self
                .write(started, report(start, outcome), now, entropy)
                .await?
            {
                Some((next, _)) => node = next,
                None => return Ok(Settled::Gone),
            }
        }
        Err(DriverError::Contended)
    }

    /// Tells one event of an outbox what has happened: an operator replays or drops a dead letter.
    pub async fn tell_delivery(
        &self,
        id: uuid::Uuid,
        seq: u32,
        event: DeliveryEvent,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Settled, DriverError> {
        let Some(node) = self.store.load(id, now.as_unix_ms()).await? else {
            return Ok(Settled::Gone);
        };
        let event = Event::Outbox(OutboxEvent::Delivery { seq, event });
        match self.write(node, event, now, entropy).await? {
            Some((_, Step { record, effect, .. })) => Ok(Settled::At {
                record: Box::new(record),
                effect,
            }),
            None => Ok(Settled::Gone),
        }
    }
}

async fn deliver<S: Sink>(sink: &S, step: &Step, start: &DeliveryStart) -> Delivered {
    let delivery = step
        .record
        .outbox()
        .find(start.seq)
        .expect("the machine starts events that the record has");
    sink.deliver(&step.record, delivery, start).await
}

fn report(start: &DeliveryStart, outcome: DeliveryOutcome) -> Event {
    let event = DeliveryEvent::Finished {
        attempt: start.attempt,
        outcome,
    };
    Event::Outbox(OutboxEvent::Delivery {
        seq: start.seq,
        event,
    })
}
