//! A node: as many bytes as one of Reprise, with the link where that has it.

use crate::Failure;
use crate::store::{Store, current, swap};

/// Where the link to the next older node is.
const NEXT: std::ops::Range<usize> = 8..16;

pub(crate) fn key(pointer: u64) -> String {
    format!("n/{pointer:016x}")
}

/// A node of this length, unlike every other.
pub(crate) fn bytes(pointer: u64, next: u64, length: usize) -> Vec<u8> {
    let mut node = vec![b'.'; length.max(24)];
    node[..8].copy_from_slice(&pointer.to_le_bytes());
    node[NEXT].copy_from_slice(&next.to_le_bytes());
    node
}

/// The link in a node.
pub(crate) fn next(node: &[u8]) -> Result<u64, Failure> {
    let link = node.get(NEXT).and_then(|link| link.try_into().ok());
    link.map(u64::from_le_bytes)
        .ok_or_else(|| "a node ends before its link".to_owned())
}

pub(crate) async fn read(store: &Store, pointer: u64) -> Result<Vec<u8>, Failure> {
    let node = store.get(&key(pointer)).await?;
    node.ok_or_else(|| format!("{} is not there", key(pointer)))
}

/// Swaps a node for one of another length.
pub(crate) fn update(store: &Store, pointer: u64, length: usize) -> Result<(), Failure> {
    let cas = store.cas(&key(pointer))?;
    let from = current(&cas)?.ok_or_else(|| format!("{} is gone", key(pointer)))?;
    let to = bytes(pointer, next(&from)?, length);
    if swap(cas, &to)? {
        Ok(())
    } else {
        Err(format!("somebody else has changed {}", key(pointer)))
    }
}
