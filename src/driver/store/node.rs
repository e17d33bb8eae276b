//! Nodes: one record each, and the link to the next older node of the chain.
//!
//! ```text
//!  0        4      5       8        16         24            56     72         104          112
//!  │ "RPN1" │ flags │ zeros │ next   │ revision │ writers (4) │ id   │ identity │ expires_at │ payload …
//! ```
//!
//! Numbers are little-endian. The link and the record change for different reasons, so only a change of the record
//! moves `revision`: a purge that shortens the chain under a running attempt must not fence that attempt off.

use super::identity::Link;
use super::{Identity, Pointer, Store, StoreError, limits};
use crate::driver::kv::Kv;
use uuid::Uuid;

/// The expiry of a record that is not finished: it does not expire.
pub const NEVER: u64 = u64::MAX;

/// How many writers a node remembers. An update whose outcome the store misreported is recognised as long as fewer
/// than this many others came in between its write and its read-back.
const WRITERS: usize = 4;
const MAGIC: &[u8; 4] = b"RPN1";
const FLAG_SEALED: u8 = 1;
const HEAD_BYTES: usize = 112;

/// A node as it was read: the record, its revision and its place in the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    pub(super) pointer: Pointer,
    pub(super) sealed: bool,
    pub(super) next: Link,
    pub(super) revision: u64,
    /// The nonces of the last writers, newest first; `writers[0]` wrote this revision.
    pub(super) writers: [u64; WRITERS],
    pub(super) id: Uuid,
    pub(super) identity: Identity,
    pub(super) expires_at_ms: u64,
    pub(super) payload: Vec<u8>,
}

impl Node {
    /// The id of the record.
    #[must_use]
    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// The identity under which the record was created.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// How often the record was changed since it was created.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// From when on the record counts as absent, in milliseconds since the Unix epoch, or [`NEVER`].
    #[must_use]
    pub const fn expires_at_ms(&self) -> u64 {
        self.expires_at_ms
    }

    /// The record in its stored form, which this layer does not interpret.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Whether the record is there for readers at this time.
    #[must_use]
    pub const fn is_live(&self, now_ms: u64) -> bool {
        !self.sealed && now_ms < self.expires_at_ms
    }

    pub(super) const fn is_sealed(&self) -> bool {
        self.sealed
    }

    pub(super) const fn pointer(&self) -> Pointer {
        self.pointer
    }

    /// The node after one more change of its record by the writer with this nonce.
    pub(super) fn changed(&self, nonce: u64, expires_at_ms: u64, payload: Vec<u8>) -> Self {
        let [a, b, c, _] = self.writers;
        Self {
            pointer: self.pointer,
            sealed: self.sealed,
            next: self.next,
            revision: self.revision + 1,
            writers: [nonce, a, b, c],
            id: self.id,
            identity: self.identity,
            expires_at_ms,
            payload,
        }
    }

    /// The bytes to store.
    pub(super) fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let size = HEAD_BYTES + self.payload.len();
        if size > limits::MAX_VALUE_BYTES {
            return Err(StoreError::TooLarge { bytes: size });
        }
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[if self.sealed { FLAG_SEALED } else { 0 }, 0, 0, 0]);
        bytes.extend_from_slice(&self.next.raw().to_le_bytes());
        bytes.extend_from_slice(&self.revision.to_le_bytes());
        for writer in self.writers {
            bytes.extend_from_slice(&writer.to_le_bytes());
        }
        bytes.extend_from_slice(self.id.as_bytes());
        bytes.extend_from_slice(self.identity.as_bytes());
        bytes.extend_from_slice(&self.expires_at_ms.to_le_bytes());
        bytes.extend_from_slice(&self.payload);
        Ok(bytes)
    }

    /// Reads a node's bytes. Anything that [`Node::encode`] cannot have written is refused with the reason.
    pub(super) fn decode(pointer: Pointer, bytes: Vec<u8>) -> Result<Self, StoreError> {
        Self::parse(pointer, bytes).map_err(|why| StoreError::Corrupt {
            key: pointer.key(),
            why,
        })
    }

    fn parse(pointer: Pointer, mut bytes: Vec<u8>) -> Result<Self, &'static str> {
        let mut rest = &bytes[..];
        if take::<4>(&mut rest)? != *MAGIC {
            return Err("it does not begin as a node does");
        }
        let sealed = match take::<4>(&mut rest)? {
            [0, 0, 0, 0] => false,
            [FLAG_SEALED, 0, 0, 0] => true,
            _ => return Err("it has flags that this version does not know"),
        };
        let next = Link::from_raw(take_u64(&mut rest)?).ok_or("its link is not a link")?;
        let revision = take_u64(&mut rest)?;
        if revision == u64::MAX {
            return Err("its revision is one that no node comes to");
        }
        let mut writers = [0; WRITERS];
        for writer in &mut writers {
            *writer = take_u64(&mut rest)?;
        }
        let id = Uuid::from_bytes(take::<16>(&mut rest)?);
        if Pointer::of(id) != Some(pointer) {
            return Err("its record belongs under another key");
        }
        let identity = Identity::from(take::<32>(&mut rest)?);
        let expires_at_ms = take_u64(&mut rest)?;
        // What is left is the payload, which keeps its place in memory but for its head.
        bytes.drain(..HEAD_BYTES);
        Ok(Self {
            pointer,
            sealed,
            next,
            revision,
            writers,
            id,
            identity,
            expires_at_ms,
            payload: bytes,
        })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], &'static str> {
    let (head, tail) = rest.split_first_chunk::<N>().ok_or("it ends too early")?;
    *rest = tail;
    Ok(*head)
}

