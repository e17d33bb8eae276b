//! JSON with little code around it: what we have stored is read in one pass, and what others have written is passed on as
//! they wrote it. Beside it are maps of a few entries, which are stored too.
//!
//! This is a crate of its own because it is compiled for speed, unlike most of the component: every request reads what is
//! stored. What JSON means, where two texts may mean the same, is the business of the `content` module.

pub mod cursor;
pub mod raw;
pub mod sorted;
