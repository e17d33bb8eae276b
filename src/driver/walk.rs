//! The walk: the one document that says which buckets are visited next, what the walk has seen, and what has been counted.
//!
//! ```text
//!   next ──▶ visit some buckets ──▶ swap: next behind them, and what they hold added to the census under way
//!                                         once it has all buckets, it is the last census
//! ```
//!
//! Where the walk is and what it has counted is one value, so a bucket counts once in a census, whoever visits it: of two
//! ticks that visit the same buckets one swaps, and the other goes on behind them. A tick that dies before its swap has
//! counted nothing and moved nothing. Should nobody move the walk on for a while, because whatever is there kills who
//! visits it, then the next tick moves on *before* its visit; the census has a hole there, and begins anew behind it.
//!
//! What instances have counted lives here too, because the tick writes this value in any case.
//!
//! The walk is a promise and the counts are for people: a document that cannot be read loses its counts and keeps its
//! place where it can.

use serde::Serialize;

use super::census::Census;
use super::counts::Counts;
use super::entropy::Entropy;
use super::kv::Kv;
use super::store::{Buckets, Change, NEVER, Node, Store, StoreError, Updated, limits};
use super::witness::Witness;
use crate::json::cursor::{self, from_object};
use crate::json::raw;
use crate::machine::{Millis, Timestamp};

/// The document's name.
const NAME: &str = "walk";
const VERSION: u64 = 1;
/// Swaps of one call that others may be faster with. What is not swapped then waits for the next occasion.
const TURNS_MAX: u32 = 8;
/// How long the walk may stand still while ticks come: more than two minutes, because a cron ticks once a minute.
const STANDSTILL: Millis = Millis::from_secs(150);

/// The content of the document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Walk {
    v: u64,
    /// The bucket that is visited next.
    next: u32,
    /// When it was moved there.
    moved_at: Timestamp,
    /// How many buckets before `next` are in the census under way.
    counted: u32,
    census: Census,
    last: Option<Finished>,
    counts: Counts,
}

/// A census of all buckets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finished {
    /// When the last bucket was visited.
    pub at: Timestamp,
    /// What was seen.
    pub census: Census,
}

from_object!(Walk {
    v,
    next,
    moved_at,
    counted,
    census,
    last,
    counts
});

from_object!(Finished { at, census });

impl Walk {
    fn beginning(next: u32, now: Timestamp) -> Self {
        Self {
            v: VERSION,
            next,
            moved_at: now,
            counted: 0,
            census: Census::default(),
            last: None,
            counts: Counts::default(),
        }
    }

    /// When a tick has last moved the walk on.
    #[must_use]
    pub const fn moved_at(&self) -> Timestamp {
        self.moved_at
    }

    /// The last census that has all buckets, if there was one.
    #[must_use]
    pub const fn last_census(&self) -> Option<&Finished> {
        self.last.as_ref()
    }

    /// What all instances have counted.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The bytes to store. Names in plenty must not keep the walk from going on: then they are forgotten.
    fn encode(&self) -> Vec<u8> {
        const BYTES_MAX: usize = limits::MAX_VALUE_BYTES - 1_024;
        let bytes =
            |walk: &Self| serde_json::to_vec(walk).expect("numbers and names have a JSON form");
        let all = bytes(self);
        if all.len() <= BYTES_MAX {
            return all;
        }
        bytes(&Self::beginning(self.next, self.moved_at))
    }

    /// Reads stored bytes, whatever they are.
    fn decode(bytes: &[u8], now: Timestamp) -> Self {
        match cursor::read::<Self>(bytes) {
            Ok(walk) if walk.v == VERSION => walk,
            Ok(_) | Err(_) => Self::beginning(next_alone(bytes).unwrap_or_default(), now),
        }
    }

    /// The next buckets, so many at most, of a store with `total`. No bucket is counted twice in one census.
    fn ahead(&self, count: u32, total: u32) -> Buckets {
        let left = total.saturating_sub(self.counted).max(1);
        Buckets {
            first: self.next % total,
            count: count.min(left),
        }
    }

    /// Moves on behind these buckets, which were visited, or without a census are to be.
    fn pass(&mut self, buckets: Buckets, seen: Option<&Census>, total: u32, now: Timestamp) {
        self.next = (buckets.first + buckets.count) % total;
        self.moved_at = now;
        let Some(seen) = seen else {
            self.counted = 0;
            self.census = Census::default();
            return;
        };
        self.census.merge(seen);
        self.counted = self.counted.saturating_add(buckets.count);
        if self.counted >= total {
            self.counted = 0;
            self.last = Some(Finished {
                at: now,
                census: std::mem::take(&mut self.census),
            });
        }
    }
}

