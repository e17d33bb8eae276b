//! Randomness as an argument.
//!
//! The shell draws one seed per decision; everything random in that decision follows from it, so the same arguments
//! give the same decision. This module never asks for more.

/// The seed of one decision: 64 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// A seed of 64 random bits.
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// A uniform draw from `0..=max`, free of modulo bias.
    ///
    /// Candidates are masked to the bits of `max` and dropped when above it. More than half of all candidates pass,
    /// and the stream visits every 64-bit number once, so the loop ends for every seed.
    pub(super) fn uniform_to(self, max: u64) -> u64 {
        let mask = u64::MAX.checked_shr(max.leading_zeros()).unwrap_or(0);
        let mut position = self.0;
        loop {
            position = position.wrapping_add(STREAM_STEP);
            let candidate = mix(position) & mask;
            if candidate <= max {
                return candidate;
            }
        }
    }
}

/// The odd step of `SplitMix64` (Steele, Lea and Flood, 2014), 2^64 divided by the golden ratio.
const STREAM_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of `SplitMix64`: a bijection that spreads each input bit over all output bits.
const fn mix(position: u64) -> u64 {
    let mut bits = position;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn draws_reach_both_ends_and_never_pass_the_maximum() {
        for max in [0, 1, 2, 3, 6, 7, 8] {
            let mut seen = vec![0_u32; 9];
            for seed in 0..2_000 {
                let draw = Seed::new(seed).uniform_to(max);
                seen[usize::try_from(draw).expect("draws here are small")] += 1;
            }
            let hit = seen.iter().filter(|count| **count > 0).count();
            assert_eq!(hit as u64, max + 1, "exactly 0..={max} is drawn: {seen:?}");
        }
    }

    #[test]
    fn the_whole_range_is_a_range_too() {
        assert_ne!(
            Seed::new(1).uniform_to(u64::MAX),
            Seed::new(2).uniform_to(u64::MAX)
        );
    }

    #[test]
    fn the_stream_is_splitmix64() {
        // The first output of the reference implementation for seed 1234567.
        assert_eq!(
            Seed::new(1_234_567).uniform_to(u64::MAX),
            6_457_827_717_110_365_317
        );
    }
}
