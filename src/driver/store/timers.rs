//! Timers: small nodes on stacks that name a record and when it is due.
//!
//! ```text
//!   w/t/0a3f ──► t/5e… ──► t/90… ──► t/17…         a slot: a word, and a chain of timers, newest first
//!                  │                  ▲
//!                  └───── milestone ──┘
//! ```
//!
//! A timer is pushed as a record is: set the node, swap the word. It is never changed, and it is taken by deleting it
//! once its record was told, the oldest of a slot first. So a chain always ends where a node is missing, nothing that
//! is left is ever cut off, and a word changes by pushes alone: its values never come back. Two that take from one slot
//! at a time tell the same records, which is harmless, and whoever dies in between leaves the rest to the next one.
//!
//! To find the oldest of a long chain without reading it all, each timer also names the nearest *milestone* below it,
//! which every 64th timer is.
//!
//! A timer only says that somebody should come by. It may be lost in a crash, be there twice or be out of date: the
//! record alone says what is due. A timer is never moved, so it costs two writes, and one when it is taken.

use super::identity::Link;
use super::node::Circle;
use super::wheel::{Reached, Slot};
use super::word::WordSwap;
use super::{Pointer, Store, StoreError, limits};
use crate::driver::entropy::Entropy;
use crate::driver::kv::Kv;
use uuid::Uuid;

/// The shared number that says how far the wheel was gone through.
const REACHED_NAME: &str = "wheel";
const MAGIC: &[u8; 4] = b"RPT1";
const BYTES: usize = 48;
/// Timers from one milestone to the next: what one look at a slot reads at most, apart from milestones.
const MILESTONE: u8 = 64;

/// A timer that was found in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    pub(super) pointer: Pointer,
    /// How far above the last milestone it is; a milestone itself is at 0.
    pub(super) height: u8,
    /// The next older timer, which may be gone already.
    pub(super) next: Link,
    pub(super) milestone: Link,
    pub(super) id: Uuid,
    pub(super) due_ms: u64,
}

impl Timer {
    /// The record that it names.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// When that was to be due, in milliseconds since the Unix epoch.
    #[must_use]
    pub const fn due_ms(&self) -> u64 {
        self.due_ms
    }

    fn key(pointer: Pointer) -> String {
        format!("t/{:016x}", pointer.raw())
    }

    /// The timer on top of another one, or of none.
    pub(super) fn on(self, below: Option<&Self>, next: Link) -> Self {
        let (height, milestone) = match below {
            None => (0, Link::End),
            Some(below) if below.height == 0 => (1, Link::To(below.pointer)),
            Some(below) => ((below.height + 1) % MILESTONE, below.milestone),
        };
        Self {
            height,
            next,
            milestone,
            ..self
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[self.height, 0, 0, 0]);
        bytes.extend_from_slice(&self.next.raw().to_le_bytes());
        bytes.extend_from_slice(&self.milestone.raw().to_le_bytes());
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(&self.due_ms.to_le_bytes());
        bytes
    }

    /// Reads a timer's bytes; `None` when [`Timer::encode`] cannot have written them.
    pub(super) fn decode(pointer: Pointer, bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (&[height, 0, 0, 0], rest) = rest.split_first_chunk::<4>()? else {
            return None;
        };
        let (next, rest) = rest.split_first_chunk()?;
        let (milestone, rest) = rest.split_first_chunk()?;
        let (id, rest) = rest.split_first_chunk()?;
        let due_ms = u64::from_le_bytes(rest.try_into().ok()?);
        (magic == MAGIC && height < MILESTONE).then_some(Self {
            pointer,
            height,
            next: Link::from_raw(u64::from_le_bytes(*next))?,
            milestone: Link::from_raw(u64::from_le_bytes(*milestone))?,
            id: Uuid::from_bytes(*id),
            due_ms,
        })
    }
}

/// The slots whose time has come, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSlots {
    /// The slots.
    pub slots: Vec<Slot>,
    reached_s: u64,
    now_s: u64,
}

impl<K: Kv> Store<K> {
    /// Puts a timer for a record into the wheel. Two writes; one more for the first timer of a slot, and one or two for
    /// each time that another one was put into the same slot in between.
    ///
    /// After an error the timer may be there or not.
    pub async fn add_timer(
        &self,
        id: Uuid,
        due_ms: u64,
        now_ms: u64,
        entropy: &mut Entropy,
    ) -> Result<(), StoreError> {
        let reached_s = self.reached_s().await?;
        let key = Slot::of(due_ms, now_ms, reached_s).key();
        let pointer = draw_pointer(entropy);
        let mut timer = Timer {
            pointer,
            height: 0,
            next: Link::End,
            milestone: Link::End,
            id,
            due_ms,
        };
        let to = Link::To(pointer).raw().cast_signed();
        for _ in 0..limits::MAX_TURNS {
            let word = self.read_word(&key).await?;
            let head = word.link(&key)?;
            let below = match head.next() {
                Some(pointer) => self.read_timer(pointer).await?,
                None => None,
            };
            timer = timer.on(below.as_ref(), head);
            self.kv.set(&Timer::key(pointer), &timer.encode()).await?;
            if self.swap_word(&key, word, to).await? == WordSwap::Won
                || self.was_pushed(&key, &timer).await?
            {
                return Ok(());
            }
        }
        // It is in no chain, and none of its swaps can still put it into one.
        self.kv.delete(&Timer::key(pointer)).await?;
        Err(StoreError::Contended)
    }

