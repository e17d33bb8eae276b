//! Creation: of any number of concurrent first requests for one identity exactly one creates.

use super::identity::Link;
use super::look::{Own, Sight};
use super::node::Node;
use super::word::{WordSwap, bucket_key};
use super::{Identity, Pointer, Store, StoreError, Updated, Vacancy, limits};
use crate::driver::entropy::Entropy;
use crate::driver::kv::Kv;
use uuid::Uuid;

/// A record to create.
#[derive(Debug, Clone)]
pub struct NewRecord {
    /// Its id, a `UUIDv7` that was never used before.
    pub id: Uuid,
    /// What makes another request the same operation.
    pub identity: Identity,
    /// From when on it counts as absent, in milliseconds since the Unix epoch, or [`super::NEVER`].
    pub expires_at_ms: u64,
    /// The record in its stored form.
    pub payload: Vec<u8>,
}

/// The answer to a creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// This call created the record, and nobody else did.
    New(Node),
    /// The identity has a live record already. Nothing was changed.
    Exists(Node),
}

impl<K: Kv> Store<K> {
    /// Creates a record unless its identity has a live one at `now_ms`.
    ///
    /// Two writes; one more for the first record of a bucket, one more when the key's last use has expired but was not
    /// purged, and one or two for each time that another creation in the same bucket comes in between.
    ///
    /// A store that is too slow for a creation is left as it is. After [`StoreError::Unavailable`] the record may exist
    /// or come to exist; the same identity then answers it.
    pub async fn create(
        &self,
        new: &NewRecord,
        now_ms: u64,
        entropy: &mut Entropy,
    ) -> Result<Created, StoreError> {
        self.create_at(Vacancy::default(), new, now_ms, entropy)
            .await
    }

    /// [`Store::create`] that begins with what was seen of the record's place.
    pub async fn create_at(
        &self,
        vacancy: Vacancy,
        new: &NewRecord,
        now_ms: u64,
        entropy: &mut Entropy,
    ) -> Result<Created, StoreError> {
        let Some(pointer) = Pointer::of(new.id) else {
            let why = "an id whose random bits are all zero names no node";
            return Err(StoreError::Corrupt {
                key: new.id.to_string(),
                why,
            });
        };
        let key = bucket_key(new.identity.bucket(self.layout.bucket_bits()));
        let mut node = Node {
            pointer,
            sealed: false,
            next: Link::End,
            revision: 0,
            writers: [entropy.next_u64(), 0, 0, 0],
            id: new.id,
            identity: new.identity,
            expires_at_ms: new.expires_at_ms,
            payload: new.payload.clone(),
        };
        let mut written = false;
        let mut seen = vacancy.look(&new.identity);
        for _ in 0..limits::MAX_TURNS {
            let own = written.then_some(pointer);
            let look = match seen.take() {
                Some(look) => look,
                None => self.look(&new.identity, own, now_ms).await?,
            };
            // A swap that we could not account for may have published the node after all. Others may have used it
            // since, or even have found it expired, sealed and purged it: it was created, and is never written again.
            match look.own {
                Own::Unpublished => {}
                Own::Published(node) => return Ok(Created::New(node)),
                Own::Purged => return Ok(Created::New(node)),
            }
            if !written && !matches!(look.sight, Sight::Live(_)) {
                self.check_pace()?;
            }
            match look.sight {
                Sight::Live(found) => {
                    // Ours is not in the chain, and no delayed swap can still put it there: see the module's header.
                    if written {
                        self.kv.delete(&pointer.key()).await?;
                    }
                    return Ok(Created::Exists(found));
                }
                Sight::Expired(found) => {
                    if !self.seal(&found, entropy).await? {
                        continue;
                    }
                }
                Sight::Absent => {}
            }
            if look.length >= limits::MAX_CHAIN_TO_CREATE {
                return Err(StoreError::Crowded);
            }
            node.next = look.head.link(&key)?;
            self.kv.set(&pointer.key(), &node.encode()?).await?;
            written = true;
            let to = Link::To(pointer).raw().cast_signed();
            if self.swap_word(&key, look.head, to).await? == WordSwap::Won {
                return Ok(Created::New(node));
            }
        }
        Err(StoreError::Contended)
    }

    /// Makes an expired node final, so that an update which was begun before cannot revive it. Answers whether it is.
    async fn seal(&self, node: &Node, entropy: &mut Entropy) -> Result<bool, StoreError> {
        let mut sealed = node.changed(entropy.next_u64(), node.expires_at_ms, Vec::new());
        sealed.sealed = true;
        Ok(matches!(
            self.rewrite(node, sealed).await?,
            Updated::Applied(_)
        ))
    }
}
