//! From JSON to a tree, by the one parser.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Tree, Value};

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

/// Takes whatever JSON has, so that no error of the parser speaks of types.
impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree<'de>, E> {
        Ok(Tree(Value::Null))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree<'de>, E> {
        Ok(Tree(Value::Foreign))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Tree<'de>, E> {
        Ok(Tree(Value::Number(number)))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree<'de>, E> {
        Ok(Tree(Value::Foreign))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree<'de>, E> {
        Ok(Tree(Value::Foreign))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Tree<'de>, E> {
        Ok(Tree(Value::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree<'de>, E> {
        Ok(Tree(Value::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree(Value::List(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree<'de>, A::Error> {
        // Most of our objects have about so many; growing to it costs as much as a small record.
        let mut members = Vec::with_capacity(8);
        while let Some(Tree(name)) = access.next_key()? {
            let Value::Text(name) = name else {
                return Err(A::Error::custom("a name that is no text"));
            };
            members.push((name, access.next_value()?));
        }
        Ok(Tree(Value::Object(members)))
    }
}
