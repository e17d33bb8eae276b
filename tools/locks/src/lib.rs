//! Locks of files: who uses a store's file, and which folders belong to nobody any more.
//!
//! A lock belongs to an open file and ends with the process however that ends, so a killed one needs no clean-up of its
//! own. The host and `cargo xtask` share these, because each has to notice the other.

pub mod place;
pub mod sole;
