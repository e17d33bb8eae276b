//! How long to wait before a retry.
//!
//! Integers only, and every step saturates: a large number of failures leads to the cap, never past it and never
//! round to zero. The total deadline is not known here; whoever schedules holds the result against it.

use super::limits;
use super::seed::Seed;
use super::time::Millis;

/// The shape of the waits between the attempts of one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    /// The same wait each time.
    Constant {
        /// The wait.
        delay_ms: Millis,
    },
    /// A wait that doubles with each failure up to a cap.
    Exponential {
        /// The wait after the first failure.
        base_ms: Millis,
        /// The longest wait.
        cap_ms: Millis,
    },
    /// A wait drawn uniformly between zero and the exponential one, so that clients which failed together do not
    /// come back together.
    FullJitter {
        /// The upper end of the draw after the first failure.
        base_ms: Millis,
        /// The highest upper end.
        cap_ms: Millis,
        /// The shortest wait: draws below it are raised to it.
        floor_ms: Millis,
    },
}

impl Backoff {
    /// The wait after the `failures`-th failure of a cycle, counted from 1.
    pub fn delay(self, failures: u32, entropy: Seed) -> Millis {
        match self {
            Self::Constant { delay_ms } => delay_ms,
            Self::Exponential { base_ms, cap_ms } => doubled(base_ms, cap_ms, failures),
            Self::FullJitter {
                base_ms,
                cap_ms,
                floor_ms,
            } => {
                let top = doubled(base_ms, cap_ms, failures);
                Millis::new(entropy.uniform_to(top.get())).max(floor_ms)
            }
        }
    }

    /// The longest wait that can come out.
    pub fn longest(self) -> Millis {
        match self {
            Self::Constant { delay_ms } => delay_ms,
            Self::Exponential { base_ms: _, cap_ms } => cap_ms,
            Self::FullJitter {
                base_ms: _,
                cap_ms,
                floor_ms,
            } => cap_ms.max(floor_ms),
        }
    }

    /// What is wrong with these numbers, if anything.
    pub(super) fn problem(self) -> Option<&'static str> {
        match self {
            Self::Constant { delay_ms } if delay_ms > limits::RETRY_DELAY_MAX => {
                Some("delay_ms is too long")
            }
            Self::Constant { delay_ms: _ } => None,
            Self::FullJitter {
                base_ms: _,
                cap_ms,
                floor_ms,
            } if floor_ms > cap_ms => Some("floor_ms is above cap_ms"),
            Self::Exponential { base_ms, cap_ms }
            | Self::FullJitter {
                base_ms,
                cap_ms,
                floor_ms: _,
            } => range_problem(base_ms, cap_ms),
        }
    }
}

/// `base * 2^(failures - 1)`, at most `cap`.
fn doubled(base: Millis, cap: Millis, failures: u32) -> Millis {
    let doublings = failures.saturating_sub(1);
    let wait = base
        .get()
        .checked_shl(doublings)
        .filter(|wait| wait >> doublings == base.get());
    // A shift that pushes a bit out has passed any cap.
    let wait = wait.unwrap_or(u64::MAX);
    Millis::new(wait).min(cap)
}

fn range_problem(base: Millis, cap: Millis) -> Option<&'static str> {
    if base == Millis::ZERO {
        return Some("base_ms is zero, and so would be every wait");
    }
    if cap < base {
        return Some("cap_ms is below base_ms");
    }
    (cap > limits::RETRY_DELAY_MAX).then_some("cap_ms is too long")
}
