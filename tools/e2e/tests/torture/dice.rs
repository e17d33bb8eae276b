//! Dice: what happens at a named occasion, drawn from the run's seed and the occasion's name alone.
//!
//! Threads draw for themselves, so whichever is faster, the same occasion has the same fate. What a seed cannot bring
//! back is how the threads meet.

use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Dice {
    pub(crate) seed: u64,
}

impl Dice {
    /// Those of `SEED`, or of this moment.
    pub(crate) fn of_this_run() -> Self {
        let now = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            u64::from(now.expect("the clock is set").subsec_nanos())
        };
        let seed = std::env::var("SEED").ok();
        let seed = seed.map(|seed| seed.parse().expect("SEED is a whole number"));
        Self {
            seed: seed.unwrap_or_else(now),
        }
    }

    /// A number below `below`.
    pub(crate) fn roll(self, occasion: impl Hash, below: u64) -> u64 {
        // The keys of this hasher are fixed, so a seed means the same in every run.
        let mut hasher = DefaultHasher::new();
        (self.seed, occasion).hash(&mut hasher);
        hasher.finish() % below
    }

    /// Whether it happens, in so many of a hundred cases.
    pub(crate) fn happens(self, occasion: impl Hash, percent: u64) -> bool {
        self.roll(occasion, 100) < percent
    }
}
