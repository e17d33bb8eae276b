//! How types that are not ours are read.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use uuid::Uuid;

use super::{Cursor, FromJson, Misfit};
use crate::sorted::Sorted;

impl FromJson for u64 {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.number()
    }
}

impl FromJson for u32 {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        Self::try_from(cursor.number()?).map_err(|_| Misfit::new("too large"))
    }
}

impl FromJson for u16 {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        Self::try_from(cursor.number()?).map_err(|_| Misfit::new("too large"))
    }
}

impl FromJson for String {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.text().map(Cow::into_owned)
    }
}

impl FromJson for Uuid {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        Self::try_parse(&cursor.text()?).map_err(|_| Misfit::new("not a UUID"))
    }
}

impl<T: FromJson> FromJson for Option<T> {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        if cursor.null() {
            Ok(None)
        } else {
            T::from_json(cursor).map(Some)
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        let mut items = Self::new();
        cursor.list(|cursor| {
            items.push(T::from_json(cursor)?);
            Ok(())
        })?;
        Ok(items)
    }
}

impl<T: FromJson> FromJson for Arc<T> {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        T::from_json(cursor).map(Self::new)
    }
}

impl FromJson for (String, String) {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        let (mut first, mut second) = (None, None);
        cursor.list(|cursor| {
            let place = match (&first, &second) {
                (None, _) => &mut first,
                (Some(_), None) => &mut second,
                (Some(_), Some(_)) => return Err(Misfit::new("one too many for a pair")),
            };
            *place = Some(String::from_json(cursor)?);
            Ok(())
        })?;
        let pair = first.zip(second);
        pair.ok_or_else(|| Misfit::new("not a pair"))
    }
}

/// An object whose names are keys of one kind, in the order in which we write them. Out of order, each would make room for
/// itself among all others.
impl<K, T> FromJson for Sorted<K, T>
where
    K: FromStr<Err: fmt::Display> + Ord,
    T: FromJson,
{
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        let mut map = Self::new();
        cursor.object(|members| {
            while let Some((name, value)) = members.take_any()? {
                let key: K = name.parse().map_err(Misfit::new)?;
                if map.keys().next_back().is_some_and(|last| *last >= key) {
                    return Err(Misfit::new("there twice, or not in its order").within(&name));
                }
                map.insert(key, value);
            }
            Ok(())
        })?;
        Ok(map)
    }
}
