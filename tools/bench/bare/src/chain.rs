//! A bucket: its word, and the chain of nodes that hangs on it.

use crate::Failure;
use crate::record;
use crate::store::{Store, current, swap};

/// How often a creation begins anew because another one came first.
const TURNS_MAX: usize = 64;

/// The bucket of a new record: the leading bits of its pointer, which is drawn evenly. The reference layout has 2^14.
fn bucket_of(pointer: u64) -> u64 {
    (pointer >> 48) & 0x3fff
}

fn key(bucket: u64) -> String {
    format!("w/b/{bucket:05x}")
}

/// Reads the word of a bucket and its chain down to this node, or to its end. Gives what the word held.
pub(crate) async fn find(
    store: &Store,
    bucket: u64,
    pointer: u64,
) -> Result<Option<[u8; 8]>, Failure> {
    let word = word(store.get(&key(bucket)).await?)?;
    let mut next = word.map_or(0, u64::from_le_bytes);
    while next != 0 {
        let node = record::read(store, next).await?;
        if next == pointer {
            break;
        }
        next = record::next(&node)?;
    }
    Ok(word)
}

/// Creates a node of so many bytes at the top of its bucket's chain.
pub(crate) async fn create(store: &Store, pointer: u64, bytes: usize) -> Result<(), Failure> {
    let bucket = bucket_of(pointer);
    let key = key(bucket);
    for _ in 0..TURNS_MAX {
        let mut from = find(store, bucket, pointer).await?;
        let node = record::bytes(pointer, u64::from_le_bytes(from.unwrap_or_default()), bytes);
        store.set(&record::key(pointer), &node).await?;
        let cas = store.cas(&key)?;
        let mut seen = word(current(&cas)?)?;
        if seen.is_none() {
            store.increment(&key)?;
            seen = word(current(&cas)?)?;
            from = from.or(Some([0; 8]));
        }
        if seen == from && swap(cas, &pointer.to_le_bytes())? {
            return Ok(());
        }
    }
    Err("others always came first".to_owned())
}

fn word(value: Option<Vec<u8>>) -> Result<Option<[u8; 8]>, Failure> {
    value
        .map(|bytes| <[u8; 8]>::try_from(bytes).map_err(|_| "a word has eight bytes".to_owned()))
        .transpose()
}
