//! The values of a file, each with its line.
//!
//! TOML's own tree borrows from the text and counts in bytes; this one does neither, so it can be kept and changed.
//! A key and its value begin on one line, so a value's line is also its key's.

use super::super::ConfigError;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// A value and where it begins.
pub(in super::super) struct Node {
    /// The line, from 1; `None` for the file itself.
    pub(super) line: Option<usize>,
    pub(super) value: Value,
}

pub(super) enum Value {
    Text {
        text: String,
        /// Whether a variable is or was in it.
        is_templated: bool,
    },
    /// `None` for one that 64 bits do not hold.
    Integer(Option<i64>),
    /// A number with a fraction, as it is written: it is never read as a float.
    Decimal(String),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
    /// A truth value or a date: no field of the file is one.
    Foreign,
}

/// Reads TOML.
pub(in super::super) fn parse(text: &str) -> Result<Node, ConfigError> {
    let lines = Lines::of(text);
    match DeTable::parse(text) {
        Ok(root) => Ok(Node {
            line: None,
            value: table(root.into_inner(), &lines),
        }),
        // The message names what was expected and quotes nothing of the file.
        Err(error) => Err(ConfigError {
            line: error.span().map(|span| lines.line(span.start)),
            field: String::new(),
            problem: format!("is no TOML: {}", error.message()),
        }),
    }
}

fn table(table: DeTable<'_>, lines: &Lines) -> Value {
    let mut members = BTreeMap::new();
    for (key, value) in table {
        members.insert(key.into_inner().into_owned(), node(value, lines));
    }
    Value::Table(members)
}

fn node(value: toml::Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let line = Some(lines.line(value.span().start));
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text {
            text: text.into_owned(),
            is_templated: false,
        },
        DeValue::Integer(integer) => {
            Value::Integer(i64::from_str_radix(integer.as_str(), integer.radix()).ok())
        }
        DeValue::Float(float) => Value::Decimal(float.as_str().to_owned()),
        DeValue::Boolean(_) | DeValue::Datetime(_) => Value::Foreign,
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| node(item, lines)).collect())
        }
        DeValue::Table(members) => table(members, lines),
    };
    Node { line, value }
}

/// Where lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// The line of the byte at `offset`, from 1.
    fn line(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|start| *start <= offset)
    }
}
