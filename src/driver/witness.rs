//! The witness: who hears of what has happened, to count it and to write it down.
//!
//! The driver reports what is in the store, from record to record; what that is called and who reads it is not its
//! business. A report costs nothing but the call.

use std::fmt;

use super::counts::Counts;
use super::store::StoreError;
use crate::machine::{Record, Timestamp};

/// Something that has happened.
#[derive(Debug, Clone, Copy)]
pub enum Fact<'a> {
    /// A record was created, or changed from what it was before. It is in the store.
    Written {
        /// As it was; `None` where there was none.
        before: Option<&'a Record>,
        /// As it is.
        after: &'a Record,
    },
    /// The retry budget of this name was too empty for a retry.
    BudgetRefused {
        /// What shares it.
        budget: &'a str,
    },
    /// The store has failed at something that nobody waits for.
    StoreFailed(&'a StoreError),
}

/// Who hears of it.
pub trait Witness {
    /// Hears of a fact, and when it was.
    fn note(&self, fact: Fact<'_>, now: Timestamp);

    /// What was counted and is not in the store yet. Who takes it brings it there, or gives it back.
    fn take(&self) -> Counts;

    /// Takes back what could not be brought to the store.
    fn give_back(&self, counts: &Counts);
}

impl fmt::Debug for dyn Witness + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Witness")
    }
}

/// Nobody.
impl Witness for () {
    fn note(&self, _: Fact<'_>, _: Timestamp) {}

    fn take(&self) -> Counts {
        Counts::default()
    }

    fn give_back(&self, _: &Counts) {}
}
