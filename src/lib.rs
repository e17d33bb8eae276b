//! Reprise makes a POST safe to repeat.

pub mod driver;
pub mod machine;
