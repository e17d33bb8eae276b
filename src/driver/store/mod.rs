//! The record store: exclusive creation, fenced updates and safe retention on any store that Spin offers.
//!
//! Spin's conditional write does not create exclusively on its default store and misreports its success on Redis, so
//! this protocol asks little of it. There are two kinds of keys and one rule: **a key that more than one writer may
//! create is an eight-byte word; every other key has a unique name and exactly one creator.**
//!
//! ```text
//!   w/b/0a3f ──► n/1c… ──► n/77… ──► n/03…         a bucket: a word, and a chain of nodes, newest first
//!    (word)     (node)    (node)    (node)          to push: look, set the node with `next`, swap the word
//! ```
//!
//! - A **word** holds a pointer to the newest node of its chain. It is created where that is harmless (see
//!   [`layout`]) and from then on only changed by compare-and-swap from a value that was read. No value ever comes
//!   back, because a pointer is drawn once and a link that was cut stays cut. So a swap that the store may have
//!   delayed, repeated or misreported can only do what was meant, or nothing.
//! - A **node** holds one record. It is set by the one writer that drew its pointer, before any word names it.
//! - The claim of a key and its complete record become visible in the same swap. No crash can leave the one without
//!   the other; it can leave a node that no word names, which costs its space and is otherwise never seen.
//! - A **document** is a node that lives for ever, under a word of its own: see `document.rs`.
//! - An **update** swaps a node from the bytes that were read. It is fenced by the record's revision. After a swap that
//!   did not report success the node is read back: the last few writers' nonces in it tell "mine" from "theirs".
//! - An expired record is absent. Before its key is used again its node is **sealed**, so that a slow update cannot
//!   bring it back to life beside its successor. **Purge** comes a grace period later, cuts only a fully expired tail
//!   off a chain, and deletes nodes when no reader can reach them any more, the oldest first: the cut link still leads
//!   the next purge to whatever one that died has left.
//! - **Timers** say when a record is due. They hang on a hashed wheel: `w/t/…` is the word of one of 3,072 slots,
//!   `t/…` a timer that was pushed onto it as a record is onto its bucket. A slot is emptied by deleting its timers,
//!   the oldest first, each after its record was told; its word changes by pushes alone. So a timer that was published
//!   rings until it is taken, whoever dies in between. It may ring twice, and it may be lost with the client that was
//!   about to push it: timers make work start in time, and that it starts at all is the promise of the walk over the
//!   buckets.
//!
//! What the grace period must cover: the skew between the clocks of two instances plus the longest time from the
//! read to the write of one update. Nothing else here depends on time, but for when a timer rings.
//!
//! The store never interprets a payload, never sleeps and never retries without a bound.

mod create;
mod document;
mod error;
mod identity;
pub mod layout;
mod look;
mod node;
mod pages;
mod purge;
mod shared;
mod timers;
mod update;
mod wheel;
mod word;

#[cfg(test)]
mod tests;

pub use create::{Created, NewRecord};
pub use error::{LayoutError, StoreError};
pub use identity::{Identity, Pointer};
pub use layout::Layout;
pub use look::{Sought, Vacancy};
pub use node::{NEVER, Node, Walk};
pub use pages::{Page, PageLimits, Place};
pub use purge::{Buckets, PurgeLimits, Purged};
pub use timers::{DueSlots, Timer};
pub use update::{Change, Updated};
pub use wheel::Slot;

use super::entropy::Entropy;
use super::kv::Kv;

/// Limits of the store, each with its reason.
pub mod limits {
    /// Turns that one call takes when others keep changing what it works on. Each lost turn means that somebody else's
    /// write succeeded, so this is only reached when far more writers meet on one bucket than an instance serves.
    pub const MAX_TURNS: u32 = 64;
    /// Swaps of an unchanged value that a store may refuse before we believe that it is overloaded.
    pub const MAX_SPURIOUS_SWAPS: u32 = 8;
    /// Nodes in one chain. Sixteen thousand buckets of this length are 67 million records; a longer chain is a cycle
    /// or a layout far too small, and a request that walks it would be slower than any client waits.
    pub const MAX_CHAIN: usize = 4_096;
    /// Nodes in a chain to which no more are added: far enough below [`MAX_CHAIN`] that whoever creates at the same time
    /// does not make one that nobody can read.
    pub const MAX_CHAIN_TO_CREATE: usize = 3_072;
    /// Nodes in a chain that a purge still walks: it must get through chains that nobody else does, to shorten them.
    pub const MAX_CHAIN_TO_PURGE: usize = 1 << 20;
    /// Walks in a row that end at one missing node before it counts as lost.
    pub const MAX_BROKEN_WALKS: u32 = 4;
    /// Bytes of one value: what every store behind Spin documents as supported.
    pub const MAX_VALUE_BYTES: usize = 1_000_000;
    /// Leading bits of an identity that choose its bucket, when the layout is first written. 2^14 buckets keep the
    /// chain of a hundred thousand records at six nodes, and cost one more write for each bucket's first record.
    pub const DEFAULT_BUCKET_BITS: u8 = 14;
    /// Words that are read in one call, where a store can. A call holds up the instance while it lasts.
    pub const WORDS_AT_ONCE: u32 = 1_024;
    /// Seconds behind the clock that every look at the wheel goes through again. A timer whose writer takes longer than
    /// this from choosing its slot to being there may be passed by; a request that takes so long has been given up.
    pub const WHEEL_TRAIL_S: u64 = 30;
    /// How far ahead of our clock the wheel may have been gone through. Further ahead it was a broken clock.
    pub const MAX_CLOCK_LEAD_MS: u64 = 10 * 60 * 1_000;
    /// More buckets than this would take longer to walk than records live.
    pub const MAX_BUCKET_BITS: u8 = 20;
}

/// The record store over one key-value store whose layout is known.
#[derive(Debug)]
pub struct Store<K> {
    kv: K,
    layout: Layout,
}

impl<K: Kv> Store<K> {
    /// Opens the store. The first use ever probes it and writes the layout down.
    ///
    /// `bucket_bits` only matters for that first use: afterwards the layout of the store decides.
    pub async fn open(kv: K, bucket_bits: u8, entropy: &mut Entropy) -> Result<Self, StoreError> {
        let layout = layout::agree(&kv, bucket_bits, entropy).await?;
        Ok(Self { kv, layout })
    }

    /// The store with a layout that [`Store::open`] has found before. It reads nothing.
    pub const fn with_layout(kv: K, layout: Layout) -> Self {
        Self { kv, layout }
    }

    /// The layout that the store was found to have.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// [`Kv::check_pace`]: whether the store is quick enough to begin something.
    pub(super) fn check_pace(&self) -> Result<(), StoreError> {
        Ok(self.kv.check_pace()?)
    }

    /// [`Kv::reserve`]: whether so many conditional writes are there for what the caller does next.
    pub(super) fn reserve(&self, swaps: u32) -> bool {
        self.kv.reserve(swaps)
    }
}
