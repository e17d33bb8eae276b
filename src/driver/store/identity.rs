//! What names a record: an identity for "the same operation", a pointer for its place in the store, a link to it.

use sha2::{Digest, Sha256};
use std::fmt;
use std::num::NonZeroU64;
use uuid::Uuid;

/// The identity of an operation: SHA-256 of what makes two requests the same operation.
///
/// It is computed once when a request enters and never again, so nothing later in the request can change it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity([u8; 32]);

impl Identity {
    /// The identity of a keyed operation. One key under two tenants or two operations is two identities.
    #[must_use]
    pub fn of_key(tenant: &[u8; 32], operation: &str, key: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"key");
        hash.update(tenant);
        // The length keeps ("ab", "c") apart from ("a", "bc").
        hash.update((operation.len() as u64).to_le_bytes());
        hash.update(operation);
        hash.update(key);
        Self(hash.finalize().into())
    }

    /// The identity of an operation without a key, which no other request can have.
    #[must_use]
    pub fn of_id(id: Uuid) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"id");
        hash.update(id.as_bytes());
        Self(hash.finalize().into())
    }

    /// The identity of an event that came in. An id is unique within its source, and each inbox counts for itself.
    #[must_use]
    pub fn of_event(inbox: &str, source: &str, id: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"event");
        for part in [inbox, source, id] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The identity of the document of this name.
    pub(super) fn of_document(name: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"document");
        hash.update(name);
        Self(hash.finalize().into())
    }

    /// The bucket of this identity: its leading bits. Of none of them there is one bucket.
    pub(super) fn bucket(&self, bits: u8) -> u32 {
        self.leading_bits()
            .checked_shr(32 - u32::from(bits))
            .unwrap_or(0)
    }

    fn leading_bits(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }

    /// The hash itself.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Identity {
    fn from(hash: [u8; 32]) -> Self {
        Self(hash)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({:08x}…)", self.leading_bits())
    }
}

/// The place of a node: the low 62 bits of its record's id, which in a `UUIDv7` are random. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pointer(NonZeroU64);

impl Pointer {
    const BITS: u64 = (1 << 62) - 1;

    /// The pointer of a record's id, or `None` for the one id in 2^62 that has none.
    #[must_use]
    pub fn of(id: Uuid) -> Option<Self> {
        let (_, low) = id.as_u64_pair();
        Self::from_raw(low & Self::BITS)
    }

    /// The pointer with this value, or `None` when it is 0 or has more than 62 bits.
    pub(super) fn from_raw(raw: u64) -> Option<Self> {
        NonZeroU64::new(raw)
            .filter(|raw| raw.get() <= Self::BITS)
            .map(Self)
    }

    pub(super) const fn raw(self) -> u64 {
        self.0.get()
    }

    /// The key of the node.
    pub(super) fn key(self) -> String {
        format!("n/{:016x}", self.0)
    }
}

/// What a word or a node names as the next older node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Link {
    /// Nothing: the chain begins here.
    End,
    /// The next older node.
    To(Pointer),
    /// A node that a purge has cut off. Readers stop here; a purge goes on, to delete what is left behind it.
    Cut(Pointer),
}

impl Link {
    const CUT: u64 = 1 << 63;

    /// The link in eight bytes. No two links of one chain's history are equal, because no pointer comes twice.
    pub(super) const fn raw(self) -> u64 {
        match self {
            Self::End => 0,
            Self::To(pointer) => pointer.raw(),
            Self::Cut(pointer) => pointer.raw() | Self::CUT,
        }
    }

    /// The link with this value, or `None` when it is none.
    pub(super) fn from_raw(raw: u64) -> Option<Self> {
        match raw {
            0 => Some(Self::End),
            _ if raw & Self::CUT == 0 => Pointer::from_raw(raw).map(Self::To),
            _ => Pointer::from_raw(raw & !Self::CUT).map(Self::Cut),
        }
    }

    /// The node that a reader goes on to.
    pub(super) const fn next(self) -> Option<Pointer> {
        match self {
            Self::To(pointer) => Some(pointer),
            Self::End | Self::Cut(_) => None,
        }
    }

    /// The node that a purge goes on to once the chain above it is cut.
    pub(super) const fn remains(self) -> Option<Pointer> {
        match self {
            Self::To(pointer) | Self::Cut(pointer) => Some(pointer),
            Self::End => None,
        }
    }
}
