//! Purge: expired records give their space back, and whoever visits a bucket is shown what it holds.

use super::identity::Link;
use super::node::{BrokenWalks, Circle, Walk, Walked};
use super::word::{WordSwap, bucket_key};
use super::{Node, Pointer, Store, StoreError, limits};
use crate::driver::kv::Kv;
use crate::driver::ration::TICK_SWAPS;
use std::ops::AddAssign;

/// How much one call to [`Store::purge`] may do.
#[derive(Debug, Clone, Copy)]
pub struct PurgeLimits {
    /// Nodes to delete. The last bucket that is purged may exceed it by what one bucket holds.
    pub nodes: usize,
    /// How long after its expiry a record is purged, in milliseconds.
    pub grace_ms: u64,
}

/// Consecutive buckets, the first following the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// The first one.
    pub first: u32,
    /// How many they are.
    pub count: u32,
}

/// What a purge did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Purged {
    /// Buckets that were visited.
    pub buckets: u32,
    /// Records that were seen and kept.
    pub kept: usize,
    /// Records that were deleted.
    pub deleted: usize,
    /// Buckets that could not be purged because their values are not what they should be.
    pub failed: u32,
}

impl AddAssign for Purged {
    fn add_assign(&mut self, other: Self) {
        self.buckets += other.buckets;
        self.kept += other.kept;
        self.deleted += other.deleted;
        self.failed += other.failed;
    }
}

impl<K: Kv> Store<K> {
    /// Purges these buckets of the records that expired the grace period or longer before `now_ms`.
    ///
    /// One write a bucket that has something to purge, and one a deleted record.
    pub async fn purge(
        &self,
        buckets: Buckets,
        limits: PurgeLimits,
        now_ms: u64,
    ) -> Result<Purged, StoreError> {
        self.purge_and_visit(buckets, limits, now_ms, &mut |_| {})
            .await
    }

    /// Purges these buckets, and shows each of their nodes to `visit`, for no more reads than the purge alone. A node
    /// may be shown more than once. Buckets that come after the limit is reached are visited and not purged, and so are
    /// those for which there is no conditional write left.
    pub async fn purge_and_visit(
        &self,
        buckets: Buckets,
        limits: PurgeLimits,
        now_ms: u64,
        visit: &mut dyn FnMut(&Node),
    ) -> Result<Purged, StoreError> {
        let mut purged = Purged::default();
        for step in 0..buckets.count {
            let bucket = buckets.first.wrapping_add(step) % self.layout.buckets();
            let is_spent = purged.deleted >= limits.nodes || !self.reserve(TICK_SWAPS);
            let deadline_ms = if is_spent {
                // Nothing has expired before time began.
                0
            } else {
                now_ms.saturating_sub(limits.grace_ms)
            };
            match self.purge_bucket(bucket, deadline_ms, visit).await {
                Ok(one) => purged += one,
                // One bad bucket must not keep its neighbours from being purged.
                Err(StoreError::Corrupt { .. } | StoreError::Contended | StoreError::Crowded) => {
                    purged += Purged {
                        buckets: 1,
                        failed: 1,
                        ..Purged::default()
                    };
                }
                Err(
                    error @ (StoreError::Unavailable(_)
                    | StoreError::TooLarge { .. }
                    | StoreError::Layout(_)),
                ) => {
                    return Err(error);
                }
            }
        }
        Ok(purged)
    }

    /// Cuts the tail of records that expired at or before `deadline_ms` off one bucket and deletes it, and whatever
    /// an earlier purge of the bucket has cut off and not lived to delete.
    async fn purge_bucket(
        &self,
        bucket: u32,
        deadline_ms: u64,
        visit: &mut dyn FnMut(&Node),
    ) -> Result<Purged, StoreError> {
        let key = bucket_key(bucket);
        let mut broken = BrokenWalks::default();
        for _ in 0..limits::MAX_TURNS {
            let head = self.read_word(&key).await?;
            let mut chain: Vec<(Pointer, u64)> = Vec::new();
            let walked = self
                .walk(head.link(&key)?, limits::MAX_CHAIN_TO_PURGE, &mut |node| {
                    chain.push((node.pointer(), node.expires_at_ms()));
                    visit(&node);
                    Walk::On
                })
                .await?;
            let end = match walked {
                Walked::Whole(end) => end,
                Walked::Broken(pointer) => {
                    broken.note(pointer)?;
                    continue;
                }
            };
            let last_kept = chain
                .iter()
                .rposition(|(_, expires_at_ms)| *expires_at_ms > deadline_ms);
            let kept = last_kept.map_or(0, |at| at + 1);
            let Some((tail, _)) = chain.get(kept).copied() else {
                return self.delete_remains(end, kept).await;
            };
            let cut = match last_kept {
                Some(at) => self.cut_after(chain[at].0, tail).await?,
                None => {
                    let to = Link::Cut(tail).raw().cast_signed();
                    self.swap_word(&key, head, to).await? == WordSwap::Won
                }
            };
            if cut {
                return self.delete_remains(Link::Cut(tail), kept).await;
            }
        }
        Err(StoreError::Contended)
    }

    /// Deletes what a cut link leads to. The oldest goes first, so that the link leads to the rest until the end.
    async fn delete_remains(&self, link: Link, kept: usize) -> Result<Purged, StoreError> {
        let mut remains = Vec::new();
        let mut at = link.remains();
        let mut circle = Circle::default();
        while let Some(pointer) = at.filter(|pointer| !circle.closes_at(*pointer)) {
            let Some(node) = self.read_node(pointer).await? else {
                break;
            };
            remains.push(pointer);
            at = node
                .next
                .remains()
                .filter(|_| remains.len() < limits::MAX_CHAIN_TO_PURGE);
        }
        for pointer in remains.iter().rev() {
            self.kv.delete(&pointer.key()).await?;
        }
        Ok(Purged {
            buckets: 1,
            kept,
            deleted: remains.len(),
            failed: 0,
        })
    }
}
