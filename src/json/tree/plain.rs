//! How types that are not ours are read from a tree.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use uuid::Uuid;

use super::{FromTree, Misfit, Tree, Value};
use crate::sorted::Sorted;

impl FromTree for u64 {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        tree.number()
    }
}

impl FromTree for u32 {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        Self::try_from(tree.number()?).map_err(|_| Misfit::new("too large"))
    }
}

impl FromTree for u16 {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        Self::try_from(tree.number()?).map_err(|_| Misfit::new("too large"))
    }
}

impl FromTree for String {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        tree.text().map(Cow::into_owned)
    }
}

impl FromTree for Uuid {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        Self::try_parse(&tree.text()?).map_err(|_| Misfit::new("not a UUID"))
    }
}

impl<T: FromTree> FromTree for Option<T> {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        if matches!(tree.0, Value::Null) {
            Ok(None)
        } else {
            T::from_tree(tree).map(Some)
        }
    }

    const IS_OPTIONAL: bool = true;
}

impl<T: FromTree> FromTree for Vec<T> {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        let mut items = Self::new();
        for (index, item) in tree.items()?.into_iter().enumerate() {
            items.push(T::from_tree(item).map_err(|misfit| misfit.within(&index))?);
        }
        Ok(items)
    }
}

impl<T: FromTree> FromTree for Arc<T> {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        T::from_tree(tree).map(Self::new)
    }
}

impl FromTree for (String, String) {
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        let pair = <[_; 2]>::try_from(Vec::from_tree(tree)?);
        pair.map(Into::into).map_err(|_| Misfit::new("not a pair"))
    }
}

/// An object whose names are keys of one kind, in the order in which we write them. Out of order, each would make room for
/// itself among all others.
impl<K, T> FromTree for Sorted<K, T>
where
    K: FromStr<Err: fmt::Display> + Ord,
    T: FromTree,
{
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit> {
        let mut map = Self::new();
        for (name, value) in tree.members()?.0 {
            let key: K = name.parse().map_err(Misfit::new)?;
            if map.keys().next_back().is_some_and(|last| *last >= key) {
                return Err(Misfit::new("there twice, or not in its order").within(&name));
            }
            map.insert(key, T::from_tree(value)?);
        }
        Ok(map)
    }
}
