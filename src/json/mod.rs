//! JSON with little code around it: what we have stored is read through one tree of values, and what others have written
//! is passed on as they wrote it.
//!
//! What JSON means, where two texts may mean the same, is the business of the `content` module.

pub mod raw;
pub mod tree;
