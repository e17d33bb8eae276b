//! From TOML to a tree of values.
//!
//! The parser tells what it comes by, in its order; here that is put where it belongs, and what is defined twice is
//! refused. The parser's crate has a tree of its own above it, whose values borrow from the text, count in bytes and
//! read dates and floats, all of which would be undone here, at the price of as much code again.

use super::super::ConfigError;
use super::tree::{Made, Node, Table, Value};
use crate::sorted::Sorted;
use std::mem;
use toml_parser::decoder::{Encoding, ScalarKind};
use toml_parser::parser::{
    Event, EventKind, EventReceiver, RecursionGuard, ValidateWhitespace, parse_document,
};
use toml_parser::{ErrorSink, Expected, ParseError, Raw, Source, Span};

/// Levels of lists and tables within each other.
const DEPTH_MAX: u32 = 80;

/// Reads TOML.
pub(in super::super) fn parse(text: &str) -> Result<Node, Box<ConfigError>> {
    let source = Source::new(text);
    let mut builder = Builder {
        source,
        lines: Lines::of(text),
        root: Sorted::new(),
        header: Vec::new(),
        header_line: None,
        keys: Vec::new(),
        open: Vec::new(),
    };
    let mut error: Option<ParseError> = None;
    let mut receiver = RecursionGuard::new(&mut builder, DEPTH_MAX);
    let mut receiver = ValidateWhitespace::new(&mut receiver, source);
    parse_document(&source.lex().into_vec(), &mut receiver, &mut error);
    match error {
        None => Ok(Node {
            line: None,
            made: Made::Given,
            value: Value::Table(builder.root),
        }),
        // The message names what was expected and quotes nothing of the file.
        Some(error) => Err(Box::new(ConfigError {
            line: error.unexpected().map(|span| builder.lines.of_span(span)),
            field: String::new(),
            problem: format!("is no TOML: {}", message(&error)),
        })),
    }
}

fn message(error: &ParseError) -> String {
    let mut message = error.description().to_owned();
    for (index, expected) in error.expected().into_iter().flatten().enumerate() {
        message.push_str(if index == 0 { ", expected " } else { ", " });
        match expected {
            Expected::Literal("\n") => message.push_str("newline"),
            Expected::Literal(text) => message.extend(["`", text, "`"]),
            Expected::Description(text) => message.push_str(text),
            _ => message.push_str("something else"),
        }
    }
    message
}

/// What was read so far, and what is being read.
struct Builder<'s> {
    source: Source<'s>,
    lines: Lines,
    root: Table,
    /// The table that keys belong to, by its way from the root.
    header: Vec<String>,
    header_line: Option<usize>,
    /// The parts of the key or the header at hand.
    keys: Vec<Key>,
    /// The lists and tables that have begun behind keys, the outermost first.
    open: Vec<Open>,
}

struct Key {
    name: String,
    span: Span,
}

/// A list or a table behind a key, and the parts of a key within it.
struct Open {
    node: Node,
    keys: Vec<Key>,
}

impl EventReceiver for Builder<'_> {
    fn std_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.begin_header(span);
    }

    fn std_table_close(&mut self, _: Span, errors: &mut dyn ErrorSink) {
        self.end_header(false, errors);
    }

    fn array_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.begin_header(span);
    }

    fn array_table_close(&mut self, _: Span, errors: &mut dyn ErrorSink) {
        self.end_header(true, errors);
    }

    fn inline_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        self.begin_value(span, Value::Table(Sorted::new()));
        true
    }

    fn inline_table_close(&mut self, _: Span, errors: &mut dyn ErrorSink) {
        self.end_value(errors);
    }

    fn array_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        self.begin_value(span, Value::List(Vec::new()));
        true
    }

    fn array_close(&mut self, _: Span, errors: &mut dyn ErrorSink) {
        self.end_value(errors);
    }

    fn simple_key(&mut self, span: Span, encoding: Option<Encoding>, errors: &mut dyn ErrorSink) {
        let mut name = String::new();
        if let Some(raw) = self.raw(span, encoding) {
            raw.decode_key(&mut name, errors);
        }
        let keys = self
            .open
            .last_mut()
            .map_or(&mut self.keys, |open| &mut open.keys);
        keys.push(Key { name, span });
    }

    fn scalar(&mut self, span: Span, encoding: Option<Encoding>, errors: &mut dyn ErrorSink) {
        let Some(raw) = self.raw(span, encoding) else {
            return;
        };
        let mut text = String::new();
        let value = match raw.decode_scalar(&mut text, errors) {
            ScalarKind::String => Value::Text {
                text,
                is_templated: false,
            },
            ScalarKind::Integer(radix) => {
                Value::Integer(i64::from_str_radix(&text, radix.value()).ok())
            }
            ScalarKind::Float => Value::Decimal(text),
            ScalarKind::Boolean(_) | ScalarKind::DateTime => Value::Foreign,
        };
        let node = self.given(span, value);
        self.put(node, errors);
    }
}

