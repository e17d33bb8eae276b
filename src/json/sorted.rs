//! A map for what there are few of: pairs in the order of their keys.
//!
//! For each type of key and value, the code of a B-tree is many times that of a list, and a component is loaded with all
//! of its code. A list takes as long as it has entries to make room for one more.

use std::borrow::Borrow;
use std::ops::Index;

use serde::{Serialize, Serializer};

/// A map whose entries are a list, sorted by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sorted<K, V>(Vec<(K, V)>);

impl<K, V> Default for Sorted<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> Sorted<K, V> {
    /// A map without entries.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The entries, with values that may be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Sorted<K, V> {
    /// The value of this key.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let index = self.find(key).ok()?;
        Some(&self.0[index].1)
    }

    /// Whether there is an entry of this key.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Adds an entry, and gives back the value that its key had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(index) => Some(std::mem::replace(&mut self.0[index].1, value)),
            Err(index) => {
                self.0.insert(index, (key, value));
                None
            }
        }
    }

    /// The value of this key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let index = self.find(key).ok()?;
        Some(&mut self.0[index].1)
    }

    /// The value of this key, which is made where there was none.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let index = self.find(&key).unwrap_or_else(|index| {
            self.0.insert(index, (key, make()));
            index
        });
        &mut self.0[index].1
    }

    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0
            .binary_search_by(|(other, _)| other.borrow().cmp(key))
    }
}

impl<K: Ord, V> Index<&K> for Sorted<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key).expect("there is an entry of this key")
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Sorted<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K, V> IntoIterator for Sorted<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// An object in JSON.
impl<K: Serialize, V: Serialize> Serialize for Sorted<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::Sorted;

    #[test]
    fn entries_are_in_the_order_of_their_keys_whatever_order_they_come_in() {
        let mut map = Sorted::new();
        for (key, value, former) in [
            (3, "c", None),
            (1, "a", None),
            (2, "b", None),
            (3, "d", Some("c")),
        ] {
            assert_eq!(map.insert(key, value), former, "{key}");
        }
        assert_eq!(
            map.clone().into_iter().collect::<Vec<_>>(),
            [(1, "a"), (2, "b"), (3, "d")]
        );
        assert_eq!((map.get(&2), map.get(&4)), (Some(&"b"), None));
        assert_eq!(
            (map.contains_key(&1), map.contains_key(&0), map.len()),
            (true, false, 3)
        );
        assert_eq!(
            serde_json::to_string(&map).expect("JSON"),
            r#"{"1":"a","2":"b","3":"d"}"#
        );
    }

    #[test]
    fn a_value_that_is_asked_for_is_there() {
        let mut map: Sorted<&str, u32> = Sorted::new();
        for name in ["b", "a", "b"] {
            *map.get_or_insert_with(name, u32::default) += 1;
        }
        assert_eq!(map.into_iter().collect::<Vec<_>>(), [("a", 1), ("b", 2)]);
    }
}
