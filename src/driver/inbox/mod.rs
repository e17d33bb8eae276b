//! The inbox: it takes events that may come more than once, and applies the effect of each exactly once.
//!
//! The effect is a read model of orders: by product, how many there were and of which quantity. It lies in a few
//! documents, the *shards*; an event belongs to the shard that the hash of its (source, id) names.
//!
//! ```text
//!   shard                                   record of a done event
//!   ┌───────────────────────────────┐       ┌────────────────────────┐
//!   │ totals: product → orders, sum │       │ (source, id), nothing  │
//!   │ marks:  the last few events   │ ────▶ │ else; expires          │
//!   └───────────────────────────────┘       └────────────────────────┘
//!     effect and mark: one swap               before its mark goes
//! ```
//!
//! - **Claim, work and done are one swap** of the shard: it adds to the totals and notes the event's mark. There is no
//!   instant at which an event is noted and its effect is missing, so a handler that fails, or dies, leaves nothing
//!   behind that could make a redelivery look like a repeat. An event is acknowledged after this swap alone.
//! - **Marks are few**, because they are written again with each event. Whoever applies an event to a shard with too
//!   many marks first *settles* the oldest: it creates a record for each, exclusively as all records are created, and
//!   leaves those marks out of the shard that it writes. Two who settle the same event do no harm.
//! - **A redelivery is known** by its mark or by its record. The shard is read first and the record looked for after
//!   that. A mark only goes when its record is there, so an event with neither, seen in this order, is not in the
//!   shard as it was read, and the swap is fenced by that very revision. In the other order an event could slip
//!   through, its record not there yet and its mark not there any more.
//! - **Memory is bounded and honest.** A record is kept for the retention. An event so old that its record might have
//!   expired is refused, not guessed at: see [`InboxPolicy`]. Senders retry for days, so the retention is in days.
//!
//! What was weighed against this: marks in the totals' value alone are the simplest, but a value has 1 MB and some
//! senders send more in the days that they retry for. Totals that are folded later from exclusively created records
//! need an index of what was not folded yet, with a checkpoint that is itself exactly-once. Totals by product in one
//! shard each would be smaller, but one id sent with two contents would then be two events.
//!
//! A new event costs one write, and two more for the mark that is settled in its stead once there are enough; a
//! redelivery none. Reading the projection costs two reads a shard.
//!
//! Not here: signatures and the form of a message (see [`crate::webhook`]), and HTTP.

mod error;
mod orders;
mod shard;

pub use error::{InboxError, Rejection};
pub use orders::{ORDER_CREATED, Projection, Totals};

use super::entropy::Entropy;
use super::kv::Kv;
use super::store::{Change, Identity, NEVER, NewRecord, Node, Store, StoreError, Updated};
use crate::machine::{Millis, Timestamp};
use crate::webhook::CloudEvent;
use orders::Order;
use shard::{Mark, Shard};

/// Limits of an inbox, each with its reason.
pub mod limits {
    use crate::machine::Millis;

    /// Documents of one inbox. Each adds two reads to a projection, and lets one more writer go on undisturbed. It is part
    /// of what is stored: another number would look for the marks of earlier events in other shards.
    pub const SHARDS: u32 = 16;
    /// Products in one shard: at most 67 bytes each, so that a full shard with all its marks stays one value.
    pub const PRODUCTS_PER_SHARD_MAX: usize = 10_000;
    /// Marks in one shard. More than a few are only there while many writers meet, each of whom adds one.
    pub const MARKS_MAX: usize = 256;
    /// Marks that one event settles at most: enough to get ahead of the one that it adds, few enough to be quick.
    pub const SETTLED_PER_EVENT_MAX: usize = 8;
    /// Turns that one event takes when others keep changing its shard.
    pub const TURNS_MAX: u32 = 64;
    /// How far ahead of our clock an event's time is believed, and how much younger than the retention it has to be.
    /// It covers clocks that differ, the sender's and those of our instances.
    pub const CLOCK_MARGIN: Millis = Millis::from_secs(60 * 60);
}

/// How long an inbox remembers.
///
/// With `t` the time of an event, `now` the clock of whoever applies it, and [`limits::CLOCK_MARGIN`] as the margin: it
/// is applied only if `t <= now + margin` and `now < t + retention - margin`, and its record expires at
/// `now + retention`. Whoever finds that record expired has a clock of at least `t - margin + retention`, and so
/// refuses the event. This holds whatever the clocks say, as long as the store's purge has the grace that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxPolicy {
    /// For how long the id of an applied event is remembered. More than the margin; days.
    pub retention: Millis,
    /// Marks that a shard keeps before the oldest are settled: redeliveries that come at once then cost two reads.
    pub recent_marks: usize,
}

impl Default for InboxPolicy {
    /// A week, which is more than senders commonly retry for.
    fn default() -> Self {
        Self {
            retention: Millis::from_secs(7 * 24 * 60 * 60),
            recent_marks: 16,
        }
    }
}

/// An inbox of this name in a store.
#[derive(Debug)]
pub struct Inbox<'a, K> {
    /// The store.
    pub store: &'a Store<K>,
    /// The name, which keeps the inboxes of a store apart.
    pub name: &'a str,
    /// How long it remembers.
    pub policy: InboxPolicy,
}