impl<'s> Builder<'s> {
    fn raw(&self, span: Span, encoding: Option<Encoding>) -> Option<Raw<'s>> {
        self.source
            .get(Event::new_unchecked(EventKind::Scalar, encoding, span))
    }

    fn given(&self, span: Span, value: Value) -> Node {
        Node {
            line: Some(self.lines.of_span(span)),
            made: Made::Given,
            value,
        }
    }

    fn begin_value(&mut self, span: Span, value: Value) {
        let node = self.given(span, value);
        let keys = Vec::new();
        self.open.push(Open { node, keys });
    }

    fn end_value(&mut self, errors: &mut dyn ErrorSink) {
        if let Some(open) = self.open.pop() {
            self.put(open.node, errors);
        }
    }

    /// Puts a complete value where it belongs.
    fn put(&mut self, node: Node, errors: &mut dyn ErrorSink) {
        let (table, keys) = match self.open.last_mut() {
            Some(Open { node: outer, keys }) => match &mut outer.value {
                Value::List(items) => return items.push(node),
                Value::Table(table) => (table, keys),
                Value::Text { .. } | Value::Integer(_) | Value::Decimal(_) | Value::Foreign => {
                    return;
                }
            },
            None => match walk(&mut self.root, &self.header) {
                Some(table) => (table, &mut self.keys),
                None => return,
            },
        };
        if let Err(twice) = insert(table, mem::take(keys), node) {
            errors.report_error(duplicate(twice));
        }
    }

    fn begin_header(&mut self, span: Span) {
        self.header_line = Some(self.lines.of_span(span));
        self.keys.clear();
    }

    /// Makes the table that the keys name the one at hand.
    fn end_header(&mut self, is_list: bool, errors: &mut dyn ErrorSink) {
        let keys = mem::take(&mut self.keys);
        if let Err(twice) = open_table(&mut self.root, &keys, self.header_line, is_list) {
            errors.report_error(duplicate(twice));
        }
        self.header = keys.into_iter().map(|key| key.name).collect();
    }
}

/// The table at the end of a way, of a list's the last one.
fn walk<'t>(root: &'t mut Table, way: &[String]) -> Option<&'t mut Table> {
    way.iter()
        .try_fold(root, |table, name| inner(table.get_mut(name)?))
}

/// The table within a value that headers may add to, in a list the last one.
fn inner(node: &mut Node) -> Option<&mut Table> {
    if node.made == Made::Given {
        return None;
    }
    match &mut node.value {
        Value::Table(table) => Some(table),
        Value::List(items) => inner(items.last_mut()?),
        Value::Text { .. } | Value::Integer(_) | Value::Decimal(_) | Value::Foreign => None,
    }
}

fn table(made: Made, line: Option<usize>) -> Node {
    Node {
        line,
        made,
        value: Value::Table(Sorted::new()),
    }
}

/// Puts a value under a key, whose parts but the last are tables that no header has made. The error is the part that is
/// something else already.
fn insert(mut table_at: &mut Table, mut keys: Vec<Key>, node: Node) -> Result<(), Span> {
    let Some(last) = keys.pop() else {
        return Ok(());
    };
    for Key { name, span } in keys {
        let next = table_at.get_or_insert_with(name, || table(Made::Dotted, node.line));
        table_at = match &mut next.value {
            Value::Table(table) if next.made == Made::Dotted => table,
            Value::Table(_)
            | Value::Text { .. }
            | Value::Integer(_)
            | Value::Decimal(_)
            | Value::List(_)
            | Value::Foreign => return Err(span),
        };
    }
    match table_at.insert(last.name, node) {
        None => Ok(()),
        Some(_) => Err(last.span),
    }
}

