//! The wheel's arithmetic: which slot a deadline belongs to, and which slots a time has come for.
//!
//! ```text
//!   level   a slot is     slots          deadlines less than this away
//!     0        1 s        1,024 (17 min)         512 s
//!     1       16 s        1,024 (4.5 h)          2.3 h
//!     2      256 s        1,024 (3 days)        36 h
//! ```
//!
//! A timer is put where its level is fine enough and never moved to another one: a far deadline is met late by a slot
//! of its level, which is 3 % of the wait at the most, and a near one by a second. One wheel of seconds would do for
//! all of them only if each of its slots were read through again on every turn. The number of slots is fixed, so their
//! words do not pile up, and a gap of any length is caught up by one look at each of them. After a gap of more than
//! half a turn a slot may hold timers of the next one too: they were pushed later, so they lie on top of those that are
//! due.
//!
//! A slot's time is that of its latest deadline: whoever comes then finds all of them due. Half of a wheel is left
//! empty, because two clocks may differ: a slot that is one clock's past must not yet be another one's next turn.

use std::collections::BinaryHeap;

use super::limits;

/// Lengths of a slot in seconds, level by level.
const LENGTHS_S: [u64; 3] = [1, 16, 256];
/// Slots of one level.
const SLOTS: u64 = 1_024;
/// Slots ahead of now that a level is used for.
const HORIZON: u64 = SLOTS / 2;
const SECOND_MS: u64 = 1_000;

/// A slot at one turn of its wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// When its time comes, in seconds since the Unix epoch.
    time_s: u64,
    level: usize,
}

impl Slot {
    /// The time of the shortest slot, in milliseconds: coming more often than that finds nothing.
    pub const SHORTEST_MS: u64 = LENGTHS_S[0] * SECOND_MS;

    const fn new(level: usize, number: u64) -> Self {
        Self {
            time_s: number.saturating_mul(LENGTHS_S[level]),
            level,
        }
    }

    /// The slot for a deadline, seen from `now_ms`, when the wheel was gone through up to `reached_s`.
    ///
    /// What is due already goes into the slot of now, which the next one looks at too. In the slot of its deadline it might
    /// come too late: whoever goes through the wheel just then passes that one behind half a minute. By a clock that
    /// lags it goes into the next slot that is still to be gone through.
    pub(super) fn of(due_ms: u64, now_ms: u64, reached_s: u64) -> Self {
        let (due, now) = (due_ms.div_ceil(SECOND_MS), now_ms / SECOND_MS);
        let lead_s = limits::MAX_CLOCK_LEAD_MS / SECOND_MS;
        let believed_s = if reached_s > now.saturating_add(lead_s) {
            0
        } else {
            reached_s
        };
        let last = LENGTHS_S.len() - 1;
        let is_near = |level: &usize| {
            let length_s = LENGTHS_S[*level];
            due.div_ceil(length_s) <= now / length_s + HORIZON
        };
        let level = (0..last).find(is_near).unwrap_or(last);
        let length_s = LENGTHS_S[level];
        // Beyond the last level's horizon there is nothing: such a timer comes round early and is put in again.
        let number = due
            .div_ceil(length_s)
            .clamp(now / length_s, now / length_s + HORIZON);
        Self::new(level, number.max(believed_s / length_s + 1))
    }

    /// The slots whose time has come at `now_ms`, the oldest first, when the wheel was gone through up to `reached_s`.
    #[must_use]
    pub fn due(now_ms: u64, reached_s: u64) -> Vec<Self> {
        let now = now_ms / SECOND_MS;
        let from_s = reached_s.min(now.saturating_sub(limits::WHEEL_TRAIL_S));
        let mut slots = Vec::new();
        for (level, length_s) in LENGTHS_S.into_iter().enumerate() {
            let last = now / length_s;
            let first = (from_s / length_s + 1).max((last + 1).saturating_sub(SLOTS));
            slots.extend((first..=last).map(|number| Self::new(level, number)));
        }
        // By a heap, whose code is a fraction of a sort's.
        BinaryHeap::from(slots).into_sorted_vec()
    }

    /// The key of its word. Each turn of the wheel uses the same one.
    pub(super) fn key(self) -> String {
        let index = self.time_s / LENGTHS_S[self.level] % SLOTS;
        format!("w/t/{}{index:03x}", self.level)
    }

    /// Whether a deadline that is yet to come belongs here, at another turn of the wheel.
    #[must_use]
    pub fn is_home_of(self, due_ms: u64, now_ms: u64) -> bool {
        Self::of(due_ms, now_ms, 0).key() == self.key()
    }

    /// The second before its time.
    pub(super) const fn eve_s(self) -> u64 {
        self.time_s.saturating_sub(1)
    }
}

/// How far the wheel was gone through. The nonce tells writers apart that have come equally far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) second: u64,
    pub(super) nonce: u64,
}

