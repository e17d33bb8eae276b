//! Words: the eight-byte values that several writers may create and swap.
//!
//! A word's value is little-endian, as the stores that count in bytes write it: 0 is a word that was only created,
//! any other a link. No value of a word ever comes back.

use super::identity::Link;
use super::layout::Creation;
use super::{Store, StoreError, limits};
use crate::driver::kv::{Kv, SwapError};

/// The key of a bucket's word.
pub(super) fn bucket_key(bucket: u32) -> String {
    format!("w/b/{bucket:05x}")
}

/// The value of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// The key is not there.
    Absent,
    /// The key holds this value.
    Value(i64),
}

impl Word {
    /// The value as a number; a word that is not there counts as 0.
    pub(super) const fn number(self) -> u64 {
        match self {
            Self::Absent => 0,
            Self::Value(value) => value.cast_unsigned(),
        }
    }

    /// The link that a bucket's word holds.
    pub(super) fn link(self, key: &str) -> Result<Link, StoreError> {
        Link::from_raw(self.number()).ok_or_else(|| StoreError::Corrupt {
            key: key.to_owned(),
            why: "its value is not a link",
        })
    }

    /// Reads a word's bytes. Only eight bytes are a word.
    pub(super) fn decode(key: &str, bytes: Option<&[u8]>) -> Result<Self, StoreError> {
        let Some(bytes) = bytes else {
            return Ok(Self::Absent);
        };
        let bytes: [u8; 8] = bytes.try_into().map_err(|_| StoreError::Corrupt {
            key: key.to_owned(),
            why: "a word has eight bytes",
        })?;
        Ok(Self::Value(i64::from_le_bytes(bytes)))
    }
}

/// What became of the swap of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordSwap {
    /// The word holds our value, or did so until somebody swapped it from there.
    Won,
    /// The word holds a value of somebody else. Whether ours was there for a while is not known; it is not to come.
    Moved,
}

impl<K: Kv> Store<K> {
    /// Reads a word. One read.
    pub(super) async fn read_word(&self, key: &str) -> Result<Word, StoreError> {
        Word::decode(key, self.kv.get(key).await?.as_deref())
    }

    /// Swaps a word from the value that was read to a new one.
    ///
    /// Whoever finds the new value there believes to have written it, so it must be one that no other writer writes.
    pub(super) async fn swap_word(
        &self,
        key: &str,
        from: Word,
        to: i64,
    ) -> Result<WordSwap, StoreError> {
        swap_word(&self.kv, self.layout.creation(), key, from, to).await
    }
}

/// See [`Store::swap_word`]; apart from it because the layout is itself a word.
pub(super) async fn swap_word<K: Kv>(
    kv: &K,
    creation: Creation,
    key: &str,
    mut from: Word,
    to: i64,
) -> Result<WordSwap, StoreError> {
    let mut cas = kv.cas(key).await?;
    let mut seen = Word::decode(key, kv.current(&cas).await?.as_deref())?;
    if seen == Word::Absent && creation == Creation::Increment {
        // Adding nothing creates the word as eight zero bytes, atomically, whoever else does the same.
        kv.increment(key, 0).await?;
        seen = Word::decode(key, kv.current(&cas).await?.as_deref())?;
        if from == Word::Absent {
            from = Word::Value(0);
        }
    } else if from == Word::Absent && seen == Word::Value(0) {
        // Somebody else has created the word since we read it, and not yet used it.
        from = seen;
    }
    for _ in 0..limits::MAX_SPURIOUS_SWAPS {
        if seen == Word::Value(to) {
            return Ok(WordSwap::Won);
        }
        if seen != from {
            return Ok(WordSwap::Moved);
        }
        // Neither failure below is proof that the value was not written: read back and decide on what is there.
        let failure;
        (cas, failure) = match kv.swap(cas, &to.to_le_bytes()).await {
            Ok(()) => return Ok(WordSwap::Won),
            Err(SwapError::CasFailed(fresh)) => (fresh, None),
            Err(SwapError::Store(error)) => (kv.cas(key).await?, Some(error)),
        };
        seen = Word::decode(key, kv.current(&cas).await?.as_deref())?;
        if let (Some(error), true) = (failure, seen == from) {
            return Err(error.into());
        }
    }
    Err(StoreError::Contended)
}
