//! Instants and waits in whole milliseconds.
//!
//! An instant is an argument everywhere: this module never asks a clock. Many machines write the same record, so
//! an instant that lies before an earlier one is expected, and all arithmetic saturates instead of wrapping.

use core::fmt;

use serde::Serialize;

use reprise_json::cursor::{Cursor, FromJson, Misfit};

/// An instant, in milliseconds since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The instant that lies `ms` milliseconds after the Unix epoch.
    pub const fn from_unix_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_unix_ms(self) -> u64 {
        self.0
    }

    /// The instant `wait` later; the end of time when that cannot be told.
    #[must_use]
    pub const fn after(self, wait: Millis) -> Self {
        Self(self.0.saturating_add(wait.0))
    }

    /// The time that passed since `earlier`; zero when the clock stepped back in between.
    pub const fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// Whether `now` has come to this instant. A deadline counts as passed at its very millisecond, so a remaining
    /// time of zero leaves nothing.
    pub const fn is_reached(self, now: Self) -> bool {
        now.0 >= self.0
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}ms", self.0)
    }
}

/// A length of time, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Millis(u64);

impl Millis {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A length of `ms` milliseconds.
    pub const fn new(ms: u64) -> Self {
        Self(ms)
    }

    /// A length of `seconds` seconds; the longest length there is when that does not fit.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// The length in milliseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The length in seconds, rounded up: whoever waits this long has waited long enough.
    pub const fn as_secs_rounded_up(self) -> u64 {
        self.0.div_ceil(1_000)
    }
}

impl fmt::Debug for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// A deadline and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When it comes.
    pub at: Timestamp,
    /// What happens then.
    pub reason: DueReason,
}

impl Due {
    /// The deadline `reason` at `at`.
    pub const fn new(at: Timestamp, reason: DueReason) -> Self {
        Self { at, reason }
    }

    /// The earlier of two deadlines; `self` when both come at once.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        if other.at < self.at { other } else { self }
    }
}

/// Why a deadline exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueReason {
    /// A queued operation may start its first attempt.
    Start,
    /// The wait before a retry is over.
    Retry,
    /// The holder of a running attempt is given up for lost.
    LeaseEnd,
    /// A running attempt has had its time.
    AttemptTimeout,
    /// The operation as a whole has had its time.
    TotalDeadline,
    /// An event of the outbox is to be delivered.
    Delivery,
    /// The holder of a running delivery is given up for lost.
    DeliveryLeaseEnd,
    /// The record's retention is over.
    Expiry,
}

impl FromJson for Timestamp {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.number().map(Self)
    }
}

impl FromJson for Millis {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.number().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::{Due, DueReason, Millis, Timestamp};

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let end = Timestamp::from_unix_ms(u64::MAX);
        assert_eq!(end.after(Millis::new(1)), end);
        assert_eq!(
            Timestamp::from_unix_ms(5).since(Timestamp::from_unix_ms(9)),
            Millis::ZERO
        );
        assert_eq!(
            Timestamp::from_unix_ms(9).since(Timestamp::from_unix_ms(5)),
            Millis::new(4)
        );
        assert_eq!(Millis::from_secs(u64::MAX), Millis::new(u64::MAX));
        assert_eq!(Millis::from_secs(3), Millis::new(3_000));
    }

    #[test]
    fn a_deadline_is_reached_at_its_very_millisecond() {
        let deadline = Timestamp::from_unix_ms(10);
        let reached = [9, 10, 11].map(|now| deadline.is_reached(Timestamp::from_unix_ms(now)));
        assert_eq!(reached, [false, true, true]);
    }

    #[test]
    fn seconds_round_up() {
        let seconds = [0, 1, 999, 1_000, 1_001].map(|ms| Millis::new(ms).as_secs_rounded_up());
        assert_eq!(seconds, [0, 1, 1, 1, 2]);
    }

    #[test]
    fn the_earlier_deadline_keeps_its_reason() {
        let timeout = Due::new(Timestamp::from_unix_ms(5), DueReason::AttemptTimeout);
        let total = Due::new(Timestamp::from_unix_ms(4), DueReason::TotalDeadline);
        assert_eq!(timeout.earlier(total), total);
        assert_eq!(total.earlier(timeout), total);
        let tie = Due::new(Timestamp::from_unix_ms(5), DueReason::TotalDeadline);
        assert_eq!(timeout.earlier(tie), timeout);
    }
}
