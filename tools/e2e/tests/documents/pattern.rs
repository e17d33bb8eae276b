//! What an example's output says, held against what really came.
//!
//! Text is compared as it is, but for:
//! - `…`, which stands for anything within its line, and alone in a line for any lines;
//! - hexadecimal digits that `…` cuts off, which are part of a name;
//! - the [`SHAPES`], which differ from run to run.

use std::collections::BTreeMap;

/// What differs from run to run: `?` is a hexadecimal digit, `#` a digit, `*` some digits. A *name* of the document stands
/// for one name of the run, and another for another; everything else is only compared by its shape.
const SHAPES: [(&str, IsName); 6] = [
    ("????????-????-????-????-????????????", IsName::Yes),
    (
        "00-????????????????????????????????-????????????????-##",
        IsName::No,
    ),
    ("????????????????????????????????", IsName::Yes),
    ("####-##-##T##:##:##.###Z", IsName::No),
    ("\"duration_ms\":*", IsName::No),
    ("*.# s", IsName::No),
];

/// Fewer hexadecimal digits than this before `…` may be a word.
const CUT_DIGITS_MIN: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IsName {
    Yes,
    No,
}

/// Which name of the run a name of the document stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(BTreeMap<String, String>);

impl Names {
    /// A command of the document, with the names of the run.
    pub(crate) fn here(&self, command: &str) -> String {
        let replace =
            |text: String, (written, seen): (&String, &String)| text.replace(written, seen);
        self.0.iter().fold(command.to_owned(), replace)
    }

    fn bind(&mut self, written: &str, seen: &str) -> bool {
        match self.0.get(written) {
            Some(bound) => bound == seen,
            None => {
                let is_new = self.0.values().all(|other| other != seen);
                self.0.insert(written.to_owned(), seen.to_owned());
                is_new
            }
        }
    }
}

/// Whether lines are what the document says. The names are kept only if they are.
pub(crate) fn lines_match(written: &[&str], seen: &[&str], names: &mut Names) -> bool {
    match written {
        [] => seen.is_empty(),
        [line, rest @ ..] if line.trim() == "…" => (0..=seen.len()).any(|skipped| {
            let mut tried = names.clone();
            let is_match = lines_match(rest, &seen[skipped..], &mut tried);
            if is_match {
                *names = tried;
            }
            is_match
        }),
        [line, rest @ ..] => {
            let Some((first, others)) = seen.split_first() else {
                return false;
            };
            let mut tried = names.clone();
            let is_match = line_matches(&pieces(line), first, &mut tried)
                && lines_match(rest, others, &mut tried);
            if is_match {
                *names = tried;
            }
            is_match
        }
    }
}

/// The first written line behind which nothing matches any more, for the message of a test that fails.
pub(crate) fn first_missing<'a>(written: &[&'a str], seen: &[&str], names: &Names) -> &'a str {
    let is_match = |count: &usize| {
        let begun = [&written[..*count], &["…"]].concat();
        lines_match(&begun, seen, &mut names.clone())
    };
    let count = (0..written.len()).rev().find(is_match);
    count.and_then(|count| written.get(count)).unwrap_or(&"")
}

#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Shape(&'a str, usize),
    Any,
}

/// A line of the document, cut into what is compared in different ways.
fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut text_from, mut at) = (0, 0);
    while at < line.len() {
        let rest = &line[at..];
        let is_word_start = !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        let found = if let Some(after) = rest.strip_prefix('…') {
            Some((Piece::Any, rest.len() - after.len()))
        } else if is_word_start {
            cut_off(rest)
                .map(|length| (Piece::Any, length))
                .or_else(|| {
                    shape(rest)
                        .map(|(number, length)| (Piece::Shape(&rest[..length], number), length))
                })
        } else {
            None
        };
        let Some((piece, length)) = found else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        pieces.push(Piece::Text(&line[text_from..at]));
        pieces.push(piece);
        at += length;
        text_from = at;
    }
    pieces.push(Piece::Text(&line[text_from..]));
    pieces
}

/// The length of a name that is cut off, with the mark that cuts it.
fn cut_off(rest: &str) -> Option<usize> {
    let end = rest.find(|c: char| !c.is_ascii_hexdigit() && c != '-')?;
    (end >= CUT_DIGITS_MIN && rest[end..].starts_with('…')).then_some(end + '…'.len_utf8())
}

