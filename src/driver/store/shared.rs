//! Shared numbers: one word each, which every instance may change.

use sha2::{Digest, Sha256};

use super::word::WordSwap;
use super::{Store, StoreError, limits};
use crate::driver::kv::Kv;
use crate::machine::Hex;

impl<K: Kv> Store<K> {
    /// The shared number `name`. One read.
    pub async fn read_shared(&self, name: &str) -> Result<u64, StoreError> {
        Ok(self.read_word(&shared_key(name)).await?.number())
    }

    /// Changes the shared number `name`, which is 0 before its first change. One read, and one write unless `change`
    /// wants none; both again each time that somebody else came first.
    ///
    /// `change` gets the number as it is and returns what it is to be, or `None` to leave it. It is called anew for
    /// each turn and must never return the same number for two writers, or both believe that they have written it. It is behind a pointer so
    /// that the turns are compiled once and not for each change.
    pub async fn change_shared(
        &self,
        name: &str,
        change: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<(), StoreError> {
        self.change_word(&shared_key(name), change).await
    }

    /// One function for all changes: as many as there are would each be a part of the component.
    async fn change_word(
        &self,
        key: &str,
        change: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<(), StoreError> {
        for _ in 0..limits::MAX_TURNS {
            let word = self.read_word(key).await?;
            let Some(to) = change(word.number()) else {
                return Ok(());
            };
            if self.swap_word(key, word, to.cast_signed()).await? == WordSwap::Won {
                return Ok(());
            }
        }
        Err(StoreError::Contended)
    }
}

/// The key of a shared number. A name may be long and hold any character; its hash may be a key anywhere.
fn shared_key(name: &str) -> String {
    let mut start = [0; 16];
    start.copy_from_slice(&Sha256::digest(name)[..16]);
    format!("w/s/{}", Hex::new(start))
}
