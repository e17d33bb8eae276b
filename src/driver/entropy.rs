//! Randomness as an argument: a generator seeded once per request by the shell, or by a test.
//!
//! Identifiers, nonces and jitter come from here. Ids must not be guessable, so the stream is that of a hash in counter
//! mode, and the seed is drawn from the platform's secure source.

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// A deterministic stream of random numbers: block `n` is SHA-256(seed, n).
#[derive(Debug, Clone)]
pub struct Entropy {
    seed: [u8; 32],
    counter: u64,
}

impl Entropy {
    /// The stream of this seed. Two streams of one seed are equal, so a seed is used for one request only.
    #[must_use]
    pub const fn from_seed(seed: [u8; 32]) -> Self {
        Self { seed, counter: 0 }
    }

    /// A stream of its own, for one of several tasks.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::from_seed(self.next_bytes())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        u64::from_le_bytes(self.next_bytes())
    }

    /// A new `UUIDv7` (RFC 9562, section 5.7) with this time of creation, in milliseconds since the Unix epoch.
    pub fn next_uuid(&mut self, unix_ms: u64) -> Uuid {
        Builder::from_unix_timestamp_millis(unix_ms, &self.next_bytes()).into_uuid()
    }

    /// The next bytes, at most one block of 32.
    fn next_bytes<const N: usize>(&mut self) -> [u8; N] {
        let block = self.next_block();
        *block
            .first_chunk()
            .expect("nobody asks for more than a block")
    }

    fn next_block(&mut self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.counter.to_le_bytes());
        self.counter = self.counter.wrapping_add(1);
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_stream_and_its_numbers_differ() {
        let (mut a, mut b) = (Entropy::from_seed([7; 32]), Entropy::from_seed([7; 32]));
        let first: Vec<u64> = (0..64).map(|_| a.next_u64()).collect();
        assert_eq!(first, (0..64).map(|_| b.next_u64()).collect::<Vec<_>>());
        let distinct: std::collections::BTreeSet<_> = first.iter().collect();
        assert_eq!(distinct.len(), first.len());
        assert_ne!(Entropy::from_seed([8; 32]).next_u64(), first[0]);
    }

    #[test]
    fn a_uuid_carries_its_time_and_version() {
        let id = Entropy::from_seed([1; 32]).next_uuid(1_790_000_000_123);
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(id.as_u128() >> 80, 1_790_000_000_123);
    }
}