/// Makes the table of a header, or one more in a list of tables. The error is the part that is something else already.
fn open_table(
    root: &mut Table,
    keys: &[Key],
    line: Option<usize>,
    is_list: bool,
) -> Result<(), Span> {
    let Some((last, way)) = keys.split_last() else {
        return Ok(());
    };
    let mut table_at = root;
    for key in way {
        let next = table_at.get_or_insert_with(key.name.clone(), || table(Made::Implied, line));
        table_at = inner(next).ok_or(key.span)?;
    }
    let opened = table(Made::Header, line);
    match (table_at.get_mut(&last.name), is_list) {
        (None, false) => drop(table_at.insert(last.name.clone(), opened)),
        (None, true) => {
            let opened_list = Node {
                line,
                made: Made::Header,
                value: Value::List(vec![opened]),
            };
            table_at.insert(last.name.clone(), opened_list);
        }
        (Some(node), _) => match (&mut node.value, node.made, is_list) {
            (Value::Table(_), Made::Implied, false) => {
                node.made = Made::Header;
                node.line = line;
            }
            (Value::List(items), Made::Header, true) => items.push(opened),
            _ => return Err(last.span),
        },
    }
    Ok(())
}

fn duplicate(span: Span) -> ParseError {
    ParseError::new("duplicate key").with_unexpected(span)
}

/// Where lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// The line of the beginning of a span, from 1.
    fn of_span(&self, span: Span) -> usize {
        1 + self.0.partition_point(|start| *start <= span.start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(node: &Node) -> String {
        match &node.value {
            Value::Text { text, .. } => format!("{text:?}"),
            Value::Integer(number) => format!("{number:?}"),
            Value::Decimal(text) => text.clone(),
            Value::Foreign => "-".to_owned(),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(shape).collect();
                format!("[{}]", items.join(" "))
            }
            Value::Table(table) => {
                let member = |(name, node): (&String, &Node)| {
                    format!("{name}@{}={}", node.line.expect("a line"), shape(node))
                };
                format!(
                    "{{{}}}",
                    table.iter().map(member).collect::<Vec<_>>().join(" ")
                )
            }
        }
    }

    #[test]
    fn a_file_is_read_with_its_lines() {
        let table = [
            ("", "{}"),
            ("a = 1\n\"b c\" = 'x' # y\n", "{a@1=Some(1) b c@2=\"x\"}"),
            (
                "a = 0x1F\nb = 99999999999999999999",
                "{a@1=Some(31) b@2=None}",
            ),
            (
                "a = 0.50\nb = true\nc = 2024-05-01",
                "{a@1=0.50 b@2=- c@3=-}",
            ),
            (
                "a.b.c = 1\na.d = 2",
                "{a@1={b@1={c@1=Some(1)} d@2=Some(2)}}",
            ),
            (
                "[a.b]\nc = 1\n[a]\nd = 2",
                "{a@3={b@1={c@2=Some(1)} d@4=Some(2)}}",
            ),
            (
                "[a]\nb.c = 1\n[a.b.d]\ne = 2",
                "{a@1={b@2={c@2=Some(1) d@3={e@4=Some(2)}}}}",
            ),
            (
                "[[a]]\nb = 1\n[a.c]\nd = 2\n[[a]]\nb = 3",
                "{a@1=[{b@2=Some(1) c@3={d@4=Some(2)}} {b@6=Some(3)}]}",
            ),
            (
                "a = [\n  { b.c = 1, d = [] },\n  'x',\n]",
                "{a@1=[{b@2={c@2=Some(1)} d@2=[]} \"x\"]}",
            ),
            ("a = \"\"\"\nb\\n\"\"\"", "{a@1=\"b\\n\"}"),
        ];
        for (text, expected) in table {
            let node = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(shape(&node), expected, "{text}");
        }
    }

    #[test]
    fn what_is_defined_twice_is_refused_on_its_line() {
        for (text, line) in [
            ("a = 1\na = 2", 2),
            ("[a]\n[a]", 2),
            ("[a.b]\n[a]\n[a]", 3),
            ("a = 1\n[a]", 2),
            ("a = 1\n[a.b]", 2),
            ("a = {}\n[a.b]", 2),
            ("a = { b.c = 1 }\n[a.b]", 2),
            ("a = {}\na.b = 1", 2),
            ("a = []\n[[a]]", 2),
            ("a = [{}]\n[a.b]", 2),
            ("[[a]]\n[a]", 2),
            ("[a]\n[[a]]", 2),
            ("a.b = 1\n[a]", 2),
            ("[a.b]\n[c]\n[a]\nb.d = 1", 4),
            ("a.b = 1\na.b.c = 2", 2),
            ("a = { b = 1, b = 2 }", 1),
        ] {
            let error = parse(text).err().unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (error.line, error.problem.as_str()),
                (Some(line), "is no TOML: duplicate key"),
                "{text}"
            );
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let nested = |depth| format!("a = {}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(DEPTH_MAX as usize)).is_ok());
        assert!(parse(&nested(DEPTH_MAX as usize + 1)).is_err());
        assert!(parse(&nested(100_000)).is_err());
    }
}
