//! What is fixed when an operation is submitted.
//!
//! Records share their origin instead of copying it, and nothing hands it out for change: no later step can alter
//! what a key, a tenant or a fingerprint is compared with.

use serde::Serialize;
use uuid::Uuid;

use super::hex::{Digest, TraceId};
use super::message::{Input, Name};
use super::time::Timestamp;
use reprise_json::cursor::from_object;

/// Everything that an operation's whole life leaves as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// Who asked for what.
    pub identity: Identity,
    /// The request as it came, apart from anything that was made of it.
    pub input: Input,
    /// The trace of the request that created the operation.
    pub trace: Option<TraceId>,
    /// When it was submitted.
    pub created_at: Timestamp,
}

/// What tells one operation from another, and a repeat from a misuse of its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// The record's own name, a version 7 UUID.
    pub id: Uuid,
    /// The configured operation.
    pub operation: Name,
    /// Whose keys these are.
    pub tenant: Digest,
    /// The client's key; `None` where a request came without one, which makes it unlike any other.
    pub key: Option<Digest>,
    /// What a repeat has to match.
    pub fingerprint: Digest,
}

from_object!(Origin {
    identity,
    input,
    trace,
    created_at
});

from_object!(Identity {
    id,
    operation,
    tenant,
    key,
    fingerprint
});
