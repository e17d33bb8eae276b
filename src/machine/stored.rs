//! The stored form of a record: JSON, with the version of the form in front.
//!
//! A reader knows its own version and refuses any other. It also refuses fields that it does not know: an instance
//! that ignored them would drop them with its next write, and what a newer instance had noted would be gone. A new field
//! is therefore a new version, and a newer reader goes on reading the older ones.
//!
//! The store adds what it needs (revision, nonce, expiry) around these bytes and never looks inside.

use core::fmt;

use serde::Serialize;

use super::limits;
use super::record::Record;
use reprise_json::cursor::{self, Unread};

/// The version that is written. Version 2 has the reasons in the history; without them its records are those of version 1.
pub const VERSION: u64 = 2;
/// The oldest version that is read.
pub const VERSION_OLDEST: u64 = 1;

/// Why bytes are not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// There are more bytes than any record has.
    TooLarge {
        /// How many there are.
        bytes: usize,
    },
    /// They are of a version that this reader does not know.
    UnknownVersion {
        /// The version that they name.
        found: u64,
    },
    /// They are not the JSON of a record.
    Malformed {
        /// What is wrong, for people.
        problem: String,
    },
    /// They are the JSON of a record that this machine cannot have written.
    Inconsistent {
        /// What does not fit together.
        problem: &'static str,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(f, "{bytes} bytes are more than a record has"),
            Self::UnknownVersion { found } => write!(
                f,
                "the record is of version {found}, this reader knows {VERSION_OLDEST} to {VERSION}"
            ),
            Self::Malformed { problem } => write!(f, "not a record: {problem}"),
            Self::Inconsistent { problem } => write!(f, "an impossible record: {problem}"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// The bytes to store for `record`. They always fit; see `limits`.
pub fn encode(record: &Record) -> Vec<u8> {
    serde_json::to_vec(&Envelope { v: VERSION, record })
        .expect("a record has no map keys that JSON lacks")
}

/// Reads a record from stored bytes, whatever they are.
pub fn decode(bytes: &[u8]) -> Result<Record, DecodeError> {
    if bytes.len() > limits::RECORD_BYTES_MAX {
        return Err(DecodeError::TooLarge { bytes: bytes.len() });
    }
    let versions = VERSION_OLDEST..=VERSION;
    let read = cursor::versioned(bytes, versions, |envelope| envelope.take("record"));
    let record: Record = read.map_err(|unread| match unread {
        Unread::OtherVersion(found) => DecodeError::UnknownVersion { found },
        Unread::Malformed(misfit) => DecodeError::Malformed {
            problem: misfit.to_string(),
        },
    })?;
    match record.problem() {
        None => Ok(record),
        Some(problem) => Err(DecodeError::Inconsistent { problem }),
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    v: u64,
    record: &'a Record,
}
