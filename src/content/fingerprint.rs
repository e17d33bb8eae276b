//! Fingerprints: what makes two requests under one key the same request.
//!
//! A fingerprint is the SHA-256 of a text that no two different requests share: a version, the rule, and each part
//! behind its length. The length in front is what keeps two parts from running into each other, and absent from being
//! the same as empty. Stored records hold fingerprints, so another way to compute them needs another version.

use super::Content;
use super::json::{Json, JsonError};
use super::pointer;
use crate::config::FingerprintRule;
use crate::machine::Digest;
use sha2::{Digest as _, Sha256};
use std::fmt;

const VERSION: &[u8] = b"reprise fingerprint 1";

/// Why a request has no fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FingerprintError {
    /// The rule is about the JSON of the body, and the body is none that has one meaning.
    NotJson(JsonError),
}

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for FingerprintError {}

/// The fingerprint of a content by this rule. With a target, its method and its path with the query count too.
pub fn of(
    rule: &FingerprintRule,
    target: Option<(&str, &str)>,
    content: &Content<'_>,
) -> Result<Digest, FingerprintError> {
    let mut parts = Parts::new();
    match target {
        Some((method, path_and_query)) => {
            parts.add(b"target");
            parts.add(method.as_bytes());
            parts.add(path_and_query.as_bytes());
        }
        None => parts.add(b"no target"),
    }
    match rule {
        FingerprintRule::Raw => {
            parts.add(b"raw");
            parts.add(content.bytes());
        }
        FingerprintRule::CanonicalJson => {
            parts.add(b"canonical JSON");
            parts.add(&json_of(content)?.canonical());
        }
        FingerprintRule::Pointers(pointers) => {
            parts.add(b"pointers");
            let body = json_of(content)?;
            for path in pointers {
                parts.add(path.as_bytes());
                match pointer::find(body, path) {
                    Some(value) => {
                        parts.add(b"value");
                        parts.add(&value.canonical());
                    }
                    None => parts.add(b"absent"),
                }
            }
        }
    }
    Ok(parts.digest())
}

fn json_of<'a>(content: &'a Content<'_>) -> Result<&'a Json, FingerprintError> {
    let json = content.json();
    json.map_err(|error| FingerprintError::NotJson(error.clone()))
}

/// Parts that are told from each other by their lengths.
struct Parts(Sha256);

impl Parts {
    fn new() -> Self {
        let mut parts = Self(Sha256::new());
        parts.add(VERSION);
        parts
    }

    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn digest(self) -> Digest {
        Digest::new(self.0.finalize().into())
    }
}