impl Reached {
    /// Thirty-four bits of seconds last until the year 2514.
    const SECOND_BITS: u32 = 34;
    const SECOND_MAX: u64 = (1 << Self::SECOND_BITS) - 1;

    pub(super) const fn encode(self) -> u64 {
        self.nonce << Self::SECOND_BITS | self.second & Self::SECOND_MAX
    }

    pub(super) const fn decode(word: u64) -> Self {
        Self {
            second: word & Self::SECOND_MAX,
            nonce: word >> Self::SECOND_BITS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW_MS: u64 = 1_800_000_000_500;
    const NOW_S: u64 = NOW_MS / SECOND_MS;

    fn late_ms(wait_ms: u64) -> u64 {
        let slot = Slot::of(NOW_MS + wait_ms, NOW_MS, NOW_S - 30);
        slot.time_s * SECOND_MS - (NOW_MS + wait_ms)
    }

    #[test]
    fn a_deadline_is_met_within_a_slot_of_its_level() {
        // Wait, and how late it may be met.
        for (wait_s, late_s) in [
            (0, 1),
            (510, 1),
            (513, 16),
            (8_000, 16),
            (8_300, 256),
            (86_400, 256),
        ] {
            for ms in [0, 1, 499, 500, 501, 999] {
                let late = late_ms(wait_s * SECOND_MS + ms);
                assert!(
                    late <= late_s * SECOND_MS,
                    "{wait_s} s {ms} ms: {late} ms late"
                );
            }
        }
    }

    #[test]
    fn what_is_overdue_goes_where_the_next_tick_looks() {
        for overdue_s in [0, 10, 40, 600] {
            let slot = Slot::of((NOW_S - overdue_s) * SECOND_MS, NOW_MS, NOW_S - 30);
            assert_eq!(slot.time_s, NOW_S, "{overdue_s} s");
        }
        // A cursor that no sound clock can have written is not believed.
        let slot = Slot::of(NOW_MS, NOW_MS, NOW_S + 1_000_000);
        assert_eq!(slot.time_s, NOW_S + 1);
    }

    #[test]
    fn a_gap_of_any_length_is_one_look_at_each_slot() {
        let most = LENGTHS_S.len() as u64 * SLOTS;
        for gap_s in [86_400 * 7, 86_400 * 365, NOW_S] {
            let slots = Slot::due(NOW_MS, NOW_S - gap_s);
            let keys: std::collections::BTreeSet<String> =
                slots.iter().map(|slot| slot.key()).collect();
            assert_eq!((slots.len() as u64, keys.len() as u64), (most, most));
        }
    }

    #[test]
    fn a_tick_that_follows_another_looks_at_the_trail() {
        let slots = Slot::due(NOW_MS, NOW_S - limits::WHEEL_TRAIL_S);
        assert!((30..=34).contains(&slots.len()), "{slots:?}");
        assert!(slots.is_sorted());
        // Nor does a cursor that is ahead of this clock hide it.
        assert_eq!(Slot::due(NOW_MS, NOW_S + 600), slots);
    }

    proptest! {
        /// Whatever was pushed is met by the ticks that come after its deadline.
        #[test]
        fn no_slot_is_passed_over(wait_ms in 0..100_000_000_u64, reached in 0..2_000_u64, step_s in 1..4_000_u64) {
            let slot = Slot::of(NOW_MS + wait_ms, NOW_MS, NOW_S - reached);
            let (mut reached_s, mut now_ms) = (NOW_S - reached, NOW_MS);
            let mut is_met = false;
            while now_ms < NOW_MS + wait_ms + (256 + step_s + 1) * SECOND_MS {
                is_met |= Slot::due(now_ms, reached_s)
                    .iter()
                    .any(|due| due.key() == slot.key() && due.time_s >= slot.time_s);
                reached_s = now_ms / SECOND_MS - limits::WHEEL_TRAIL_S;
                now_ms += step_s * SECOND_MS;
            }
            prop_assert!(is_met);
        }

        /// A timer has half a minute to get into the slot that was chosen for it, also when its deadline is long over:
        /// whoever goes through the wheel meanwhile does not pass that slot.
        #[test]
        fn a_slot_is_not_passed_before_its_timer_is_there(overdue_ms in 0..1_000_000_u64, reached in 30..2_000_u64, late_s in 0..30_u64) {
            let slot = Slot::of(NOW_MS - overdue_ms, NOW_MS, NOW_S - reached);
            let then_s = NOW_S + late_s;
            let due = Slot::due(then_s * SECOND_MS, then_s - limits::WHEEL_TRAIL_S);
            // What is due within this very second may be in the next one's slot, whose time has not come.
            prop_assert!(slot.time_s > then_s || due.contains(&slot), "{:?}", slot);
        }

        #[test]
        fn how_far_it_was_gone_through_is_read_as_written(second in 0..1_u64 << 34, nonce in 0..1_u64 << 30) {
            let reached = Reached { second, nonce };
            prop_assert_eq!(Reached::decode(reached.encode()), reached);
        }
    }
}
