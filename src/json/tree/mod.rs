//! Reading what we have stored as JSON: first into a tree of values, then field by field into types of our own.
//!
//! Deriving a reader for each type makes a parser for each, several times as much code as all the rest of the decoder.
//! Here there is one parser, and a type says in a few lines which members it has. It is as strict: a member that is
//! missing, unknown or there twice is an error, which names the way to it.
//!
//! What clients send has stricter rules, which are those of the `json` module.

mod parse;
mod plain;

use std::borrow::Cow;
use std::fmt;

/// A value as it was stored, which borrows its text.
#[derive(Debug)]
pub struct Tree<'a>(Value<'a>);

#[derive(Debug)]
enum Value<'a> {
    Null,
    Number(u64),
    Text(Cow<'a, str>),
    List(Vec<Tree<'a>>),
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
    /// A truth value, a negative number or one with a fraction: nothing of ours is one.
    Foreign,
}

/// Why a tree is not what a type is read from: what is wrong, behind the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit(Box<str>);

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misfit {}

impl Misfit {
    /// An error about the value at hand.
    pub fn new(problem: impl fmt::Display) -> Self {
        Self::of(&problem)
    }

    fn of(problem: &dyn fmt::Display) -> Self {
        Self(problem.to_string().into())
    }

    /// The same error, as one of the value around.
    fn within(&self, name: &dyn fmt::Display) -> Self {
        Self::new(format_args!("{name}: {self}"))
    }
}

/// What can be read from a tree.
pub trait FromTree: Sized {
    /// Reads it, all of it.
    fn from_tree(tree: Tree<'_>) -> Result<Self, Misfit>;

    /// Whether a member of this type may be missing, which is then read as `null`.
    const IS_OPTIONAL: bool = false;
}

/// Reads JSON that we have stored.
pub fn parse(bytes: &[u8]) -> Result<Tree<'_>, Misfit> {
    serde_json::from_slice(bytes).map_err(Misfit::new)
}

impl<'a> Tree<'a> {
    /// Reads an object. Members that `read` does not take are unknown.
    pub fn object<T>(
        self,
        read: impl FnOnce(&mut Members<'a>) -> Result<T, Misfit>,
    ) -> Result<T, Misfit> {
        let mut members = self.members()?;
        let value = read(&mut members)?;
        members.end()?;
        Ok(value)
    }

    /// The members of an object.
    pub fn members(self) -> Result<Members<'a>, Misfit> {
        match self.0 {
            Value::Object(members) => Ok(Members(members)),
            Value::Null | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Foreign => {
                Err(Misfit::new("not an object"))
            }
        }
    }

    /// The case of an enum: its name, and what it holds. One that holds nothing is its name alone.
    pub fn case(self) -> Result<(Cow<'a, str>, Self), Misfit> {
        match self.0 {
            Value::Text(name) => Ok((name, Self(Value::Null))),
            Value::Object(mut members) if members.len() == 1 => Ok(members.remove(0)),
            Value::Object(_) | Value::Null | Value::Number(_) | Value::List(_) | Value::Foreign => {
                Err(Misfit::new("not one of several cases"))
            }
        }
    }

    /// The items of a list.
    pub fn items(self) -> Result<Vec<Self>, Misfit> {
        match self.0 {
            Value::List(items) => Ok(items),
            Value::Null | Value::Number(_) | Value::Text(_) | Value::Object(_) | Value::Foreign => {
                Err(Misfit::new("not a list"))
            }
        }
    }

    /// A text.
    pub fn text(self) -> Result<Cow<'a, str>, Misfit> {
        match self.0 {
            Value::Text(text) => Ok(text),
            Value::Null | Value::Number(_) | Value::List(_) | Value::Object(_) | Value::Foreign => {
                Err(Misfit::new("not a text"))
            }
        }
    }

    /// A whole number that is not negative.
    pub fn number(self) -> Result<u64, Misfit> {
        match self.0 {
            Value::Number(number) => Ok(number),
            Value::Null | Value::Text(_) | Value::List(_) | Value::Object(_) | Value::Foreign => {
                Err(Misfit::new("not a whole number"))
            }
        }
    }

    /// The case of an enum whose cases all hold nothing.
    pub fn one_of<T: Copy>(self, cases: &[(&str, T)]) -> Result<T, Misfit> {
        let (name, held) = self.case()?;
        match cases.iter().find(|(case, _)| *case == name) {
            Some((_, case)) => held.nothing(*case),
            None => Err(unknown_case(&name)),
        }
    }

    /// A case that holds nothing, which this tree is what it holds of.
    pub fn nothing<T>(&self, case: T) -> Result<T, Misfit> {
        if matches!(self.0, Value::Null) {
            Ok(case)
        } else {
            Err(Misfit::new("more than a name"))
        }
    }
}

