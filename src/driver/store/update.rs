//! Updates: a record changes only from the revision that was read.

use super::identity::Link;
use super::node::Node;
use super::{Pointer, Store, StoreError, limits};
use crate::driver::entropy::Entropy;
use crate::driver::kv::{Kv, KvError, SwapError};

/// What an update makes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The record in its stored form.
    pub payload: Vec<u8>,
    /// From when on it counts as absent, in milliseconds since the Unix epoch, or [`super::NEVER`].
    pub expires_at_ms: u64,
}

/// The answer to an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Updated {
    /// The change was made, by this call and once. The node is as this call wrote it.
    Applied(Node),
    /// The record had changed since it was read, and was left alone. The node is as it is now.
    Conflict(Node),
    /// The record has expired or was purged, and was left alone.
    Gone,
}

impl<K: Kv> Store<K> {
    /// Changes a record from the revision that `node` was read at. One write.
    ///
    /// An expired record is never changed. After [`StoreError::Unavailable`] the change may have been made.
    pub async fn update(
        &self,
        node: &Node,
        change: Change,
        now_ms: u64,
        entropy: &mut Entropy,
    ) -> Result<Updated, StoreError> {
        if !node.is_live(now_ms) {
            return Ok(Updated::Gone);
        }
        let changed = node.changed(entropy.next_u64(), change.expires_at_ms, change.payload);
        self.rewrite(node, changed).await
    }

    /// Swaps a node's record from one revision to the next, whatever happens to its link meanwhile.
    pub(super) async fn rewrite(&self, from: &Node, mut to: Node) -> Result<Updated, StoreError> {
        let key = from.pointer.key();
        let mut cas = self.kv.cas(&key).await?;
        let mut tried = false;
        for _ in 0..limits::MAX_SPURIOUS_SWAPS {
            let Some(bytes) = self.kv.current(&cas).await? else {
                return Ok(Updated::Gone);
            };
            let seen = Node::decode(from.pointer, bytes)?;
            match Outcome::of(from, &to, &seen) {
                Outcome::Unchanged => to.next = seen.next,
                Outcome::Applied => return Ok(Updated::Applied(to)),
                Outcome::Forgotten if tried => return Err(StoreError::Contended),
                Outcome::Conflict | Outcome::Forgotten => return Ok(Updated::refused(seen)),
            }
            tried = true;
            cas = match self.kv.swap(cas, &to.encode()?).await {
                Ok(()) => return Ok(Updated::Applied(to)),
                Err(SwapError::CasFailed(fresh)) => fresh,
                Err(SwapError::Store(error)) => return self.settle(from, to, error).await,
            };
        }
        Err(StoreError::Contended)
    }

    /// Finds out what became of a swap that ended in a store error.
    async fn settle(&self, from: &Node, to: Node, error: KvError) -> Result<Updated, StoreError> {
        let Some(seen) = self.read_node(from.pointer).await? else {
            return Ok(Updated::Gone);
        };
        match Outcome::of(from, &to, &seen) {
            Outcome::Applied => Ok(Updated::Applied(to)),
            Outcome::Conflict => Ok(Updated::refused(seen)),
            Outcome::Forgotten => Err(StoreError::Contended),
            Outcome::Unchanged => Err(error.into()),
        }
    }

    /// Cuts everything older than `from` off the chain, beginning with `tail`. Answers whether it is cut off there.
    ///
    /// `false` means that the chain has changed. Whatever became of a swap whose outcome stays unknown, a later purge
    /// finds the chain either as it was or cut.
    pub(super) async fn cut_after(&self, from: Pointer, tail: Pointer) -> Result<bool, StoreError> {
        let cas = self.kv.cas(&from.key()).await?;
        let Some(bytes) = self.kv.current(&cas).await? else {
            return Ok(false);
        };
        let mut node = Node::decode(from, bytes)?;
        if node.next != Link::To(tail) {
            return Ok(node.next == Link::Cut(tail));
        }
        node.next = Link::Cut(tail);
        let fresh = match self.kv.swap(cas, &node.encode()?).await {
            Ok(()) => return Ok(true),
            Err(SwapError::CasFailed(fresh)) => fresh,
            Err(SwapError::Store(error)) => return Err(error.into()),
        };
        let Some(bytes) = self.kv.current(&fresh).await? else {
            return Ok(false);
        };
        Ok(Node::decode(from, bytes)?.next == Link::Cut(tail))
    }
}

impl Updated {
    /// The answer to a change that met another state of the record than it started from.
    fn refused(seen: Node) -> Self {
        if seen.sealed {
            Self::Gone
        } else {
            Self::Conflict(seen)
        }
    }
}

/// What a read-back says of a change from one node to another.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The change is there, or was until others changed the record further.
    Applied,
    /// The record is still the one that the change starts from.
    Unchanged,
    /// The record was changed by others, and never by us.
    Conflict,
    /// More writers came than a node remembers: whether we were among them cannot be known any more.
    Forgotten,
}

impl Outcome {
    fn of(from: &Node, to: &Node, seen: &Node) -> Self {
        if seen.revision == from.revision && seen.writers[0] == from.writers[0] {
            return Self::Unchanged;
        }
        let Some(later) = seen.revision.checked_sub(to.revision) else {
            return Self::Conflict;
        };
        match usize::try_from(later)
            .ok()
            .and_then(|later| seen.writers.get(later))
        {
            Some(writer) if *writer == to.writers[0] => Self::Applied,
            Some(_) => Self::Conflict,
            None => Self::Forgotten,
        }
    }
}
