//! What a request says: its JSON, read so that equal values are equal bytes, and the fingerprint that a key is bound
//! to.
//!
//! This module never sees a header and never decides what a fingerprint is held against.

pub mod fingerprint;
pub mod json;
pub mod pointer;
