//! One value of the file and where it stands: how it is read, and what is said when it is not what it should be.
//!
//! Problems are told without the value. They read on from the field's name: `operations.charge.lease: is …`.

use super::super::ConfigError;
use super::text;
use super::tree::{Node, Value};
use crate::machine::{Millis, Name};
use crate::sorted::Sorted;
use std::ops::RangeInclusive;

/// A value and its path.
pub(super) struct At<'a> {
    path: String,
    node: &'a Node,
}

impl<'a> At<'a> {
    pub(super) const fn root(node: &'a Node) -> Self {
        Self {
            path: String::new(),
            node,
        }
    }

    pub(super) const fn value(&self) -> &'a Value {
        &self.node.value
    }

    /// Where it stands, such as `operations.charge`. No value of a variable is in it.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The error that this value is wrong.
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "every result of the file carries it, so that it is one pointer"
    )]
    pub(super) fn wrong(&self, problem: impl Into<String>) -> Box<ConfigError> {
        Box::new(ConfigError {
            line: self.node.line,
            field: self.path.clone(),
            problem: problem.into(),
        })
    }

    /// A table with no other fields than these.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Fields<'a>, Box<ConfigError>> {
        let fields = Fields {
            path: self.path.clone(),
            line: self.node.line,
            table: self.table()?,
        };
        match fields.table.keys().find(|key| !known.contains(&&***key)) {
            Some(key) => Err(fields.wrong(
                key,
                format!("is not known; here may be {}", known.join(", ")),
            )),
            None => Ok(fields),
        }
    }

    /// The members of a table whose keys are the owner's to choose.
    pub(super) fn members(&self) -> Result<Vec<(&'a str, Self)>, Box<ConfigError>> {
        let member = |(key, node): (&'a String, &'a Node)| {
            let path = member_path(&self.path, key);
            (key.as_str(), Self { path, node })
        };
        Ok(self.table()?.iter().map(member).collect())
    }

    /// The members of a table whose keys are names.
    pub(super) fn named(&self) -> Result<Vec<(Name, Self)>, Box<ConfigError>> {
        let mut named = Vec::new();
        for (key, at) in self.members()? {
            let name = plain_name(key).ok_or_else(|| at.wrong(NO_NAME))?;
            named.push((name, at));
        }
        Ok(named)
    }

    fn table(&self) -> Result<&'a Sorted<String, Node>, Box<ConfigError>> {
        match &self.node.value {
            Value::Table(table) => Ok(table),
            Value::Text { .. }
            | Value::Integer(_)
            | Value::Decimal(_)
            | Value::List(_)
            | Value::Foreign => Err(self.wrong("is not a table")),
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Result<Vec<Self>, Box<ConfigError>> {
        match &self.node.value {
            Value::List(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, node)| Self {
                    path: item_path(&self.path, index, node),
                    node,
                })
                .collect()),
            Value::Text { .. }
            | Value::Integer(_)
            | Value::Decimal(_)
            | Value::Table(_)
            | Value::Foreign => Err(self.wrong("is not a list")),
        }
    }

    /// A string, which may be empty.
    pub(super) fn text(&self) -> Result<&'a str, Box<ConfigError>> {
        match &self.node.value {
            Value::Text { text, .. } => Ok(text),
            Value::Integer(_)
            | Value::Decimal(_)
            | Value::List(_)
            | Value::Table(_)
            | Value::Foreign => Err(self.wrong("is not a string")),
        }
    }

    /// A string that is not empty.
    pub(super) fn filled_text(&self) -> Result<&'a str, Box<ConfigError>> {
        match self.text()? {
            "" => Err(self.wrong("is empty")),
            text => Ok(text),
        }
    }

    /// A name as it can stand in a path.
    pub(super) fn name(&self) -> Result<Name, Box<ConfigError>> {
        plain_name(self.text()?).ok_or_else(|| self.wrong(NO_NAME))
    }

    /// A whole number; as a string when it comes from a variable.
    pub(super) fn integer(&self, range: RangeInclusive<u64>) -> Result<u64, Box<ConfigError>> {
        let number = match &self.node.value {
            Value::Integer(number) => number.and_then(|number| u64::try_from(number).ok()),
            Value::Text {
                text,
                is_templated: true,
            } => text.parse().ok(),
            Value::Text {
                is_templated: false,
                ..
            }
            | Value::Decimal(_)
            | Value::List(_)
            | Value::Table(_)
            | Value::Foreign => None,
        };
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                self.wrong(format!(
                    "is not a whole number from {} to {}",
                    range.start(),
                    range.end()
                ))
            })
    }

    /// A duration.
    pub(super) fn duration(
        &self,
        range: RangeInclusive<Millis>,
    ) -> Result<Millis, Box<ConfigError>> {
        let Some(duration) = text::parse_duration(self.text()?) else {
            return Err(self
                .wrong("is not a duration: a whole number with ms, s, m, h or d, such as 500ms"));
        };
        if range.contains(&duration) {
            Ok(duration)
        } else {
            let [least, most] = [range.start(), range.end()].map(|bound| text::duration(*bound));
            Err(self.wrong(format!("is not from {least} to {most}")))
        }
    }

    /// A number with at most three decimals, in thousandths.
    pub(super) fn thousandths(&self, max: u32) -> Result<u32, Box<ConfigError>> {
        let number = match &self.node.value {
            Value::Text { text, .. } | Value::Decimal(text) => text::parse_thousandths(text),
            Value::Integer(number) => number
                .and_then(|number| u32::try_from(number).ok())
                .and_then(|number| number.checked_mul(1_000)),
            Value::List(_) | Value::Table(_) | Value::Foreign => None,
        };
        number.filter(|number| *number <= max).ok_or_else(|| {
            let max = max / 1_000;
            self.wrong(format!(
                "is not a number from 0 to {max} with at most three decimals"
            ))
        })
    }

    /// One of these words.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, Box<ConfigError>> {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        Ok(choices[self.position(&words)?].1)
    }

    fn position(&self, words: &[&str]) -> Result<usize, Box<ConfigError>> {
        let chosen = self.text()?;
        words
            .iter()
            .position(|word| *word == chosen)
            .ok_or_else(|| self.wrong(format!("is not one of {}", words.join(", "))))
    }
}

