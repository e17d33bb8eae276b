//! The ration: how many conditional writes an instance may still make, and who of those inside may make them.
//!
//! Spin remembers each handle of a conditional write until the guest drops it, and one that was swapped until the instance
//! ends. It remembers 256 of them; whoever wants one more is told "too many compare_and_swaps opened", in the middle of
//! whatever that was. So nobody begins who could not finish:
//!
//! - Each request gets a [`Share`] when it comes in: some writes are *set aside* for it, whatever the others take. What it
//!   has not taken when it leaves goes back.
//! - There is *room* for another one as long as as much could be set aside for it. The shell lets nobody in while there is
//!   none; an instance that is worn out and empty has served its time.
//! - A share that was empty from the beginning refuses the first write, when nothing has been done yet, and never a later
//!   one. The platform may be slow to see that there is no room; for those that it lets in until then there is a spare.
//! - Whoever does much, such as a tick, has more set aside before each step ([`Share::reserve`]), and stops at a no.
//!
//! Nothing here waits, or knows what the platform does about a full instance.

use std::cell::Cell;
use std::rc::Rc;

use super::kv::KvError;
use crate::machine::limits;

/// The handles of conditional writes that Spin remembers for one instance.
pub const HANDLES_MAX: u32 = 256;

/// What a request needs as a rule: four writes to claim an operation and to end its attempt (a seal, a bucket's word, the
/// record, the retry budget), two for the marks of an event, one for a timer, and one for a receiver that wants no more
/// events.
pub const REQUEST_SWAPS: u32 = 8;

/// What moving a record on takes in a tick: an attempt's start and end and the retry budget, the two marks of as many
/// events as are delivered in one go, and a timer for what is left. Sixteen records, which is what a tick moves side by side, take 192.
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

/// Writes that are set aside for nobody but those that the platform has let in before it saw that there is no room. They
/// are one or two at a time.
const SPARE: u32 = 3 * REQUEST_SWAPS;

/// What an instance has left.
#[derive(Debug, Default)]
pub struct Ration {
    /// Swaps that were made.
    taken: Cell<u32>,
    /// Those that were promised and not made yet.
    set_aside: Cell<u32>,
    /// Shares that were handed out and not given back.
    shares: Cell<u32>,
}

impl Ration {
    /// Takes a request in.
    #[must_use]
    pub fn share(self: &Rc<Self>) -> Share {
        self.shares.set(self.shares.get() + 1);
        let share = Share {
            ration: Rc::clone(self),
            set_aside: Cell::new(0),
            may_write: Cell::new(false),
        };
        share.set_aside(REQUEST_SWAPS, MARGIN);
        share
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

    /// What is left when so much is kept.
    fn left(&self, kept: u32) -> u32 {
        let promised = self.taken.get().saturating_add(self.set_aside.get());
        HANDLES_MAX.saturating_sub(promised.saturating_add(kept))
    }
}

/// What one request has of a [`Ration`].
#[derive(Debug)]
pub struct Share {
    ration: Rc<Ration>,
    set_aside: Cell<u32>,
    may_write: Cell<bool>,
}

impl Share {
    /// Whether the request may write. It is asked before each write; what was a yes once stays one.
    pub fn check(&self) -> Result<(), KvError> {
        if self.may_write.get() || self.set_aside(REQUEST_SWAPS, MARGIN) {
            return Ok(());
        }
        let why =
            "this instance has made as many conditional writes as it may; the next one takes over";
        Err(KvError(why.to_owned()))
    }

    /// Sees to it that at least this many swaps are set aside for what comes next. Answers whether they are.
    #[must_use]
    pub fn reserve(&self, swaps: u32) -> bool {
        self.set_aside(swaps, MARGIN + SPARE)
    }

    /// Notes that a swap is made, whatever comes of it. One that was not set aside is made all the same: others were
    /// faster, and more was written than is the rule.
    pub fn take(&self) {
        let ration = &self.ration;
        ration.taken.set(ration.taken.get().saturating_add(1));
        if let Some(rest) = self.set_aside.get().checked_sub(1) {
            self.set_aside.set(rest);
            ration.set_aside.set(ration.set_aside.get() - 1);
        }
    }

    fn set_aside(&self, swaps: u32, kept: u32) -> bool {
        let more = swaps.saturating_sub(self.set_aside.get());
        let is_there = more <= self.ration.left(kept);
        if is_there {
            let all = self.ration.set_aside.get() + more;
            self.ration.set_aside.set(all);
            self.set_aside.set(self.set_aside.get() + more);
            self.may_write.set(true);
        }
        is_there
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let ration = &self.ration;
        ration
            .set_aside
            .set(ration.set_aside.get() - self.set_aside.get());
        ration.shares.set(ration.shares.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_for_one_is_nobody_else_s() {
        let ration = Rc::new(Ration::default());
        let mut inside = Vec::new();
        while ration.has_room() {
            inside.push(ration.share());
        }
        // 256, the margin and the spare apart, by eight.
        assert_eq!(inside.len(), 28);
        for share in &inside {
            share.check().expect("each of them may write");
            for _ in 0..REQUEST_SWAPS {
                share.take();
            }
        }
        assert_eq!(ration.taken.get(), 224);
        drop(inside);
        assert!(ration.is_empty() && !ration.has_room());
    }

    #[test]
    fn what_was_not_taken_goes_back() {
        let ration = Rc::new(Ration::default());
        for served in 0.. {
            if !ration.has_room() {
                // Three swaps each: eight must be there for one more.
                assert_eq!((served, ration.taken.get()), (73, 219));
                break;
            }
            let share = ration.share();
            assert!(!ration.is_empty());
            for _ in 0..3 {
                share.take();
            }
        }
        assert!(ration.is_empty());
    }

    #[test]
    fn whoever_comes_too_late_has_the_spare_or_writes_nothing() {
        let ration = Rc::new(Ration::default());
        ration.taken.set(224);
        assert!(!ration.has_room());
        let late: Vec<_> = (0..4).map(|_| ration.share()).collect();
        let may_write: Vec<_> = late.iter().map(|share| share.check().is_ok()).collect();
        assert_eq!(may_write, [true, true, true, false]);
        late.iter().take(3).for_each(|share| {
            assert!(
                !share.reserve(REQUEST_SWAPS + 1),
                "the spare is not for more"
            );
        });
        let mut late = late.into_iter();
        drop(late.next());
        let last = late.next_back().expect("the fourth");
        last.check().expect("there is room for it now");
        ration.taken.set(HANDLES_MAX);
        last.check().expect("what has begun goes on");
    }

    #[test]
    fn more_is_set_aside_for_who_does_more_as_long_as_it_is_there() {
        let ration = Rc::new(Ration::default());
        let (tick, other) = (ration.share(), ration.share());
        assert!(tick.reserve(216) && !ration.has_room());
        assert!(!tick.reserve(217), "the other one's is not there for it");
        for _ in 0..REQUEST_SWAPS {
            other.take();
        }
        assert!(!tick.reserve(217) && tick.reserve(200));
        drop(tick);
        assert!(ration.has_room());
    }

    #[test]
    fn what_was_not_set_aside_is_counted_too() {
        let ration = Rc::new(Ration::default());
        let share = ration.share();
        for _ in 0..HANDLES_MAX + 1 {
            share.take();
        }
        assert_eq!((ration.taken.get(), ration.set_aside.get()), (257, 0));
        assert_eq!(ration.left(0), 0);
    }
}