/// Which shape a text begins with, and how long it is.
fn shape(rest: &str) -> Option<(usize, usize)> {
    let shapes = SHAPES.iter().enumerate();
    shapes
        .filter_map(|(number, (shape, _))| Some((number, shape_length(shape, rest)?)))
        .find(|(_, length)| !rest[*length..].starts_with(|c: char| c.is_ascii_alphanumeric()))
}

fn shape_length(shape: &str, text: &str) -> Option<usize> {
    let mut rest = text;
    for mark in shape.chars() {
        let length = match mark {
            '?' => usize::from(rest.starts_with(|c: char| c.is_ascii_hexdigit())),
            '#' => usize::from(rest.starts_with(|c: char| c.is_ascii_digit())),
            '*' => rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len(),
            other => usize::from(rest.starts_with(other)),
        };
        if length == 0 {
            return None;
        }
        rest = &rest[length..];
    }
    Some(text.len() - rest.len())
}

fn line_matches(pieces: &[Piece<'_>], seen: &str, names: &mut Names) -> bool {
    match pieces {
        [] => seen.is_empty(),
        [Piece::Text(text), rest @ ..] => seen
            .strip_prefix(text)
            .is_some_and(|seen| line_matches(rest, seen, names)),
        [Piece::Shape(written, number), rest @ ..] => {
            let (shape, is_name) = SHAPES[*number];
            let Some(length) = shape_length(shape, seen) else {
                return false;
            };
            let (value, seen) = seen.split_at(length);
            let is_bound = match is_name {
                IsName::Yes => names.bind(written, value),
                IsName::No => true,
            };
            is_bound && line_matches(rest, seen, names)
        }
        [Piece::Any, rest @ ..] => {
            let ends = seen.char_indices().map(|(at, _)| at).chain([seen.len()]);
            ends.into_iter().any(|at| {
                let mut tried = names.clone();
                let is_match = line_matches(rest, &seen[at..], &mut tried);
                if is_match {
                    *names = tried;
                }
                is_match
            })
        }
    }
}

#[test]
fn text_is_compared_as_it_is_but_for_what_differs_from_run_to_run() {
    const A: &str = "01a228fd-9c17-7a5f-921a-dee483a9e671";
    const B: &str = "02a228fd-9c17-7a5f-921a-dee483a9e672";
    const C: &str = "03a228fd-9c17-7a5f-921a-dee483a9e673";
    let id = |before: &str, id: &str| format!("{before}{id}\"");
    let table = [
        ("HTTP/1.1 201 Created", "HTTP/1.1 201 Created", true),
        ("HTTP/1.1 201 Created", "HTTP/1.1 200 OK", false),
        ("", "x", false),
        ("a…b", "a long way to b", true),
        ("a…b", "a long way to c", false),
        ("ch_2df4d82…\"", "ch_9999999999\"", true),
        ("…\"", "anything\"", true),
        ("added…", "Added", false),
        ("2026-11-29T20:27:19.305Z", "1970-01-01T00:00:00.000Z", true),
        ("2026-11-29T20:27:19.305Z", "1970-01-01T00:00:00Z", false),
        ("later by 1.2 s.", "later by 12.0 s.", true),
        ("later by 1.2 s.", "later by 1.2 m.", false),
        ("\"duration_ms\":35}", "\"duration_ms\":7}", true),
        ("6e340b9cffb37a98", "6e340b9cffb37a99", false),
    ];
    for (written, seen, is_match) in table {
        assert_eq!(
            lines_match(&[written], &[seen], &mut Names::default()),
            is_match,
            "{written} {seen}"
        );
    }
    // The first two lines say that both have the same name.
    let written = [id("x=", A), id("y=", A), id("z=", B)];
    for (names, is_match) in [([B, B, A], true), ([B, A, C], false), ([B, B, B], false)] {
        let seen = [id("x=", names[0]), id("y=", names[1]), id("z=", names[2])];
        let (written, seen) = (
            written.each_ref().map(|line| &**line),
            seen.each_ref().map(|line| &**line),
        );
        assert_eq!(
            lines_match(&written, &seen, &mut Names::default()),
            is_match,
            "{names:?}"
        );
    }
}

#[test]
fn a_line_of_three_dots_is_any_lines() {
    let is_match =
        |written: &[&str], seen: &[&str]| lines_match(written, seen, &mut Names::default());
    assert!(is_match(&["a", "…", "d"], &["a", "b", "c", "d"]));
    assert!(is_match(&["a", "…", "d"], &["a", "d"]));
    assert!(is_match(&["…"], &[]));
    assert!(!is_match(&["a", "…", "d"], &["a", "b"]));
    assert!(!is_match(&["a"], &["a", "b"]));
}
