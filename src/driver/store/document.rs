//! Documents: single records under a name, which live as long as the store.
//!
//! A document has a word of its own, apart from all buckets. In a bucket it would keep every newer record of its chain
//! from being purged, because a purge cuts the tail alone. The word is swapped once, from nothing to the document's node,
//! and never again; changes go to the node, through [`Store::update`].

use sha2::{Digest, Sha256};

use super::identity::Link;
use super::node::{NEVER, Node};
use super::word::{Word, WordSwap};
use super::{Identity, Pointer, Store, StoreError, limits};
use crate::driver::entropy::Entropy;
use crate::driver::kv::Kv;
use crate::machine::Hex;

impl<K: Kv> Store<K> {
    /// The document of this name, if there is one. Two reads.
    pub async fn find_document(&self, name: &str) -> Result<Option<Node>, StoreError> {
        let key = document_key(name);
        let word = self.read_word(&key).await?;
        self.read_document(name, &key, word).await
    }

    /// The document of this name. The first use ever creates it, with this payload, which costs three writes.
    ///
    /// After [`StoreError::Unavailable`] it may exist or come to exist, as this call or another one wrote it.
    pub async fn document(
        &self,
        name: &str,
        payload: &[u8],
        now_ms: u64,
        entropy: &mut Entropy,
    ) -> Result<Node, StoreError> {
        let key = document_key(name);
        let mut own: Option<Node> = None;
        for _ in 0..limits::MAX_TURNS {
            let head = self.read_word(&key).await?;
            if let Some(found) = self.read_document(name, &key, head).await? {
                // A word that was swapped once is never swapped again: what we wrote and do not find there is lost.
                if let Some(own) = own.filter(|own| own.pointer != found.pointer) {
                    self.kv.delete(&own.pointer.key()).await?;
                }
                return Ok(found);
            }
            let node = match &own {
                Some(node) => node,
                None => own.insert(new_document(name, payload, now_ms, entropy)?),
            };
            self.kv.set(&node.pointer.key(), &node.encode()?).await?;
            let to = Link::To(node.pointer).raw().cast_signed();
            if self.swap_word(&key, head, to).await? == WordSwap::Won {
                return Ok(node.clone());
            }
        }
        Err(StoreError::Contended)
    }

    async fn read_document(
        &self,
        name: &str,
        key: &str,
        word: Word,
    ) -> Result<Option<Node>, StoreError> {
        let Some(pointer) = word.link(key)?.next() else {
            return Ok(None);
        };
        let corrupt = |why| StoreError::Corrupt {
            key: key.to_owned(),
            why,
        };
        match self.read_node(pointer).await? {
            Some(node) if *node.identity() == Identity::of_document(name) => Ok(Some(node)),
            Some(_) => Err(corrupt("it leads to another document")),
            None => Err(corrupt("it leads to a document that is not there")),
        }
    }
}

fn new_document(
    name: &str,
    payload: &[u8],
    now_ms: u64,
    entropy: &mut Entropy,
) -> Result<Node, StoreError> {
    let id = entropy.next_uuid(now_ms);
    let Some(pointer) = Pointer::of(id) else {
        let why = "an id whose random bits are all zero names no node";
        return Err(StoreError::Corrupt {
            key: id.to_string(),
            why,
        });
    };
    Ok(Node {
        pointer,
        sealed: false,
        next: Link::End,
        revision: 0,
        writers: [entropy.next_u64(), 0, 0, 0],
        id,
        identity: Identity::of_document(name),
        expires_at_ms: NEVER,
        payload: payload.to_vec(),
    })
}

/// The key of a document's word. A name may be long and hold any character; its hash may be a key anywhere.
fn document_key(name: &str) -> String {
    let mut start = [0; 16];
    start.copy_from_slice(&Sha256::digest(name)[..16]);
    format!("w/d/{}", Hex::new(start))
}
