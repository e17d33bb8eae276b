//! The ration: how many conditional writes an instance may still make, and who of those inside may make them.
//!
//! Spin remembers each handle of a conditional write until the guest drops it, and one that was swapped until the
//! instance ends. It remembers 256 of them; whoever wants one more is told "too many `compare_and_swaps` opened", in
//! the middle of whatever that was. So nobody begins who could not finish:
//!
//! - Each request gets a [`Share`] when it comes in: some writes are *set aside* for it, whatever the others take. What
//!   it has not taken when it leaves goes back.
//! - There is *room* for another one as long as as much could be set aside for it. The shell lets nobody in while there
//!   is none; an instance that is worn out and empty has served its time.
//! - A share that was empty from the beginning refuses the first write, when nothing has been done yet, and never a
//!   later one. The platform may be slow to see that there is no room; for those that it lets in until then there is a
//!   spare.
//! - Whoever does much, such as a tick, has more set aside before each step ([`Ration::reserve`]), and stops at a no.
//!
//! Nothing here waits, or knows what the platform does about a full instance.

use std::cell::Cell;

use super::kv::KvError;
use crate::machine::limits;

/// The handles of conditional writes that Spin remembers for one instance.
pub const HANDLES_MAX: u32 = 256;

/// What a request needs as a rule: four writes to claim an operation and to end its attempt (a seal, a bucket's word,
/// the record, the retry budget), two for the marks of an event, one for a timer, and one for a receiver that wants no
/// more events.
pub const REQUEST_SWAPS: u32 = 8;

/// What moving a record on takes in a tick: an attempt's start and end and the retry budget, the two marks of as many
/// events as are delivered in one go, and a timer for what is left. Sixteen records, which is what a tick moves side by
/// side, take 192.
pub const RECORD_SWAPS: u32 = 3 + 2 * EVENTS_AT_ONCE + 1;

/// Events of one record that are delivered in one go; those behind them get a timer. As many as one change of an
/// operation may bring about.
pub const EVENTS_AT_ONCE: u32 = 4;
const _: () = assert!(EVENTS_AT_ONCE as usize == limits::EVENTS_PER_TRANSITION_MAX);

/// What a tick keeps beside its records: for how far the wheel was gone through, the walk's cursor there and back, and
/// timers.
pub const TICK_SWAPS: u32 = 8;

/// Writes that are never set aside: handles that are open for a moment, two of a probe among them, and swaps that met
/// somebody else's.
const MARGIN: u32 = 8;

/// Writes that are set aside for nobody but those that the platform has let in before it saw that there is no room.
/// They are one or two at a time.
const SPARE: u32 = 3 * REQUEST_SWAPS;

/// What an instance has left.
#[derive(Debug)]
pub struct Ration {
    /// Swaps that were made.
    taken: Cell<u32>,
    /// Those that were promised and not made yet.
    set_aside: Cell<u32>,
    /// Shares that were handed out and not given back.
    shares: Cell<u32>,
}

/// What one request has of a [`Ration`].
#[derive(Debug)]
pub struct Share {
    set_aside: Cell<u32>,
    may_write: Cell<bool>,
}

