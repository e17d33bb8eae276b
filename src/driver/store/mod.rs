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
//! - An **update** swaps a node from the bytes that were read. It is fenced by the record's revision. After a swap that
//!   did not report success the node is read back: the last few writers' nonces in it tell "mine" from "theirs".
//! - An expired record is absent. Before its key is used again its node is **sealed**, so that a slow update cannot
//!   bring it back to life beside its successor. **Purge** comes a grace period later, cuts only a fully expired tail
//!   off a chain, and deletes nodes when no reader can reach them any more, the oldest first: the cut link still leads
//!   the next purge to whatever one that died has left.
//!
//! What the grace period must cover: the skew between the clocks of two instances plus the longest time from the
//! read to the write of one update. Nothing else here depends on time.
//!
//! The store never interprets a payload, never sleeps and never retries without a bound.

mod create;
mod error;
mod identity;
pub mod layout;
mod node;
mod purge;
mod shared;
mod update;
mod word;

#[cfg(test)]
mod tests;

pub use create::{Created, NewRecord};
pub use error::{LayoutError, StoreError};
pub use identity::{Identity, Pointer};
pub use layout::Layout;
pub use node::{NEVER, Node};
pub use purge::{Buckets, PurgeLimits, Purged};
pub use update::{Change, Updated};

use super::entropy::Entropy;
use super::kv::Kv;
use node::{Walk, Walked};
use word::Word;

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
    /// Bytes of one value: what every store behind Spin documents as supported.
    pub const MAX_VALUE_BYTES: usize = 1_000_000;
    /// Leading bits of an identity that choose its bucket, when the layout is first written. 2^14 buckets keep the
    /// chain of a hundred thousand records at six nodes, and cost one more write for each bucket's first record.
    pub const DEFAULT_BUCKET_BITS: u8 = 14;
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

    /// The record of an identity, or `None` when it was never created or has expired at `now_ms`.
    ///
    /// Reads the bucket's word and the chain down to the record.
    pub async fn find(&self, identity: &Identity, now_ms: u64) -> Result<Option<Node>, StoreError> {
        match self.look(identity, None, now_ms).await?.sight {
            Sight::Live(node) => Ok(Some(node)),
            Sight::Expired(_) | Sight::Absent => Ok(None),
        }
    }

    /// The record with this id, or `None` when there is none or it has expired at `now_ms`. One read.
    pub async fn load(&self, id: uuid::Uuid, now_ms: u64) -> Result<Option<Node>, StoreError> {
        let Some(pointer) = Pointer::of(id) else {
            return Ok(None);
        };
        let node = self.read_node(pointer).await?;
        Ok(node.filter(|node| node.id() == id && node.is_live(now_ms)))
    }

    /// Looks an identity up. With `own`, the whole chain is walked to learn whether it holds that node.
    async fn look(
        &self,
        identity: &Identity,
        own: Option<Pointer>,
        now_ms: u64,
    ) -> Result<Look, StoreError> {
        let key = word::bucket_key(identity.bucket(self.layout.bucket_bits()));
        for _ in 0..limits::MAX_TURNS {
            let head = self.read_word(&key).await?;
            let mut look = Look {
                head,
                sight: Sight::Absent,
                own_seen: false,
            };
            let mut met = false;
            let walked = self
                .walk(head.link(&key)?, |node| {
                    look.own_seen |= own == Some(node.pointer());
                    if !met && node.identity() == identity {
                        // The newest node of an identity decides: an older one was expired when this was pushed.
                        met = true;
                        look.sight = Sight::of(node.clone(), now_ms);
                    }
                    if met && own.is_none() {
                        Walk::Stop
                    } else {
                        Walk::On
                    }
                })
                .await?;
            if walked != Walked::Broken {
                return Ok(look);
            }
            // A purge deleted what we were about to read: the chain is shorter now, so start again.
        }
        Err(StoreError::Contended)
    }
}

/// What a look-up of an identity saw.
struct Look {
    /// The bucket's word as it was when the walk began.
    head: Word,
    sight: Sight,
    /// Whether the walk met the node that the caller asked for. Without one this is false.
    own_seen: bool,
}

/// The newest node of an identity.
enum Sight {
    Live(Node),
    /// Expired but not sealed: an update that was begun before could still reach it.
    Expired(Node),
    /// None, or one that is sealed.
    Absent,
}

impl Sight {
    fn of(node: Node, now_ms: u64) -> Self {
        if node.is_live(now_ms) {
            Self::Live(node)
        } else if node.is_sealed() {
            Self::Absent
        } else {
            Self::Expired(node)
        }
    }
}
