//! The relay: it delivers the events of one record's outbox, each at least once.
//!
//! An event's mark is written after the receiver's word. A crash in between repeats the delivery under the same event
//! id, which is what lets the receiver tell.

use super::act::{Step, Upstream};
use super::entropy::Entropy;
use super::error::DriverError;
use super::kv::Kv;
use super::operation::{Left, Operations, Settled};
use super::ration::EVENTS_AT_ONCE;
use super::store::Node;
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
    /// Two relays that meet here share the work: each takes the events that the other has not taken. What is left to do
    /// gets a timer, also with [`Timers::CallerRelays`](super::Timers::CallerRelays): the caller has relayed.
    pub async fn relay<S: Sink>(
        &self,
        id: uuid::Uuid,
        sink: &S,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Settled, DriverError> {
        let Some(node) = self.store.load(id, now.as_unix_ms()).await? else {
            return Ok(Settled::Gone);
        };
        // One event is covered by what every request has; what is not delivered gets a timer, which is too.
        let is_much_left = self.store.reserve(2 * EVENTS_AT_ONCE + 1);
        let events_max = if is_much_left { EVENTS_AT_ONCE } else { 1 };
        let left = self.deliver_due(node, sink, events_max, now, entropy);
        let Some(left) = left.await? else {
            return Ok(Settled::Gone);
        };
        self.arm(self.timers.once_relayed(), &left, entropy).await;
        Ok(left.settled())
    }

    /// [`Operations::relay`] of a node that was read, and without a timer for what is left to do.
    ///
    /// Each event is delivered once at most, and `events_max` of them: those that become due meanwhile, a failed one
    /// among them, are left. Slow receivers and short waits would else keep one call busy for as long as there are
    /// attempts.
    pub(super) async fn deliver_due<S: Sink>(
        &self,
        mut node: Node,
        sink: &S,
        events_max: u32,
        mut now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Option<Left>, DriverError> {
        let began = now;
        let mut is_changed = false;
        let mut turns = 0;
        loop {
            turns += 1;
            let woken = Event::Outbox(OutboxEvent::Woken);
            let Some((started, step)) = self.write(node.into(), woken, now, entropy).await? else {
                return Ok(None);
            };
            let is_idle = !step.is_changed;
            is_changed |= step.is_changed;
            let (next, step) = if let Effect::Deliver(start) = &step.effect {
                let Delivered { outcome, ended_at } = deliver(sink, &step, start).await;
                now = ended_at;
                let report = report(start, outcome);
                match self.write(started.into(), report, now, entropy).await? {
                    Some(next) => next,
                    None => return Ok(None),
                }
            } else {
                // One was given up, or nothing is due.
                (started, step)
            };
            let due = step.record.outbox().due();
            let is_more_due = due.is_some_and(|due| due.at.is_reached(began));
            if is_idle || !is_more_due || turns >= events_max {
                return Ok(Some(Left {
                    node: next,
                    step,
                    is_changed,
                }));
            }
            node = next;
        }
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
        let left = self.write(node.into(), event, now, entropy).await?;
        let left = left.map(|(node, step)| Left {
            node,
            is_changed: step.is_changed,
            step,
        });
        Ok(self.settle(left, entropy).await)
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
