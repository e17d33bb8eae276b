//! Why the store could not answer. Every case leaves what was stored as it was, or as the caller asked for it.

use crate::driver::kv::KvError;
use std::fmt;

/// The store could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// The key-value store failed. A write that was under way may have happened: the next look-up tells.
    Unavailable(KvError),
    /// Others kept changing the same bucket or record for as long as we were ready to go on.
    Contended,
    /// The bucket holds so many records that no more are added before a purge has come by.
    Crowded,
    /// A value is not what this protocol writes. It is left alone.
    Corrupt {
        /// The key whose value it is.
        key: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The record is larger than a value may be.
    TooLarge {
        /// What the value would take, in bytes.
        bytes: usize,
    },
    /// The store is not one that we may write to.
    Layout(LayoutError),
}

/// Why a store's layout is refused. Nothing is written to such a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutError {
    /// The layout key holds something else than a layout.
    Foreign,
    /// The layout is of a format that this version does not read.
    Version {
        /// The format found.
        found: u8,
    },
    /// Neither way of creating a word is exclusive on this store.
    NotExclusive,
}

impl From<KvError> for StoreError {
    fn from(error: KvError) -> Self {
        Self::Unavailable(error)
    }
}

impl From<LayoutError> for StoreError {
    fn from(error: LayoutError) -> Self {
        Self::Layout(error)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(error) => error.fmt(f),
            Self::Contended => f.write_str("too many writers met on one bucket"),
            Self::Crowded => f.write_str("the bucket is full until expired records are purged"),
            Self::Corrupt { key, why } => write!(f, "the value of {key} is not a record: {why}"),
            Self::TooLarge { bytes } => write!(f, "a record of {bytes} bytes is too large"),
            Self::Layout(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => {
                f.write_str("the store holds data of another program under our layout key")
            }
            Self::Version { found } => write!(
                f,
                "the store has layout format {found}, which this version cannot read"
            ),
            Self::NotExclusive => f.write_str("the store cannot create a key exclusively"),
        }
    }
}

impl std::error::Error for StoreError {}
impl std::error::Error for LayoutError {}
