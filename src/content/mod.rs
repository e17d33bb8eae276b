//! What a request says: its JSON, read so that equal values are equal bytes, and the fingerprint that a key is bound
//! to.
//!
//! This module never sees a header and never decides what a fingerprint is held against.

use std::cell::OnceCell;

use self::json::{Json, JsonError};

pub mod fingerprint;
pub mod json;
pub mod pointer;

/// A body, with its JSON, which is read when somebody first asks for it.
#[derive(Debug)]
pub struct Content<'a> {
    bytes: &'a [u8],
    json: OnceCell<Result<Json, JsonError>>,
}

impl<'a> Content<'a> {
    /// The content of this body.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        let json = OnceCell::new();
        Self { bytes, json }
    }

    /// The body itself.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The JSON that it is, if it is JSON with one meaning.
    pub fn json(&self) -> Result<&Json, &JsonError> {
        let json = self.json.get_or_init(|| Json::parse(self.bytes));
        json.as_ref()
    }
}