/// The fields of a table.
pub(super) struct Fields<'a> {
    path: String,
    line: Option<usize>,
    table: &'a Sorted<String, Node>,
}

impl<'a> Fields<'a> {
    /// A field that may be absent.
    pub(super) fn find(&self, name: &str) -> Option<At<'a>> {
        let node = self.table.get(name)?;
        let path = member_path(&self.path, name);
        Some(At { path, node })
    }

    /// A field that must be there.
    pub(super) fn need(&self, name: &str) -> Result<At<'a>, Box<ConfigError>> {
        self.find(name)
            .ok_or_else(|| self.wrong(name, "is missing"))
    }

    /// The field's value, or the default where it is absent.
    pub(super) fn read<T>(
        &self,
        name: &str,
        default: T,
        read: impl FnOnce(&At<'a>) -> Result<T, Box<ConfigError>>,
    ) -> Result<T, Box<ConfigError>> {
        self.find(name).map_or(Ok(default), |at| read(&at))
    }

    /// The error that a field is wrong, or a field of it (`backoff.cap`). An absent one stands on its table's line.
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "every result of the file carries it, so that it is one pointer"
    )]
    pub(super) fn wrong(&self, name: &str, problem: impl Into<String>) -> Box<ConfigError> {
        let mut line = self.line;
        let mut table = Some(self.table);
        for part in name.split('.') {
            let node = table.and_then(|table| table.get(part));
            line = node.map_or(line, |node| node.line);
            table = node.and_then(|node| match &node.value {
                Value::Table(table) => Some(table),
                Value::Text { .. }
                | Value::Integer(_)
                | Value::Decimal(_)
                | Value::List(_)
                | Value::Foreign => None,
            });
        }
        Box::new(ConfigError {
            line,
            field: member_path(&self.path, name),
            problem: problem.into(),
        })
    }
}

pub(super) fn member_path(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// An item goes by its name where it has one that no variable gave it, and else by its number.
pub(super) fn item_path(path: &str, index: usize, item: &Node) -> String {
    let name = match &item.value {
        Value::Table(table) => table.get("name").map(|node| &node.value),
        Value::Text { .. }
        | Value::Integer(_)
        | Value::Decimal(_)
        | Value::List(_)
        | Value::Foreign => None,
    };
    match name {
        Some(Value::Text {
            text,
            is_templated: false,
        }) if plain_name(text).is_some() => member_path(path, text),
        Some(_) | None => format!("{path}[{index}]"),
    }
}

const NO_NAME: &str =
    "is not a name: 1 to 64 letters, digits, hyphens, underscores and dots, the first not a dot";

/// A name that can stand in a path and in a list.
fn plain_name(text: &str) -> Option<Name> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = text.len() <= 64 && text.bytes().all(is_plain) && !text.starts_with('.');
    is_name.then(|| Name::new(text).ok()).flatten()
}