/// The members of an object that were not taken yet.
pub struct Members<'a>(Vec<(Cow<'a, str>, Tree<'a>)>);

impl<'a> Members<'a> {
    /// Reads the member of this name.
    pub fn take<T: FromTree>(&mut self, name: &'static str) -> Result<T, Misfit> {
        let tree = self.remove(name, T::IS_OPTIONAL)?;
        let mut value = T::from_tree(tree);
        if let Err(misfit) = &mut value {
            *misfit = misfit.within(&name);
        }
        value
    }

    fn remove(&mut self, name: &str, is_optional: bool) -> Result<Tree<'a>, Misfit> {
        let is_named = |(member, _): &(Cow<'a, str>, _)| member == name;
        let Some(index) = self.0.iter().position(is_named) else {
            return if is_optional {
                Ok(Tree(Value::Null))
            } else {
                Err(Misfit::new("missing").within(&name))
            };
        };
        let (_, tree) = self.0.remove(index);
        if self.0.iter().any(is_named) {
            Err(Misfit::new("there twice").within(&name))
        } else {
            Ok(tree)
        }
    }

    /// Passes when there are no more members.
    pub fn end(self) -> Result<(), Misfit> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(Misfit::new(format_args!("unknown field `{name}`"))),
        }
    }
}

/// Reads a struct from an object with exactly its fields.
macro_rules! from_object {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::json::tree::FromTree for $type {
            fn from_tree(
                tree: $crate::json::tree::Tree<'_>,
            ) -> Result<Self, $crate::json::tree::Misfit> {
                tree.object(|members| {
                    Ok(Self { $($field: members.take(stringify!($field))?),+ })
                })
            }
        }
    };
}

/// Reads an enum from the name of one of its cases, which an object holds with what belongs to it.
macro_rules! from_cases {
    ($type:ident {
        $($name:literal => $case:ident $({ $($field:ident),+ $(,)? })? $(($held:ty))?),+ $(,)?
    }) => {
        impl $crate::json::tree::FromTree for $type {
            fn from_tree(
                tree: $crate::json::tree::Tree<'_>,
            ) -> Result<Self, $crate::json::tree::Misfit> {
                let (name, held) = tree.case()?;
                match &*name {
                    $($name => $crate::json::tree::from_case!(
                        held, $case $({ $($field),+ })? $(($held))?
                    ),)+
                    other => Err($crate::json::tree::unknown_case(other)),
                }
            }
        }
    };
}

/// Reads what belongs to a case.
macro_rules! from_case {
    ($tree:ident, $case:ident) => {
        $tree.nothing(Self::$case)
    };
    ($tree:ident, $case:ident { $($field:ident),+ }) => {
        $tree.object(|members| {
            Ok(Self::$case { $($field: members.take(stringify!($field))?),+ })
        })
    };
    ($tree:ident, $case:ident($held:ty)) => {
        <$held as $crate::json::tree::FromTree>::from_tree($tree).map(Self::$case)
    };
}

pub(crate) use {from_case, from_cases, from_object};

/// The error for a case that a type does not have.
pub(crate) fn unknown_case(name: &str) -> Misfit {
    Misfit::new(format_args!("unknown case `{name}`"))
}
