//! The layout: how this store creates words, how many buckets it has, and the format of it all.
//!
//! On first use the store is probed on scratch keys, and what was found is written down in one word. Whatever cannot
//! be made exclusive, or was laid out by another version, is refused: nothing is processed unprotected.
//!
//! The layout's key is itself one that several writers may create, so it is a word, and it is created in the way that
//! the probe has just found. Two clients that race here probe the same store, so they create it in the same way, and
//! both go on with the layout that is there in the end.

use super::word::{Word, swap_word};
use super::{LayoutError, StoreError, limits};
use crate::driver::entropy::Entropy;
use crate::driver::kv::{Kv, KvError, SwapError};

/// The key of the layout.
const LAYOUT_KEY: &str = "w/layout";
/// The format of words, nodes and keys that this version writes.
const FORMAT: u8 = 1;
const MAGIC: [u8; 4] = *b"RPRS";
/// Probes that ended without a finding before we believe that the store is failing.
const MAX_PROBES: u32 = 3;

/// How a word comes into being.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    /// `increment(key, 0)` creates eight zero bytes. SQLite needs this: its swap of an absent key compares nothing.
    Increment,
    /// A swap from "absent" is conditional. Stores that count in decimal text need this.
    Swap,
}

impl Creation {
    /// Whether many keys may be read in one call. Only SQLite counts in eight bytes, and it answers such a call well
    /// (S6 is about Redis).
    #[must_use]
    pub const fn reads_many(self) -> bool {
        match self {
            Self::Increment => true,
            Self::Swap => false,
        }
    }
}

/// What a store was found, or made, to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    creation: Creation,
    bucket_bits: u8,
}

impl Layout {
    /// How words are created.
    #[must_use]
    pub const fn creation(self) -> Creation {
        self.creation
    }

    /// Leading bits of an identity that choose its bucket.
    #[must_use]
    pub const fn bucket_bits(self) -> u8 {
        self.bucket_bits
    }

    /// The number of buckets.
    #[must_use]
    pub const fn buckets(self) -> u32 {
        1 << self.bucket_bits
    }

    const fn to_word(self) -> i64 {
        let creation = match self.creation {
            Creation::Increment => 1,
            Creation::Swap => 2,
        };
        let [a, b, c, d] = MAGIC;
        i64::from_le_bytes([a, b, c, d, FORMAT, creation, self.bucket_bits, 0])
    }

    fn from_word(value: i64) -> Result<Self, LayoutError> {
        let [a, b, c, d, format, creation, bucket_bits, reserved] = value.to_le_bytes();
        if [a, b, c, d] != MAGIC {
            return Err(LayoutError::Foreign);
        }
        if format != FORMAT {
            return Err(LayoutError::Version { found: format });
        }
        let creation = match creation {
            1 => Creation::Increment,
            2 => Creation::Swap,
            _ => return Err(LayoutError::Foreign),
        };
        if reserved != 0 || bucket_bits > limits::MAX_BUCKET_BITS {
            return Err(LayoutError::Foreign);
        }
        Ok(Self {
            creation,
            bucket_bits,
        })
    }
}

/// Reads the layout. When there is none yet, probes the store and writes one down.
pub(super) async fn agree<K: Kv>(
    kv: &K,
    bucket_bits: u8,
    entropy: &mut Entropy,
) -> Result<Layout, StoreError> {
    for _ in 0..limits::MAX_TURNS {
        let found = read(kv).await?;
        match found {
            // Not there, or created and not yet used.
            Word::Absent | Word::Value(0) => {}
            Word::Value(value) => return Ok(Layout::from_word(value)?),
        }
        let creation = probe(kv, entropy).await?;
        let bucket_bits = bucket_bits.min(limits::MAX_BUCKET_BITS);
        let layout = Layout {
            creation,
            bucket_bits,
        };
        // Won or lost, what counts is what is there afterwards.
        swap_word(kv, creation, LAYOUT_KEY, found, layout.to_word()).await?;
    }
    Err(StoreError::Contended)
}

async fn read<K: Kv>(kv: &K) -> Result<Word, StoreError> {
    let bytes = kv.get(LAYOUT_KEY).await?;
    Word::decode(LAYOUT_KEY, bytes.as_deref()).map_err(|_| LayoutError::Foreign.into())
}

/// Finds out how words are created exclusively on this store. Only scratch keys are touched, and removed again.
async fn probe<K: Kv>(kv: &K, entropy: &mut Entropy) -> Result<Creation, StoreError> {
    for _ in 0..MAX_PROBES {
        let counter = scratch_key(entropy);
        let sum = kv.increment(&counter, 0).await;
        let is_word = kv.get(&counter).await?.is_some_and(|value| value == [0; 8]);
        let finding = if sum == Ok(0) && is_word {
            let contest = contest(kv, &counter, Some(&[0; 8])).await?;
            contest.map(|exclusive| exclusive.then_some(Creation::Increment))
        } else {
            let key = scratch_key(entropy);
            let mut exclusive = contest(kv, &key, None).await?;
            if exclusive == Some(true) {
                exclusive = contest(kv, &key, Some(FIRST)).await?;
            }
            kv.delete(&key).await?;
            exclusive.map(|exclusive| exclusive.then_some(Creation::Swap))
        };
        kv.delete(&counter).await?;
        match finding {
            Some(Some(creation)) => return Ok(creation),
            // A counter that failed may be one that works: only a store that answered is judged.
            Some(None) if sum.is_ok() => return Err(LayoutError::NotExclusive.into()),
            Some(None) | None => {}
        }
    }
    Err(StoreError::Unavailable(KvError(
        "the store fails too often to be probed".to_owned(),
    )))
}

/// The values that two contestants write; as long as words, since that is what they stand for.
const FIRST: &[u8; 8] = b"contest1";
const SECOND: &[u8; 8] = b"contest2";

/// Lets two handles that saw the same value swap, one after the other, and answers whether only the first one did.
///
/// `None` when a failure of the store leaves that open. What the store says of the swaps is not asked: on Redis it
/// says "failed" each time.
async fn contest<K: Kv>(
    kv: &K,
    key: &str,
    from: Option<&[u8; 8]>,
) -> Result<Option<bool>, StoreError> {
    let (one, two) = (kv.cas(key).await?, kv.cas(key).await?);
    let (first, second): (&[u8], &[u8]) = if from == Some(FIRST) {
        (SECOND, FIRST)
    } else {
        (FIRST, SECOND)
    };
    let seen = (kv.current(&one).await?, kv.current(&two).await?);
    if seen.0 != seen.1 || seen.0.as_deref() != from.map(<[u8; 8]>::as_slice) {
        return Ok(None);
    }
    let one = kv.swap(one, first).await;
    let after_one = kv.get(key).await?;
    let two = kv.swap(two, second).await;
    let after_two = kv.get(key).await?;
    if after_one.as_deref() == Some(first) && after_two.as_deref() == Some(second) {
        return Ok(Some(false));
    }
    let failed = matches!(one, Err(SwapError::Store(_))) || matches!(two, Err(SwapError::Store(_)));
    let kept = after_one.as_deref() == Some(first) && after_two.as_deref() == Some(first);
    Ok((kept && !failed).then_some(true))
}

/// A key that nobody else uses.
fn scratch_key(entropy: &mut Entropy) -> String {
    format!("p/{:016x}{:016x}", entropy.next_u64(), entropy.next_u64())
}