fn take_u64(rest: &mut &[u8]) -> Result<u64, &'static str> {
    take::<8>(rest).map(u64::from_le_bytes)
}

/// Whether a walk goes on to the next older node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// It does.
    On,
    /// This node was the last one.
    Stop,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walked {
    /// At the end of the chain, whose last link is this, or where the visitor stopped it.
    Whole(Link),
    /// At a node that is gone: a purge has cut the chain since the walk began, or the node is lost.
    Broken(Pointer),
}

impl<K: Kv> Store<K> {
    /// Reads a node. One read.
    pub(super) async fn read_node(&self, pointer: Pointer) -> Result<Option<Node>, StoreError> {
        let bytes = self.kv.get(&pointer.key()).await?;
        bytes.map(|bytes| Node::decode(pointer, bytes)).transpose()
    }

    /// Visits the nodes of a chain, newest first, at most `longest` of them. One read a node. The visitor is behind a
    /// pointer, here and where purges pass theirs on, so that the walk is compiled once and not for each of them.
    pub(super) async fn walk(
        &self,
        from: Link,
        longest: usize,
        visit: &mut dyn FnMut(Node) -> Walk,
    ) -> Result<Walked, StoreError> {
        let mut link = from;
        let mut length = 0;
        let mut circle = Circle::default();
        while let Some(pointer) = link.next() {
            length += 1;
            if length > longest || circle.closes_at(pointer) {
                let why = "the chain that leads here is a circle, or longer than any that we build";
                return Err(StoreError::Corrupt {
                    key: pointer.key(),
                    why,
                });
            }
            let Some(node) = self.read_node(pointer).await? else {
                return Ok(Walked::Broken(pointer));
            };
            link = node.next;
            if matches!(visit(node), Walk::Stop) {
                break;
            }
        }
        Ok(Walked::Whole(link))
    }
}

/// Notices a chain that leads back into itself. None of ours does; values that are not ours may, and a chain that is read
/// without an end reads for minutes before it is the longest that there can be.
///
/// Whoever goes round in a circle comes by each of its nodes, so also by the one that was met last at a power of two steps
/// (Brent's algorithm). It takes three times as many steps as there are nodes at the most.
#[derive(Debug, Default)]
pub(super) struct Circle {
    steps: usize,
    met: Option<Pointer>,
}

impl Circle {
    /// Goes one step on, to this node. Whether it was come by before.
    pub(super) fn closes_at(&mut self, pointer: Pointer) -> bool {
        let closes = self.met == Some(pointer);
        self.steps += 1;
        if self.steps.is_power_of_two() {
            self.met = Some(pointer);
        }
        closes
    }
}

/// The walks of one chain that broke off. A purge cuts before it deletes, so the next walk goes another way; a walk
/// that ends at the same missing node time and again has met one that is lost.
#[derive(Debug, Default)]
pub(super) struct BrokenWalks {
    at: Option<Pointer>,
    times: u32,
}

impl BrokenWalks {
    /// Notes one more walk that broke off here.
    pub(super) fn note(&mut self, pointer: Pointer) -> Result<(), StoreError> {
        self.times = if self.at == Some(pointer) {
            self.times + 1
        } else {
            1
        };
        self.at = Some(pointer);
        if self.times < limits::MAX_BROKEN_WALKS {
            return Ok(());
        }
        let why = "a chain names it, but it is not there";
        Err(StoreError::Corrupt {
            key: pointer.key(),
            why,
        })
    }
}
