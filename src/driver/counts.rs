//! Counts: how often things have happened, each under a name.
//!
//! A name is words with spaces between them, such as `attempts charge succeeded`. Words come from the code and from the
//! configuration, never from a client, so there are few. Counts of several instances are added up; what one of another
//! version has counted is kept, whatever its name is.

use serde::Serialize;

use crate::json::cursor::{Cursor, FromJson, Misfit};
use crate::sorted::Sorted;

/// Names that are counted. A configuration with a hundred operations has as many; names that were configured once stay,
/// so there has to be a bound. What comes after it is not counted.
const NAMES_MAX: usize = 4_096;

/// Numbers by name; what has no number is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Counts(Sorted<String, u64>);

impl Counts {
    /// Counts something.
    pub fn add(&mut self, name: &str, times: u64) {
        if let Some(count) = self.0.get_mut(name) {
            *count = count.saturating_add(times);
        } else if times > 0 && self.0.len() < NAMES_MAX {
            self.0.insert(name.to_owned(), times);
        }
    }

    /// Adds everything that others have counted.
    pub fn merge(&mut self, others: &Self) {
        for (name, times) in others.0.iter() {
            self.add(name, *times);
        }
    }

    /// How often this has happened.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// All names with their numbers, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }
}

impl FromJson for Counts {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        Sorted::from_json(cursor).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_never_overflow() {
        let (mut one, mut two) = (Counts::default(), Counts::default());
        one.add("a x", 2);
        one.add("b y", 0);
        two.add("a x", 3);
        two.add("c z", u64::MAX);
        two.add("c z", 1);
        one.merge(&two);
        let all: Vec<_> = one.iter().collect();
        assert_eq!(all, [("a x", 5), ("c z", u64::MAX)]);
        assert_eq!((one.of("a x"), one.of("b y")), (5, 0));
    }

    #[test]
    fn there_is_room_for_so_many_names_and_no_more() {
        let mut counts = Counts::default();
        for number in 0..NAMES_MAX + 10 {
            counts.add(&format!("name {number:05}"), 1);
        }
        counts.add("name 00000", 1);
        assert_eq!(counts.iter().count(), NAMES_MAX);
        assert_eq!(counts.of("name 00000"), 2);
        assert_eq!(counts.of(&format!("name {NAMES_MAX:05}")), 0);
    }
}
