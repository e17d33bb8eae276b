//! The tick: it does what is due when nobody asks again.
//!
//! ```text
//!   slots whose time has come ──▶ timers, oldest first ──▶ record: move it on, deliver its events ──▶ take the timer
//!   some buckets of the walk ───▶ purge, and records that are due ──▶ the same
//! ```
//!
//! A timer is taken after its record was told; some records are told side by side. A tick that dies before leaves the
//! timer to the next one; one that dies in the middle of an attempt leaves a lease, and the next one sets a timer for its
//! end. Ticks that overlap meet at the same timers and share the records: each record is told by several and moved by
//! one, because every move is fenced by the record's revision.
//!
//! What timers miss, the walk finds: a record that is due is met once its bucket is visited, so within as many ticks as
//! a round of the buckets takes. Nothing here needs a timer for being right, only for being in time.
//!
//! A record that cannot be moved is counted and left; a store that is out ends the tick. So does an instance that could
//! not make the conditional writes of one more record (see [`super::ration`]): the next tick is another one's, and comes
//! at once.

mod run;
mod together;

use super::act::Upstream;
use super::entropy::Entropy;
use super::error::DriverError;
use super::kv::Kv;
use super::ration::TICK_SWAPS;
use super::relay::Sink;
use super::store::{PurgeLimits, Slot, Store};
use super::witness::Witness;
use crate::machine::{Millis, Name, Policy, Timestamp};
use run::Run;

/// The operations that a tick may meet.
pub trait Directory {
    /// Who does their work; where there are several kinds, one type for all of them.
    type Upstream: Upstream;

    /// The parts of the operation with this name; `None` when there is none, whose records are then left alone.
    fn find(&self, operation: &Name) -> Option<Parts<'_, Self::Upstream>>;
}

/// What belongs to one kind of operation; see [`super::Operations`].
#[derive(Debug)]
pub struct Parts<'a, U> {
    /// Who does the work.
    pub upstream: &'a U,
    /// The owner's settings.
    pub policy: &'a Policy,
    /// What the retry budget is shared by.
    pub budget_name: &'a str,
}

/// How much one tick may do.
#[derive(Debug, Clone, Copy)]
pub struct TickLimits {
    /// Timers to take. The walk moves an eighth of as many records, so that timers in plenty never hold it up.
    pub records: u32,
    /// Records that timers are told for side by side: those that wait for a slow upstream or receiver hold up few
    /// others.
    pub at_once: u32,
    /// No slot and no record is begun once this time is over. What was begun is finished, which takes one attempt and
    /// one delivery for each of the record's events at most.
    pub work_ms: Millis,
    /// Buckets of the walk to visit. None at all saves the tick its one regular write.
    pub buckets: u32,
    /// What to delete in them.
    pub purge: PurgeLimits,
}

impl Default for TickLimits {
    /// For a tick every second. A round of the default 16,384 buckets takes 256 ticks, four minutes and a half; an
    /// attempt that was lost in a client's request is found within that time after its lease.
    fn default() -> Self {
        Self {
            records: 256,
            // As many requests as an instance serves at a time.
            at_once: 16,
            work_ms: Millis::from_secs(5),
            buckets: 64,
            purge: PurgeLimits {
                nodes: 64,
                grace_ms: 15 * 60 * 1_000,
            },
        }
    }
}

/// One tick.
#[derive(Debug)]
pub struct Tick<'a, K, D, S, C> {
    /// The records and their timers.
    pub store: &'a Store<K>,
    /// Their operations.
    pub directory: &'a D,
    /// The receivers of their events.
    pub sink: &'a S,
    /// The clock, which may be set while the tick runs.
    pub clock: C,
    /// How much to do.
    pub limits: TickLimits,
    /// Who hears of what has happened, and whose counts the tick brings to the store.
    pub witness: &'a dyn Witness,
}

/// What a tick did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticked {
    /// Timers that were taken.
    pub due: u32,
    /// Those of them whose record had nothing due: it was moved already, or is gone.
    pub stale: u32,
    /// Records that were due and that the walk found.
    pub found: u32,
    /// Records that this tick changed.
    pub advanced: u32,
    /// Events that a receiver took.
    pub delivered: u32,
    /// Buckets that were visited.
    pub buckets: u32,
    /// Records that were deleted.
    pub purged: usize,
    /// Records, slots and buckets that could not be read or moved.
    pub failed: u32,
    /// Records of operations that this instance does not know.
    pub unknown: u32,
    /// How long the record that was due for longest had waited, in milliseconds.
    pub lag_ms: u64,
    /// When to come again, in milliseconds: at once while there is work left, or more to purge, or this instance can do no
    /// more; else when the next slot's time has come.
    pub come_back_ms: u64,
}

impl Ticked {
    /// Adds what was done for one record.
    fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.stale += other.stale;
        self.found += other.found;
        self.advanced += other.advanced;
        self.delivered += other.delivered;
        self.buckets += other.buckets;
        self.purged += other.purged;
        self.failed += other.failed;
        self.unknown += other.unknown;
        self.lag_ms = self.lag_ms.max(other.lag_ms);
        self.come_back_ms = self.come_back_ms.max(other.come_back_ms);
    }
}

impl<K, D, S, C> Tick<'_, K, D, S, C>
where
    K: Kv,
    D: Directory,
    S: Sink,
    C: Fn() -> Timestamp,
{
    /// Does what is due, within the limits. After an error the next tick goes on from what is in the store.
    pub async fn run(&self, entropy: &mut Entropy) -> Result<Ticked, DriverError> {
        let mut run = Run::new(self);
        let is_wheel_done = run.turn_wheel(entropy).await?;
        let is_walk_done = run.walk(is_wheel_done, entropy).await?;
        let phase_ms = (self.clock)().as_unix_ms() % Slot::SHORTEST_MS;
        let mut ticked = run.ticked;
        // A store that takes more records than one tick purges would else fill up.
        let purge = self.limits.purge;
        let is_purge_done = ticked.purged < purge.nodes || purge.nodes == 0;
        let is_cut_short = !is_walk_done || !self.store.reserve(TICK_SWAPS);
        ticked.come_back_ms = if is_wheel_done && is_purge_done && !is_cut_short {
            Slot::SHORTEST_MS - phase_ms
        } else {
            0
        };
        Ok(ticked)
    }
}
