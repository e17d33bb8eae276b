//! The retry budget: a token bucket in one 8-byte word.
//!
//! Everything that calls the same upstream shares one word. A scheduled retry withdraws a token; time and successes
//! deposit. The word is data here: reading it and swapping it is the driver's work, and a lost swap is simply tried
//! again from what was read then.
//!
//! Layout: the upper 42 bits are milliseconds since the Unix epoch (they last until 2109), the lower 22 bits are
//! thousandths of a token. The word 0 is what a store creates; it stands for a bucket that was never used, which is
//! a full one.
//!
//! Clocks differ between instances. The stamp never moves back, so two clocks cannot mint tokens by turns; a clock that
//! lags sees no deposit for a while. A stamp that no sound clock can have written is replaced.

use super::limits;
use super::time::{Millis, Timestamp};

/// Thousandths of a token in a token: successes deposit fractions.
const TOKEN: u64 = 1_000;

const FRACTION_BITS: u32 = 22;
const FRACTION_MASK: u64 = (1 << FRACTION_BITS) - 1;
const STAMP_MAX: u64 = u64::MAX >> FRACTION_BITS;
const _: () = assert!(
    limits::BUDGET_TOKENS_MAX as u64 * TOKEN <= FRACTION_MASK,
    "a full bucket must fit its bits"
);

/// How large a budget is and what fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetPolicy {
    /// Tokens in a full bucket: the retries that an outage may cost at once.
    pub capacity_tokens: u32,
    /// The time in which one token is deposited.
    pub deposit_every_ms: Millis,
    /// What one success deposits, in thousandths of a token: 100 allows one retry for ten successes.
    pub deposit_per_success_millitokens: u32,
}

impl BudgetPolicy {
    const fn capacity(&self) -> u64 {
        self.capacity_tokens as u64 * TOKEN
    }

    /// What is wrong with these numbers, if anything.
    pub(super) fn problem(&self) -> Option<&'static str> {
        if self.capacity_tokens == 0 {
            return Some("capacity_tokens is zero, and so no retry could ever be paid");
        }
        if self.capacity_tokens > limits::BUDGET_TOKENS_MAX {
            return Some("capacity_tokens is too large");
        }
        (self.deposit_every_ms == Millis::ZERO).then_some("deposit_every_ms is zero")
    }
}

/// The answer to a withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawal {
    /// The retry is paid for once this word has been swapped in.
    Granted {
        /// The word to write.
        word: u64,
    },
    /// The bucket is empty. Time goes on counting from the old stamp, so as a rule there is nothing to write.
    Refused {
        /// The word to write when the old stamp was one that time would never reach.
        repair: Option<u64>,
    },
}

/// Asks the bucket in `word` for the token of one retry.
pub fn withdraw(word: u64, now: Timestamp, policy: &BudgetPolicy) -> Withdrawal {
    let bucket = Bucket::read(word, now, policy);
    match bucket.fraction.checked_sub(TOKEN) {
        Some(fraction) => Withdrawal::Granted {
            word: Bucket { fraction, ..bucket }.pack(),
        },
        None => Withdrawal::Refused {
            repair: is_broken(word, now).then(|| bucket.pack()),
        },
    }
}

/// Deposits one success into the bucket in `word`. Returns the word to write; `None` when the bucket was full
/// already, which in healthy times is always.
pub fn deposit_success(word: u64, now: Timestamp, policy: &BudgetPolicy) -> Option<u64> {
    let bucket = Bucket::read(word, now, policy);
    if bucket.fraction >= policy.capacity() {
        return None;
    }
    let deposit = u64::from(policy.deposit_per_success_millitokens);
    let fraction = bucket
        .fraction
        .saturating_add(deposit)
        .min(policy.capacity());
    Some(Bucket { fraction, ..bucket }.pack())
}

/// Whole tokens that the bucket in `word` holds at `now`, for display.
pub fn tokens(word: u64, now: Timestamp, policy: &BudgetPolicy) -> u64 {
    Bucket::read(word, now, policy).fraction / TOKEN
}

/// Whether no sound clock can have written the stamp. Believing it would stop the deposits until that far day.
fn is_broken(word: u64, now: Timestamp) -> bool {
    word >> FRACTION_BITS > stamp_of(now).saturating_add(limits::CLOCK_LEAD_MAX.get())
}

/// `now` as a stamp; never 0, so that an empty bucket is never mistaken for one that was not used.
fn stamp_of(now: Timestamp) -> u64 {
    now.as_unix_ms().clamp(1, STAMP_MAX)
}

/// A word taken apart, with the deposits of time already in it.
#[derive(Clone, Copy)]
struct Bucket {
    /// Milliseconds since the Unix epoch up to which time has been paid in.
    stamp: u64,
    /// Thousandths of a token.
    fraction: u64,
}

impl Bucket {
    fn read(word: u64, now: Timestamp, policy: &BudgetPolicy) -> Self {
        let capacity = policy.capacity();
        if word == 0 {
            return Self {
                stamp: stamp_of(now),
                fraction: capacity,
            };
        }
        let fraction = (word & FRACTION_MASK).min(capacity);
        if is_broken(word, now) {
            return Self {
                stamp: stamp_of(now),
                fraction,
            };
        }
        Self {
            stamp: word >> FRACTION_BITS,
            fraction,
        }
        .with_time(stamp_of(now), policy)
    }

    /// Pays in the time up to `now`, in the smallest portions that are whole in both units: so many milliseconds for so
    /// many thousandths. What is left of the time stays with the stamp, so frequent readers neither lose nor mint.
    fn with_time(self, now: u64, policy: &BudgetPolicy) -> Self {
        let every = policy.deposit_every_ms.get().max(1);
        let common = common_divisor(every, TOKEN);
        let (portion_ms, portion) = (every / common, TOKEN / common);
        let portions = now.saturating_sub(self.stamp) / portion_ms;
        let fraction = self.fraction + portions * portion;
        if fraction >= policy.capacity() {
            return Self {
                stamp: self.stamp.max(now),
                fraction: policy.capacity(),
            };
        }
        Self {
            stamp: self.stamp + portions * portion_ms,
            fraction,
        }
    }

    const fn pack(self) -> u64 {
        self.stamp << FRACTION_BITS | self.fraction
    }
}

/// The greatest common divisor, by Euclid.
const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
