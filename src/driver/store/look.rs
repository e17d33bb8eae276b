//! Look-ups: what there is under an identity, and where a record would be that is not there.

use super::identity::Link;
use super::node::{BrokenWalks, Circle, Walked};
use super::word::{Word, bucket_key};
use super::{Identity, Node, Pointer, Store, StoreError, Walk, limits};
use crate::driver::kv::Kv;

impl<K: Kv> Store<K> {
    /// The record of an identity, or its place when it was never created or has expired at `now_ms`.
    ///
    /// Reads the bucket's word and the chain down to the record.
    pub async fn seek(&self, identity: &Identity, now_ms: u64) -> Result<Sought<Node>, StoreError> {
        let look = self.look(identity, None, now_ms).await?;
        Ok(match look.sight {
            Sight::Live(node) => Sought::There(node),
            // What has expired is sealed before its key is used again, which is a creation's.
            Sight::Expired(_) => Sought::Nothing(Vacancy::default()),
            Sight::Absent => Sought::Nothing(Vacancy(Some(Seen {
                identity: *identity,
                head: look.head,
                length: look.length,
            }))),
        })
    }

    /// [`Store::seek`] for who has no use for the place.
    pub async fn find(&self, identity: &Identity, now_ms: u64) -> Result<Option<Node>, StoreError> {
        Ok(match self.seek(identity, now_ms).await? {
            Sought::There(node) => Some(node),
            Sought::Nothing(_) => None,
        })
    }

    /// The record with this id, or `None` when there is none or it has expired at `now_ms`. One read.
    pub async fn load(&self, id: uuid::Uuid, now_ms: u64) -> Result<Option<Node>, StoreError> {
        let Some(pointer) = Pointer::of(id) else {
            return Ok(None);
        };
        let node = self.read_node(pointer).await?;
        Ok(node.filter(|node| node.id() == id && node.is_live(now_ms)))
    }

    /// Looks an identity up. With `own`, the whole chain is walked, and what was cut off it, to learn whether that node
    /// was ever published.
    pub(super) async fn look(
        &self,
        identity: &Identity,
        own: Option<Pointer>,
        now_ms: u64,
    ) -> Result<Look, StoreError> {
        let key = bucket_key(identity.bucket(self.layout.bucket_bits()));
        let mut broken = BrokenWalks::default();
        for _ in 0..limits::MAX_TURNS {
            let head = self.read_word(&key).await?;
            let mut look = Look {
                head,
                sight: Sight::Absent,
                own: Own::Unpublished,
                length: 0,
            };
            let mut met = false;
            let walked = self
                .walk(head.link(&key)?, limits::MAX_CHAIN, &mut |node| {
                    look.length += 1;
                    if own == Some(node.pointer()) {
                        look.own = Own::Published(node.clone());
                    }
                    if !met && node.identity() == identity {
                        // The newest node of an identity decides: an older one was expired when this was pushed.
                        met = true;
                        look.sight = Sight::of(node, now_ms);
                    }
                    if met && own.is_none() {
                        Walk::Stop
                    } else {
                        Walk::On
                    }
                })
                .await?;
            match walked {
                Walked::Whole(end) => {
                    if let (Some(own), Own::Unpublished) = (own, &look.own)
                        && self.was_cut_off(own, end).await?
                    {
                        look.own = Own::Purged;
                    }
                    return Ok(look);
                }
                // A purge deleted what we were about to read: the chain is shorter now, so start again.
                Walked::Broken(pointer) => broken.note(pointer)?,
            }
        }
        Err(StoreError::Contended)
    }

    /// Whether a node that is not in its chain was there, and a purge has cut it off.
    ///
    /// It then hangs behind the chain's cut end, or is deleted already; nobody else deletes it. The oldest is deleted
    /// first, so a node that the remains do not lead to any more is gone by the time that it is looked for.
    async fn was_cut_off(&self, own: Pointer, end: Link) -> Result<bool, StoreError> {
        let mut at = end.remains();
        let mut length = 0;
        let mut circle = Circle::default();
        while let Some(pointer) = at
            && length < limits::MAX_CHAIN_TO_PURGE
            && !circle.closes_at(pointer)
        {
            if pointer == own {
                return Ok(true);
            }
            length += 1;
            at = self
                .read_node(pointer)
                .await?
                .and_then(|node| node.next.remains());
        }
        Ok(self.read_node(own).await?.is_none())
    }
}

/// What there is under an identity.
#[derive(Debug)]
pub enum Sought<T> {
    /// A record, or what became of it.
    There(T),
    /// None, and where it would be.
    Nothing(Vacancy),
}

/// Where a record would be that is not there, as it was seen. A creation begins with that and looks again only when
/// somebody else has created something in the same bucket since: any such change swaps the bucket's word, and no value
/// of it comes back.
///
/// The default is one that was not looked for, or has to be looked at again.
#[derive(Debug, Default)]
pub struct Vacancy(Option<Seen>);

#[derive(Debug)]
struct Seen {
    identity: Identity,
    head: Word,
    length: usize,
}

impl Vacancy {
    /// What a look-up saw of the place of this identity.
    pub(super) fn look(self, of: &Identity) -> Option<Look> {
        let Seen {
            identity,
            head,
            length,
        } = self.0?;
        assert!(identity == *of, "a vacancy is that of its identity");
        Some(Look {
            head,
            sight: Sight::Absent,
            own: Own::Unpublished,
            length,
        })
    }
}

/// What a look-up of an identity saw.
pub(super) struct Look {
    /// The bucket's word as it was when the walk began.
    pub(super) head: Word,
    pub(super) sight: Sight,
    /// What became of the node that the caller asked for.
    pub(super) own: Own,
    /// How many nodes were walked.
    pub(super) length: usize,
}

/// What became of a node whose publication is in doubt.
pub(super) enum Own {
    /// No word ever led to it, or nobody asked.
    Unpublished,
    /// It is in its chain, as it now is.
    Published(Node),
    /// It was in its chain, has expired and was purged.
    Purged,
}

/// The newest node of an identity.
pub(super) enum Sight {
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