/// What became of an event. Each case is one to acknowledge; an error is not, unless it says that the event was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Its effect was applied, by this call, and is durable.
    Applied,
    /// Its effect was applied before. That counts for whatever else comes under the same source and id.
    Duplicate,
    /// It is of a type that means nothing here. Nothing is noted of it.
    Ignored,
}

/// What the record of a done event holds. It is not JSON, so nobody takes it for an operation's record; and it has its
/// expiry from the beginning, so a walk for unfinished operations passes it by.
const DONE: &[u8] = b"inbox event done";

/// Whether a record of the store is one of a done event. It has no next step, and nothing else to it.
#[must_use]
pub fn is_done_event(node: &Node) -> bool {
    node.payload() == DONE
}

impl<K: Kv> Inbox<'_, K> {
    /// Takes an event that is known to come from its sender.
    ///
    /// After an error of the store it may have been applied: the redelivery tells.
    pub async fn receive(
        &self,
        event: &CloudEvent,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Received, InboxError> {
        let Some(order) = Order::of(event)? else {
            return Ok(Received::Ignored);
        };
        self.check_age(event, now)?;
        let parts = event.parts();
        let identity = Identity::of_event(self.name, &parts.source, &parts.id);
        let mark = Mark::new(identity, now.after(self.policy.retention));
        let mut settled = Vec::new();
        let mut node = self.shard(shard_of(&identity), now, entropy).await?;
        for _ in 0..limits::TURNS_MAX {
            let shard = Shard::decode(node.payload())?;
            if shard.has_mark(&identity) || self.is_done(&identity, now).await? {
                return Ok(Received::Duplicate);
            }
            self.settle(&shard, &mut settled, now, entropy).await?;
            let change = Change {
                payload: shard.after(order, mark, &settled)?.encode(),
                expires_at_ms: NEVER,
            };
            match self
                .store
                .update(&node, change, now.as_unix_ms(), entropy)
                .await?
            {
                Updated::Applied(_) => return Ok(Received::Applied),
                Updated::Conflict(seen) => node = seen,
                Updated::Gone => return Err(InboxError::Corrupt("a shard does not expire")),
            }
        }
        Err(InboxError::Contended)
    }

    /// The read model: the sum of all shards. Each event is in one of them, so it counts once or not yet.
    pub async fn projection(&self) -> Result<Projection, InboxError> {
        let mut projection = Projection::default();
        for number in 0..limits::SHARDS {
            let name = self.shard_name(number);
            if let Some(node) = self.store.find_document(&name).await? {
                projection.add(Shard::decode(node.payload())?.products());
            }
        }
        Ok(projection)
    }

    /// Refuses an event that might have been applied and forgotten, or would be forgotten too early.
    fn check_age(&self, event: &CloudEvent, now: Timestamp) -> Result<(), Rejection> {
        let time = event.parts().time.ok_or(Rejection::NoTime)?;
        if time.since(now) > limits::CLOCK_MARGIN {
            return Err(Rejection::TooNew);
        }
        if now
            .since(time)
            .get()
            .saturating_add(limits::CLOCK_MARGIN.get())
            >= self.policy.retention.get()
        {
            return Err(Rejection::TooOld);
        }
        Ok(())
    }

    async fn shard(
        &self,
        number: u32,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Node, InboxError> {
        let name = self.shard_name(number);
        let empty = Shard::default().encode();
        let node = self
            .store
            .document(&name, &empty, now.as_unix_ms(), entropy);
        Ok(node.await?)
    }

    fn shard_name(&self, number: u32) -> String {
        format!("inbox/{}/{number}", self.name)
    }

    async fn is_done(&self, identity: &Identity, now: Timestamp) -> Result<bool, InboxError> {
        let record = self.store.find(identity, now.as_unix_ms()).await?;
        Ok(record.is_some())
    }

    /// Creates the records of the oldest events in a shard that has too many marks, and notes in `settled` whose are
    /// there. What was settled for one turn stays so for the next.
    async fn settle(
        &self,
        shard: &Shard,
        settled: &mut Vec<Identity>,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<(), InboxError> {
        let marks = shard.marks();
        let excess = (marks.len() + 1).saturating_sub(self.policy.recent_marks.max(1));
        for mark in marks.iter().take(excess) {
            if settled.len() >= limits::SETTLED_PER_EVENT_MAX {
                break;
            }
            let identity = mark.identity();
            if settled.contains(&identity) {
                continue;
            }
            let new = NewRecord {
                id: entropy.next_uuid(now.as_unix_ms()),
                identity,
                expires_at_ms: mark.expires_at().as_unix_ms(),
                payload: DONE.to_vec(),
            };
            // An event so old that everybody refuses it needs no record any more.
            let is_over = mark
                .expires_at()
                .after(limits::CLOCK_MARGIN)
                .is_reached(now);
            if !is_over {
                match self.store.create(&new, now.as_unix_ms(), entropy).await {
                    Ok(_) => {}
                    // One full bucket must not hold up a shard: this mark stays until there is room.
                    Err(StoreError::Crowded) => continue,
                    Err(error) => return Err(error.into()),
                }
            }
            settled.push(identity);
        }
        Ok(())
    }
}

/// The shard of an event. Its bits are not those that choose a record's bucket, or all records of a shard would meet.
fn shard_of(identity: &Identity) -> u32 {
    let [.., last] = identity.as_bytes();
    u32::from(*last) % limits::SHARDS
}
