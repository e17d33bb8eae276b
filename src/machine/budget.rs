//! The retry budget: a token bucket in one 8-byte word.
//!
//! Everything that calls the same upstream shares one word. A scheduled retry withdraws a token; time and successes
//! deposit. The word is data here: reading it and swapping it is the driver's work, and after a lost swap it asks
//! again with what it reads then.
//!
//! ```text
//!  63            32 31            12 11        0
//!  │ seconds since │ thousandths of │ nonce     │
//!  │ the epoch     │ a token        │           │
//! ```
//!
//! The word 0 is what a store creates; it stands for a bucket that was never used, which is a full one. The nonce is
//! drawn anew for each word: a store that misreports its swaps has them told apart by what was written, so two writers
//! of one moment must not write the same.
//!
//! Clocks differ between instances. The stamp never moves back, so two clocks cannot mint tokens by turns; a clock that
//! lags sees no deposit for a while. A stamp that no sound clock can have written is replaced.

use super::limits;
use super::seed::Seed;
use super::time::Timestamp;

/// Thousandths of a token in a token: successes deposit fractions.
const TOKEN: u64 = 1_000;
/// Milliseconds in the unit of the stamp. 32 bits of seconds last until the year 2106.
const SECOND_MS: u64 = 1_000;

const NONCE_BITS: u32 = 12;
const NONCE_MAX: u64 = (1 << NONCE_BITS) - 1;
const FRACTION_BITS: u32 = 20;
const FRACTION_MAX: u64 = (1 << FRACTION_BITS) - 1;
const STAMP_SHIFT: u32 = NONCE_BITS + FRACTION_BITS;
const STAMP_MAX: u64 = u64::MAX >> STAMP_SHIFT;
const _: () = assert!(
    limits::BUDGET_TOKENS_MAX as u64 * TOKEN <= FRACTION_MAX,
    "a full bucket must fit its bits"
);

/// How large a budget is and what fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetPolicy {
    /// Tokens in a full bucket: the retries that an outage may cost at once.
    pub capacity_tokens: u32,
    /// What each second deposits, in thousandths of a token: 500 allows one retry every two seconds.
    pub deposit_per_second_millitokens: u32,
    /// What one success deposits, in thousandths of a token: 100 allows one retry for ten successes.
    pub deposit_per_success_millitokens: u32,
}

impl BudgetPolicy {
    const fn capacity(&self) -> u64 {
        self.capacity_tokens as u64 * TOKEN
    }

    /// What is wrong with these numbers, if anything.
    pub fn problem(&self) -> Option<&'static str> {
        if self.capacity_tokens == 0 {
            return Some("capacity_tokens is zero, and so no retry could ever be paid");
        }
        if self.capacity_tokens > limits::BUDGET_TOKENS_MAX {
            return Some("capacity_tokens is too large");
        }
        let deposits_nothing =
            self.deposit_per_second_millitokens == 0 && self.deposit_per_success_millitokens == 0;
        deposits_nothing.then_some("neither time nor successes deposit anything")
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
pub fn withdraw(word: u64, now: Timestamp, entropy: Seed, policy: &BudgetPolicy) -> Withdrawal {
    let bucket = Bucket::read(word, now, policy);
    match bucket.fraction.checked_sub(TOKEN) {
        Some(fraction) => Withdrawal::Granted {
            word: Bucket { fraction, ..bucket }.pack(entropy),
        },
        None => Withdrawal::Refused {
            repair: is_broken(word, now).then(|| bucket.pack(entropy)),
        },
    }
}

/// Deposits one success into the bucket in `word`. Returns the word to write; `None` when the bucket was full
/// already, which in healthy times is always.
pub fn deposit_success(
    word: u64,
    now: Timestamp,
    entropy: Seed,
    policy: &BudgetPolicy,
) -> Option<u64> {
    let bucket = Bucket::read(word, now, policy);
    if bucket.fraction >= policy.capacity() {
        return None;
    }
    let deposit = u64::from(policy.deposit_per_success_millitokens);
    let fraction = bucket
        .fraction
        .saturating_add(deposit)
        .min(policy.capacity());
    Some(Bucket { fraction, ..bucket }.pack(entropy))
}

/// Whole tokens that the bucket in `word` holds at `now`, for display.
pub fn tokens(word: u64, now: Timestamp, policy: &BudgetPolicy) -> u64 {
    Bucket::read(word, now, policy).fraction / TOKEN
}

/// Whether no sound clock can have written the stamp. Believing it would stop the deposits until that far day.
fn is_broken(word: u64, now: Timestamp) -> bool {
    const LEAD: u64 = limits::CLOCK_LEAD_MAX.get() / SECOND_MS;
    word >> STAMP_SHIFT > stamp_of(now) + LEAD
}

/// `now` as a stamp; never 0, so that an empty bucket is never mistaken for one that was not used.
fn stamp_of(now: Timestamp) -> u64 {
    (now.as_unix_ms() / SECOND_MS).clamp(1, STAMP_MAX)
}

/// A word taken apart, with the deposits of time already in it.
#[derive(Clone, Copy)]
struct Bucket {
    /// Seconds since the Unix epoch up to which time has been paid in.
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
        let fraction = (word >> NONCE_BITS & FRACTION_MAX).min(capacity);
        if is_broken(word, now) {
            return Self {
                stamp: stamp_of(now),
                fraction,
            };
        }
        Self {
            stamp: word >> STAMP_SHIFT,
            fraction,
        }
        .with_time(stamp_of(now), policy)
    }

    /// Pays in the time up to `now`. A second is a whole number of thousandths, so nothing is rounded.
    fn with_time(self, now: u64, policy: &BudgetPolicy) -> Self {
        let seconds = now.saturating_sub(self.stamp);
        let deposit = seconds * u64::from(policy.deposit_per_second_millitokens);
        let fraction = self.fraction.saturating_add(deposit).min(policy.capacity());
        Self {
            stamp: self.stamp.max(now),
            fraction,
        }
    }

    fn pack(self, entropy: Seed) -> u64 {
        self.stamp << STAMP_SHIFT | self.fraction << NONCE_BITS | entropy.uniform_to(NONCE_MAX)
    }
}
