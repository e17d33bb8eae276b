//! One tick under way: the wheel, then the walk, record by record.

use std::collections::BinaryHeap;

use uuid::Uuid;

use super::together::together;
use super::{Directory, Tick, Ticked};
use crate::driver::Found;
use crate::driver::arming::Timers;
use crate::driver::census::Census;
use crate::driver::entropy::Entropy;
use crate::driver::error::DriverError;
use crate::driver::inbox::is_done_event;
use crate::driver::kv::Kv;
use crate::driver::operation::{Left, Operations};
use crate::driver::ration::{EVENTS_AT_ONCE, RECORD_SWAPS, TICK_SWAPS};
use crate::driver::relay::Sink;
use crate::driver::store::{Buckets, NEVER, Node, Slot, StoreError, Timer};
use crate::driver::walk;
use crate::machine::{DeliveryState, DueReason, OperationEvent, Record, Timestamp, stored};
use crate::sorted::Sorted;

/// A tick under way.
pub(super) struct Run<'a, K, D, S, C> {
    tick: &'a Tick<'a, K, D, S, C>,
    started: Timestamp,
    pub(super) ticked: Ticked,
}

/// What the walk has seen of a record.
enum Seen {
    /// It is due, since this time.
    Due(Timestamp),
    /// Its operation is none of this instance's. It stays as it is, so it takes nothing of what a tick may do.
    Unknown,
    /// It cannot be read.
    Broken,
}

/// What became of a record that a tick came by for.
enum Met {
    /// There was something to do, whatever came of it.
    Due,
    /// There is nothing to do before this time.
    NotDue(Timestamp, DueReason),
    /// It is gone.
    Gone,
}