    /// Whether a timer whose swap met another value was in the chain all the same.
    ///
    /// One timer alone was pushed onto what ours names as `next`. The search ends there, or where timers are gone: had
    /// ours been below, it would be gone too.
    async fn was_pushed(&self, key: &str, timer: &Timer) -> Result<bool, StoreError> {
        let mut link = self.read_word(key).await?.link(key)?;
        for _ in 0..limits::MAX_CHAIN {
            let Some(pointer) = link.next() else { break };
            if pointer == timer.pointer {
                return Ok(true);
            }
            match self.read_timer(pointer).await? {
                Some(one) if one.next == timer.next => return Ok(false),
                Some(one) => link = one.next,
                None => break,
            }
        }
        Ok(self.read_timer(timer.pointer).await?.is_none())
    }

    /// The slots whose time has come since the wheel was last gone through. One read.
    ///
    /// The last half minute is gone through each time: that is how long a timer may take from the choice of its slot
    /// until it is there.
    pub async fn due_slots(&self, now_ms: u64) -> Result<DueSlots, StoreError> {
        let reached_s = self.reached_s().await?;
        Ok(DueSlots {
            slots: Slot::due(now_ms, reached_s),
            reached_s,
            now_s: now_ms / 1_000,
        })
    }

    /// The oldest timers of a slot, the oldest first; some of them when they are many, none when there is none left.
    ///
    /// One read for an empty slot, else one a timer and one for each milestone above them.
    pub async fn oldest_timers(&self, slot: Slot) -> Result<Vec<Timer>, StoreError> {
        let key = slot.key();
        let mut found = Vec::new();
        let head = self.read_word(&key).await?.link(&key)?;
        let Some(mut top) = self.follow(head).await? else {
            return Ok(found);
        };
        let mut circle = Circle::default();
        while let Some(below) = self.follow(top.milestone).await?
            && !circle.closes_at(below.pointer)
        {
            top = below;
        }
        let mut at = Some(top);
        while let Some(timer) = at
            && found.len() < usize::from(MILESTONE)
        {
            found.push(timer);
            at = self.follow(timer.next).await?;
        }
        found.reverse();
        Ok(found)
    }

    /// Takes a timer out of its slot, after its record was told and the timers that are older were taken. One write.
    pub async fn remove_timer(&self, timer: &Timer) -> Result<(), StoreError> {
        Ok(self.kv.delete(&Timer::key(timer.pointer)).await?)
    }

    /// Says that the slots before `left`, or all when it is `None`, were found empty. One write every half minute, and
    /// whenever a part of the slots was gone through.
    ///
    /// It follows the clock of whoever came last, forth and back: behind one that was ahead, timers would be missed.
    pub async fn pass_slots(
        &self,
        due: &DueSlots,
        left: Option<Slot>,
        entropy: &mut Entropy,
    ) -> Result<(), StoreError> {
        let trail_s = due.now_s.saturating_sub(limits::WHEEL_TRAIL_S);
        let second = left.map_or(trail_s, |slot| slot.eve_s().min(trail_s));
        let is_ahead = due.reached_s > due.now_s;
        let least_s = left.map_or(limits::WHEEL_TRAIL_S, |_| 1);
        let is_behind = second >= due.reached_s.saturating_add(least_s);
        if !is_ahead && !is_behind {
            return Ok(());
        }
        self.change_shared(REACHED_NAME, &mut |word| {
            let reached_s = Reached::decode(word).second;
            let is_passed = (second..=due.now_s).contains(&reached_s);
            let nonce = entropy.next_u64();
            (!is_passed).then(|| Reached { second, nonce }.encode())
        })
        .await
    }

    /// How far the wheel was gone through. Whoever sets timers and whoever takes them reads this first, and goes no
    /// further on a store that is too slow: what has no timer is found by the walk.
    async fn reached_s(&self) -> Result<u64, StoreError> {
        let reached = Reached::decode(self.read_shared(REACHED_NAME).await?);
        self.check_pace()?;
        Ok(reached.second)
    }

    async fn follow(&self, link: Link) -> Result<Option<Timer>, StoreError> {
        match link.next() {
            Some(pointer) => self.read_timer(pointer).await,
            None => Ok(None),
        }
    }

    /// Reads a timer. Bytes that are none count as missing: what is older rings where a milestone leads there, and is left
    /// to the walk elsewhere.
    async fn read_timer(&self, pointer: Pointer) -> Result<Option<Timer>, StoreError> {
        let bytes = self.kv.get(&Timer::key(pointer)).await?;
        Ok(bytes.and_then(|bytes| Timer::decode(pointer, &bytes)))
    }
}

/// A pointer that was never used before. Timers and records have keys of their own, so it may be a record's.
fn draw_pointer(entropy: &mut Entropy) -> Pointer {
    loop {
        if let Some(pointer) = Pointer::from_raw(entropy.next_u64() >> 2) {
            return pointer;
        }
    }
}