impl Ration {
    /// That of a new instance.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "a static needs a constant, and nothing else is made of it"
    )]
    pub const fn new() -> Self {
        Self {
            taken: Cell::new(0),
            set_aside: Cell::new(0),
            shares: Cell::new(0),
        }
    }

    /// Takes a request in. Its share is to be given back.
    #[must_use]
    pub fn enter(&self) -> Share {
        self.shares.set(self.shares.get() + 1);
        let share = Share {
            set_aside: Cell::new(0),
            may_write: Cell::new(false),
        };
        self.set_aside(&share, REQUEST_SWAPS, MARGIN);
        share
    }

    /// Takes a share back, once.
    pub fn leave(&self, share: &Share) {
        self.set_aside
            .set(self.set_aside.get() - share.set_aside.take());
        self.shares.set(self.shares.get() - 1);
    }

    /// Whether another request may come in.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.left(MARGIN + SPARE) >= REQUEST_SWAPS
    }

    /// Whether nobody is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shares.get() == 0
    }

    /// Whether a request may write. It is asked before each value is written; what was a yes once stays one.
    pub fn check(&self, share: &Share) -> Result<(), KvError> {
        if share.may_write.get() || self.set_aside(share, REQUEST_SWAPS, MARGIN) {
            return Ok(());
        }
        let why = "this instance may write no more; the next one takes over";
        Err(KvError(why.to_owned()))
    }

    /// Sees to it that at least this many swaps are set aside for what comes next. Answers whether they are.
    #[must_use]
    pub fn reserve(&self, share: &Share, swaps: u32) -> bool {
        self.set_aside(share, swaps, MARGIN + SPARE)
    }

    /// Notes that a swap is made, whatever comes of it. One that was not set aside is made all the same: others were
    /// faster, and more was written than is the rule.
    pub fn take(&self, share: &Share) {
        self.taken.set(self.taken.get().saturating_add(1));
        if let Some(rest) = share.set_aside.get().checked_sub(1) {
            share.set_aside.set(rest);
            self.set_aside.set(self.set_aside.get() - 1);
        }
    }

    fn set_aside(&self, share: &Share, swaps: u32, kept: u32) -> bool {
        let more = swaps.saturating_sub(share.set_aside.get());
        let is_there = more <= self.left(kept);
        if is_there {
            self.set_aside.set(self.set_aside.get() + more);
            share.set_aside.set(share.set_aside.get() + more);
            share.may_write.set(true);
        }
        is_there
    }

    /// What is left when so much is kept.
    fn left(&self, kept: u32) -> u32 {
        let promised = self.taken.get().saturating_add(self.set_aside.get());
        HANDLES_MAX.saturating_sub(promised.saturating_add(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_for_one_is_nobody_else_s() {
        let ration = Ration::new();
        let mut inside = Vec::new();
        while ration.has_room() {
            inside.push(ration.enter());
        }
        // 256, the margin and the spare apart, by eight.
        assert_eq!(inside.len(), 28);
        for share in &inside {
            ration.check(share).expect("each of them may write");
            for _ in 0..REQUEST_SWAPS {
                ration.take(share);
            }
        }
        assert_eq!(ration.taken.get(), 224);
        for share in &inside {
            ration.leave(share);
        }
        assert!(ration.is_empty() && !ration.has_room());
    }

    #[test]
    fn what_was_not_taken_goes_back() {
        let ration = Ration::new();
        for served in 0.. {
            if !ration.has_room() {
                // Three swaps each: eight must be there for one more.
                assert_eq!((served, ration.taken.get()), (73, 219));
                break;
            }
            let share = ration.enter();
            assert!(!ration.is_empty());
            for _ in 0..3 {
                ration.take(&share);
            }
            ration.leave(&share);
        }
        assert!(ration.is_empty());
    }

    #[test]
    fn whoever_comes_too_late_has_the_spare_or_writes_nothing() {
        let ration = Ration::new();
        ration.taken.set(224);
        assert!(!ration.has_room());
        let late: Vec<_> = (0..4).map(|_| ration.enter()).collect();
        let may_write = late.iter().map(|share| ration.check(share).is_ok());
        assert_eq!(may_write.collect::<Vec<_>>(), [true, true, true, false]);
        for share in &late {
            let is_there = ration.reserve(share, REQUEST_SWAPS + 1);
            assert!(!is_there, "the spare is not for more");
        }
        ration.leave(&late[0]);
        let last = &late[3];
        ration.check(last).expect("there is room for it now");
        ration.taken.set(HANDLES_MAX);
        ration.check(last).expect("what has begun goes on");
    }

    #[test]
    fn more_is_set_aside_for_who_does_more_as_long_as_it_is_there() {
        let ration = Ration::new();
        let (tick, other) = (ration.enter(), ration.enter());
        assert!(ration.reserve(&tick, 216) && !ration.has_room());
        let is_other_s = !ration.reserve(&tick, 217);
        assert!(is_other_s, "what the other one has is not there for it");
        for _ in 0..REQUEST_SWAPS {
            ration.take(&other);
        }
        assert!(!ration.reserve(&tick, 217) && ration.reserve(&tick, 200));
        ration.leave(&tick);
        assert!(ration.has_room());
    }

    #[test]
    fn what_was_not_set_aside_is_counted_too() {
        let ration = Ration::new();
        let share = ration.enter();
        for _ in 0..=HANDLES_MAX {
            ration.take(&share);
        }
        assert_eq!((ration.taken.get(), ration.set_aside.get()), (257, 0));
        assert_eq!(ration.left(0), 0);
    }
}