/// The one member that matters, of a document that has others too.
fn next_alone(bytes: &[u8]) -> Option<u32> {
    let members = raw::members(bytes).ok()?;
    let (_, next) = members.into_iter().find(|(name, _)| name == "next")?;
    next.parse().ok()
}

/// The walk as it was read, and so what a swap of it starts from.
#[derive(Debug)]
pub struct Stand {
    node: Node,
    walk: Walk,
    total: u32,
}

/// Reads where the walk is. Two reads; the first use ever creates the document.
pub async fn stand<K: Kv>(
    store: &Store<K>,
    now: Timestamp,
    entropy: &mut Entropy,
) -> Result<Stand, StoreError> {
    let fresh = Walk::beginning(0, now).encode();
    let node = store
        .document(NAME, &fresh, now.as_unix_ms(), entropy)
        .await?;
    Ok(Stand {
        walk: Walk::decode(node.payload(), now),
        node,
        total: store.layout().buckets(),
    })
}

impl Stand {
    /// The document's content.
    #[must_use]
    pub fn into_walk(self) -> Walk {
        self.walk
    }

    /// The buckets to visit next, so many at most.
    #[must_use]
    pub fn ahead(&self, count: u32) -> Buckets {
        self.walk.ahead(count, self.total)
    }

    /// Whether the walk has stood here for so long that somebody who visits these buckets may not live to say so.
    #[must_use]
    pub fn is_stuck(&self, now: Timestamp) -> bool {
        now.since(self.walk.moved_at) >= STANDSTILL
    }

    /// Moves the walk on behind these buckets, with what was seen there, and brings along what the witness has counted.
    /// Answers whether this call has done so: otherwise somebody else was faster. One write.
    pub async fn pass<K: Kv>(
        self,
        store: &Store<K>,
        (buckets, seen): (Buckets, Option<&Census>),
        witness: &dyn Witness,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<bool, StoreError> {
        let (total, place) = (self.total, (self.walk.next, self.walk.counted));
        let moved_at = self.walk.moved_at;
        let change = |walk: &mut Walk| {
            let is_here = (walk.next, walk.counted) == place && walk.moved_at == moved_at;
            if is_here {
                walk.pass(buckets, seen, total, now);
            }
            is_here
        };
        match self.swap(store, &change, witness, now, entropy).await {
            Ok(passed) => Ok(passed.is_some()),
            Err(StoreError::Contended) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Swaps the document for one with a change and with what the witness has counted, as long as `change` agrees.
    async fn swap<K: Kv>(
        mut self,
        store: &Store<K>,
        change: &dyn Fn(&mut Walk) -> bool,
        witness: &dyn Witness,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Option<Walk>, StoreError> {
        store.check_pace()?;
        let counts = witness.take();
        let mut end = Err(StoreError::Contended);
        for _ in 0..TURNS_MAX {
            let mut walk = self.walk;
            if !change(&mut walk) {
                end = Ok(None);
                break;
            }
            walk.counts.merge(&counts);
            let change = Change {
                payload: walk.encode(),
                expires_at_ms: NEVER,
            };
            let updated = store.update(&self.node, change, now.as_unix_ms(), entropy);
            match updated.await {
                Ok(Updated::Applied(_)) => return Ok(Some(walk)),
                Ok(Updated::Conflict(node)) => {
                    self.walk = Walk::decode(node.payload(), now);
                    self.node = node;
                }
                Ok(Updated::Gone) => {
                    let (key, why) = (NAME.to_owned(), "a document does not expire");
                    end = Err(StoreError::Corrupt { key, why });
                    break;
                }
                Err(error) => {
                    end = Err(error);
                    break;
                }
            }
        }
        witness.give_back(&counts);
        end
    }
}

/// Brings what the witness has counted into the document, and answers with all that was ever counted. One write.
///
/// After an error the witness has it back. Should the swap have been made all the same, it is counted twice.
pub async fn flush<K: Kv>(
    store: &Store<K>,
    witness: &dyn Witness,
    now: Timestamp,
    entropy: &mut Entropy,
) -> Result<Walk, StoreError> {
    let stand = stand(store, now, entropy).await?;
    let swapped = stand.swap(store, &|_| true, witness, now, entropy).await?;
    Ok(swapped.expect("the change always agrees"))
}