impl<'a, K, D, S, C> Run<'a, K, D, S, C>
where
    K: Kv,
    D: Directory,
    S: Sink,
    C: Fn() -> Timestamp,
{
    pub(super) fn new(tick: &'a Tick<'a, K, D, S, C>) -> Self {
        Self {
            tick,
            started: (tick.clock)(),
            ticked: Ticked::default(),
        }
    }

    fn now(&self) -> Timestamp {
        (self.tick.clock)()
    }

    fn is_late(&self) -> bool {
        self.now().since(self.started) >= self.tick.limits.work_ms
    }

    /// Whether the walk, which has found what it found at `found_at`, may begin no more records. It has an eighth of the
    /// tick's time to itself: a wheel that is always late must not keep it from what only the walk finds.
    fn is_walk_late(&self, found_at: Timestamp) -> bool {
        let share_ms = self.tick.limits.work_ms.get() / 8;
        self.is_late() && self.now().since(found_at).get() >= share_ms.max(1)
    }

    /// Empties the slots whose time has come. Answers whether none is left.
    pub(super) async fn turn_wheel(&mut self, entropy: &mut Entropy) -> Result<bool, DriverError> {
        let store = self.tick.store;
        let due = store.due_slots(self.started.as_unix_ms()).await?;
        let mut left = None;
        for slot in &due.slots {
            if !self.empty_slot(*slot, entropy).await? || self.is_late() {
                left = Some(*slot);
                break;
            }
        }
        store.pass_slots(&due, left, entropy).await?;
        Ok(left.is_none())
    }

    /// Takes a slot's timers. Answers whether all that are due are taken.
    async fn empty_slot(&mut self, slot: Slot, entropy: &mut Entropy) -> Result<bool, DriverError> {
        loop {
            let timers = match self.tick.store.oldest_timers(slot).await {
                Ok(timers) => timers,
                Err(error) => {
                    self.note(error.into())?;
                    return Ok(true);
                }
            };
            if timers.is_empty() {
                return Ok(true);
            }
            let mut timers = timers.as_slice();
            while let Some(oldest) = timers.first() {
                if self.is_of_next_turn(slot, oldest) {
                    // So are those that were put on top of it.
                    return Ok(true);
                }
                if self.ticked.due >= self.tick.limits.records || self.is_late() {
                    return Ok(false);
                }
                let Some((batch, rest)) = self.batch(slot, timers) else {
                    return Ok(false);
                };
                timers = rest;
                self.take(batch, entropy).await?;
            }
        }
    }

    fn is_of_next_turn(&self, slot: Slot, timer: &Timer) -> bool {
        let now_ms = self.now().as_unix_ms();
        timer.due_ms() > now_ms && slot.is_home_of(timer.due_ms(), now_ms)
    }

    /// Those of a slot's timers that are told side by side next, at least one and each record once, and the rest. `None`
    /// when there are not writes enough left for one.
    fn batch<'t>(&self, slot: Slot, timers: &'t [Timer]) -> Option<(&'t [Timer], &'t [Timer])> {
        let limits = self.tick.limits;
        let most = limits.at_once.min(limits.records - self.ticked.due).max(1);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let is_one_more = |&length: &usize| {
            let is_told = timers[..length]
                .iter()
                .any(|one| one.id() == timers[length].id());
            !is_told && !self.is_of_next_turn(slot, &timers[length])
        };
        let most = most.min(timers.len());
        let most = (0..most).take_while(is_one_more).count().max(1);
        let can_take = |length: &usize| self.can_move(*length);
        let length = (1..=most).rev().find(can_take)?;
        Some(timers.split_at(length))
    }

    /// Whether the writes are there for so many more records, and for the rest of the tick.
    fn can_move(&self, records: usize) -> bool {
        let records = u32::try_from(records).unwrap_or(u32::MAX);
        let swaps = records.saturating_mul(RECORD_SWAPS);
        self.tick.store.reserve(swaps.saturating_add(TICK_SWAPS))
    }

    /// Tells the records of some timers side by side, then takes the timers, the oldest first.
    async fn take(&mut self, batch: &[Timer], entropy: &mut Entropy) -> Result<(), DriverError> {
        let (tick, started) = (self.tick, self.started);
        let tasks = batch.iter().map(|timer| {
            let mut entropy = entropy.fork();
            async move {
                let ticked = Ticked::default();
                let mut run = Run {
                    tick,
                    started,
                    ticked,
                };
                let told = run.tell(timer, &mut entropy).await;
                (run.ticked, told)
            }
        });
        let told = together(tasks).await;
        for (ticked, _) in &told {
            self.ticked.add(ticked);
        }
        for (timer, (_, told)) in batch.iter().zip(told) {
            told?;
            self.tick.store.remove_timer(timer).await?;
        }
        Ok(())
    }

    /// Tells a timer's record that somebody came by.
    async fn tell(&mut self, timer: &Timer, entropy: &mut Entropy) -> Result<(), DriverError> {
        let now_ms = self.now().as_unix_ms();
        if timer.due_ms() > now_ms {
            return self.set_timer(timer.id(), timer.due_ms(), entropy).await;
        }
        self.ticked.due += 1;
        match self.come_by(timer.id(), entropy).await? {
            Met::Due => {}
            Met::NotDue(lease_end, DueReason::LeaseEnd | DueReason::DeliveryLeaseEnd) => {
                // Its holder may be at work, or a tick that died.
                self.set_timer(timer.id(), lease_end.as_unix_ms(), entropy)
                    .await?;
            }
            Met::NotDue(
                _,
                DueReason::Start
                | DueReason::Retry
                | DueReason::AttemptTimeout
                | DueReason::TotalDeadline
                | DueReason::Delivery
                | DueReason::Expiry,
            )
            | Met::Gone => self.ticked.stale += 1,
        }
        Ok(())
    }

    /// Visits the next buckets of the walk: purges them, and moves the records that are due, one of them at least. Where
    /// another tick has visited the same ones and was faster, it goes on behind them. Answers whether nothing was left for
    /// want of writes.
    ///
    /// Those that there is no time for get a timer, so that they need not wait for the next round; but not while the
    /// wheel holds timers that were not taken, since those may be theirs.
    pub(super) async fn walk(
        &mut self,
        is_wheel_done: bool,
        entropy: &mut Entropy,
    ) -> Result<bool, DriverError> {
        const TURNS_MAX: u32 = 3;
        let Tick {
            store,
            limits,
            witness,
            ..
        } = self.tick;
        if limits.buckets == 0 {
            return Ok(true);
        }
        for _ in 0..TURNS_MAX {
            let stand = walk::stand(store, self.now(), entropy).await?;
            let buckets = stand.ahead(limits.buckets);
            let now = self.now();
            if stand.is_stuck(now) {
                if stand
                    .pass(store, (buckets, None), *witness, now, entropy)
                    .await?
                {
                    let (found, _) = self.visit(buckets).await?;
                    return self.move_found(found, is_wheel_done, entropy).await;
                }
                continue;
            }
            let (mut found, census) = self.visit(buckets).await?;
            if !self.can_move(found.len()) {
                let found = std::mem::take(&mut found);
                if !self.move_found(found, is_wheel_done, entropy).await? {
                    // The walk stays, so that the next tick finds the rest.
                    return Ok(false);
                }
            }
            let (seen, now) = ((buckets, Some(&census)), self.now());
            if stand.pass(store, seen, *witness, now, entropy).await? {
                return self.move_found(found, is_wheel_done, entropy).await;
            }
        }
        // Others move the walk on all the time, and what is due with it.
        Ok(true)
    }

    /// Purges some buckets. Answers with those of their records that want somebody to come by, and with all of them counted.
    async fn visit(
        &mut self,
        buckets: Buckets,
    ) -> Result<(Sorted<Uuid, Seen>, Census), DriverError> {
        let now = self.now();
        let mut found = Sorted::new();
        let mut census = Census::default();
        // A bucket may be read more than once, and then tells the same records again.
        let mut known = Sorted::new();
        let mut visit = |node: &Node| {
            if node.is_live(now.as_unix_ms())
                && !is_done_event(node)
                && known.insert(node.id(), ()).is_none()
            {
                let record = stored::decode(node.payload());
                if let Ok(record) = &record {
                    census.see(record, now);
                }
                let is_unfinished = node.expires_at_ms() == NEVER;
                if let Some(seen) = is_unfinished.then(|| self.seen(record.ok(), now)).flatten() {
                    found.insert(node.id(), seen);
                }
            }
        };
        let purged = self
            .tick
            .store
            .purge_and_visit(
                buckets,
                self.tick.limits.purge,
                now.as_unix_ms(),
                &mut visit,
            )
            .await?;
        self.ticked.buckets += purged.buckets;
        self.ticked.purged += purged.deleted;
        self.ticked.failed += purged.failed;
        Ok((found, census))
    }

    /// What there is to say of an unfinished record, if it can be read; `None` where nothing is due.
    fn seen(&self, record: Option<Record>, now: Timestamp) -> Option<Seen> {
        let Some(record) = record else {
            return Some(Seen::Broken);
        };
        let due = record.due().at;
        if !due.is_reached(now) {
            return None;
        }
        let parts = self.tick.directory.find(&record.identity().operation);
        Some(parts.map_or(Seen::Unknown, |_| Seen::Due(due)))
    }

    /// Moves what the walk has found, as far as its share goes. Answers whether nothing is left for want of writes.
    async fn move_found(
        &mut self,
        found: Sorted<Uuid, Seen>,
        is_wheel_done: bool,
        entropy: &mut Entropy,
    ) -> Result<bool, DriverError> {
        let found_at = self.now();
        let mut due = BinaryHeap::new();
        for (id, seen) in found {
            match seen {
                Seen::Due(at) => due.push((at, id)),
                Seen::Unknown => self.ticked.unknown += 1,
                Seen::Broken => self.ticked.failed += 1,
            }
        }
        // Whatever has waited longest goes first.
        let mut share = (self.tick.limits.records / 8).max(1);
        let mut is_done = true;
        for (at, id) in due.into_sorted_vec() {
            let has_time = share > 0 && !self.is_walk_late(found_at);
            if has_time && self.can_move(1) {
                share -= 1;
                let is_found = matches!(self.come_by(id, entropy).await?, Met::Due);
                self.ticked.found += u32::from(is_found);
            } else if is_wheel_done && self.can_move(0) {
                self.set_timer(id, at.as_unix_ms(), entropy).await?;
            } else if has_time || is_wheel_done {
                is_done = false;
            }
        }
        Ok(is_done)
    }

    /// Does what is due of one record.
    async fn come_by(&mut self, id: Uuid, entropy: &mut Entropy) -> Result<Met, DriverError> {
        let now = self.now();
        let node = match self.tick.store.load(id, now.as_unix_ms()).await {
            Ok(Some(node)) => node,
            Ok(None) => return Ok(Met::Gone),
            Err(error) => return self.note(error.into()),
        };
        let record = match stored::decode(node.payload()) {
            Ok(record) => record,
            Err(error) => return self.note(DriverError::Record(error)),
        };
        let due = record.due();
        if !due.at.is_reached(now) {
            return Ok(Met::NotDue(due.at, due.reason));
        }
        let Some(parts) = self.tick.directory.find(&record.identity().operation) else {
            self.ticked.unknown += 1;
            return Ok(Met::Due);
        };
        self.ticked.lag_ms = self.ticked.lag_ms.max(now.since(due.at).get());
        let operations = Operations {
            store: self.tick.store,
            upstream: parts.upstream,
            policy: parts.policy,
            budget_name: parts.budget_name,
            timers: Timers::All,
            witness: self.tick.witness,
        };
        match self.advance(&operations, node, &record, entropy).await {
            Ok(()) => Ok(Met::Due),
            Err(error) => self.note(error),
        }
    }

    /// Moves a record on, delivers its events that are due, and sets the one timer that it then needs.
    async fn advance(
        &mut self,
        operations: &Operations<'_, K, D::Upstream>,
        mut node: Node,
        before: &Record,
        entropy: &mut Entropy,
    ) -> Result<(), DriverError> {
        let mut left = None;
        let mut outbox_due = before.outbox().due();
        let now = self.now();
        if !before.state().is_terminal() && before.state().due().at.is_reached(now) {
            let woken = OperationEvent::Woken;
            let Some(moved) = operations
                .move_on(Found::read(node, before.clone()), woken, now, entropy)
                .await?
            else {
                return Ok(());
            };
            node = moved.node.clone();
            outbox_due = moved.step.record.outbox().due();
            left = Some(moved);
        }
        let now = self.now();
        if outbox_due.is_some_and(|due| due.at.is_reached(now)) {
            let was_changed = left.as_ref().is_some_and(|left: &Left| left.is_changed);
            left = operations
                .deliver_due(node, self.tick.sink, EVENTS_AT_ONCE, now, entropy)
                .await?;
            if let Some(left) = &mut left {
                left.is_changed |= was_changed;
            }
        }
        if let Some(left) = left {
            let delivered = deliveries(&left.step.record).saturating_sub(deliveries(before));
            self.ticked.delivered += u32::try_from(delivered).unwrap_or(u32::MAX);
            self.ticked.advanced += u32::from(left.is_changed);
            operations.arm(Timers::All, &left, entropy).await;
        }
        Ok(())
    }

    /// Sets a timer. That others crowd the slot is no reason to stop: the walk finds the record.
    async fn set_timer(
        &mut self,
        id: Uuid,
        due_ms: u64,
        entropy: &mut Entropy,
    ) -> Result<(), DriverError> {
        let now_ms = self.now().as_unix_ms();
        match self.tick.store.add_timer(id, due_ms, now_ms, entropy).await {
            Ok(()) => Ok(()),
            Err(error) => self.note(error.into()).map(drop),
        }
    }

    /// Counts an error that is one record's, one slot's or one bucket's. One of the whole store ends the tick.
    fn note(&mut self, error: DriverError) -> Result<Met, DriverError> {
        match error {
            DriverError::Store(StoreError::Unavailable(_) | StoreError::Layout(_)) => Err(error),
            DriverError::Store(
                StoreError::Contended
                | StoreError::Crowded
                | StoreError::Corrupt { .. }
                | StoreError::TooLarge { .. },
            )
            | DriverError::Record(_)
            | DriverError::Contended => {
                self.ticked.failed += 1;
                Ok(Met::Due)
            }
        }
    }
}

/// The events of a record that a receiver has taken.
fn deliveries(record: &Record) -> usize {
    let deliveries = record.outbox().deliveries().iter();
    deliveries
        .filter(|delivery| matches!(delivery.state, DeliveryState::Delivered { .. }))
        .count()
}
