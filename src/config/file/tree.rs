//! The values of a file, each with its line.
//!
//! A key and its value begin on one line, so a value's line is also its key's.

use crate::sorted::Sorted;

/// A value and where it begins.
pub(in super::super) struct Node {
    /// The line, from 1; `None` for the file itself.
    pub(super) line: Option<usize>,
    pub(super) made: Made,
    pub(super) value: Value,
}

/// How a value came about, which says what may still be added to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// By a header of its own, `[a]` or `[[a]]`.
    Header,
    /// On the way to another table: `a` by the header `[a.b]`.
    Implied,
    /// On the way to another value: `a` by the key `a.b`.
    Dotted,
    /// By what stands behind its key. It is complete.
    Given,
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
    Table(Table),
    /// A truth value or a date: no field of the file is one.
    Foreign,
}

pub(super) type Table = Sorted<String, Node>;
