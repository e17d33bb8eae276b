//! The table of classes, made from what the reference does with each code point in a few surroundings.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::Path;

use reprise::text::{Class, Grapheme};
use unicode_segmentation::{UNICODE_VERSION, UnicodeSegmentation as _};

/// What stands before and behind a code point. No two classes are cut alike in all of these.
const SURROUNDINGS: &[(&str, &str)] = &[
    ("", ""),
    ("a", "a"),
    ("1", "1"),
    ("א", "א"),
    ("א", ""),
    ("_", ""),
    ("ア", ""),
    ("🇦", ""),
    ("\r", ""),
    ("", "\n"),
    ("", "'"),
    ("\n", "\u{301}"),
    (" ", " "),
    ("\u{301}", "a"),
    ("\u{1100}", ""),
    ("\u{1160}", "\u{11a8}"),
    ("\u{11a8}", ""),
    ("", "\u{1160}"),
    ("", "\u{11a8}"),
    ("🙂", "\u{200d}🙂"),
    ("🙂\u{200d}", ""),
    ("🙂", "🙂"),
    ("क", "क"),
    ("क\u{94d}", "क"),
    ("a.", "A"),
    ("a. ", "A"),
    ("a. ", "b"),
    ("a.", " b"),
    ("A!", "A"),
    ("A! ", "A"),
    ("A! ", "\u{301}A"),
    ("A", " A"),
    ("A", " a"),
];

/// How the reference cuts a code point in all of its surroundings.
fn cuts(char: char) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (before, behind) in SURROUNDINGS {
        let text = format!("{before}{char}{behind}");
        // Lengths differ between code points of one class, so boundaries are counted in code points.
        let mut hash = |parts: &mut dyn Iterator<Item = &str>| {
            for part in parts {
                part.chars().count().hash(&mut hasher);
            }
            0xff_u8.hash(&mut hasher);
        };
        hash(&mut text.graphemes(true));
        hash(&mut text.split_word_bounds());
        hash(&mut text.unicode_words());
        hash(&mut text.split_sentence_bounds());
        hash(&mut text.unicode_sentences());
    }
    hasher.finish()
}

/// All code points of the parts that are in use. Those of the others are alike, so some stand for them.
fn all() -> impl Iterator<Item = char> {
    const SPARSE: u32 = 0x101;
    let wanted = |code: &u32| {
        matches!(code, 0..0x3_4000 | 0xe_0000..0xe_1000) || code.is_multiple_of(SPARSE)
    };
    (0..=u32::from(char::MAX))
        .filter(wanted)
        .filter_map(char::from_u32)
}

/// The first code point of each class of our table.
pub(crate) fn one_of_each_class() -> Vec<char> {
    let mut seen: Vec<Class> = Vec::new();
    let mut first = Vec::new();
    for char in all() {
        let class = Class::of(char);
        if !seen.contains(&class) {
            seen.push(class);
            first.push(char);
        }
    }
    first
}

#[test]
fn the_table_is_what_the_reference_does() {
    let mut classes = BTreeMap::new();
    for char in one_of_each_class() {
        let class = Class::of(char);
        let other = classes.insert(cuts(char), class);
        assert_eq!(
            other, None,
            "{class:?} is cut alike: more surroundings would tell the two apart"
        );
    }
    let mut runs: Vec<(u32, Class)> = Vec::new();
    for char in all() {
        let class = classes.get(&cuts(char)).copied();
        let mut class =
            class.unwrap_or_else(|| panic!("{char:?} is of a class that `class` does not know"));
        if class.grapheme == Grapheme::HangulLv {
            // What the table leaves to arithmetic.
            class.grapheme = Grapheme::HangulLvt;
        }
        if runs.last().is_none_or(|(_, last)| *last != class) {
            runs.push((char.into(), class));
        }
    }
    let expected = source(&runs);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/text/table.rs");
    let actual = fs::read_to_string(&path).expect("the table's source");
    if actual != expected {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("table.rs");
        fs::write(&new, expected).expect("a directory for it");
        panic!(
            "{} is out of date: {} is what it should be",
            path.display(),
            new.display()
        );
    }
}

/// The source of the table.
fn source(runs: &[(u32, Class)]) -> String {
    let classes = by_runs(runs);
    let (major, minor, patch) = UNICODE_VERSION;
    let rows: String = classes.iter().map(|class| row(*class)).collect();
    format!(
        "//! What UAX #29 knows of the code points of Unicode {major}.{minor}.{patch}, packed. `cargo test --test text` \
         says when it is out of\n//! date, and writes it.\n\n\
         use super::class::{{Class, Grapheme as G, Sentence as S, Word as W}};\n\n\
         const fn class(grapheme: G, word: W, sentence: S, alphanumeric: bool) -> Class {{\n    \
         Class {{\n        grapheme,\n        word,\n        sentence,\n        alphanumeric,\n    }}\n}}\n\n\
         /// The classes that there are, the one with the most runs first.\n\
         #[rustfmt::skip]\n\
         pub(super) static CLASSES: [Class; {}] = [\n{rows}];\n\n\
         /// The runs of code points of one class, from the first code point to the last; `runs` unpacks them.\n\
         #[rustfmt::skip]\n\
         pub(super) static RUNS: &[u8] = &[\n{}];\n",
        classes.len(),
        lines(&packed(runs, &classes))
    )
}

/// The classes, the one with the most runs first.
fn by_runs(runs: &[(u32, Class)]) -> Vec<Class> {
    let mut classes: Vec<(Class, usize)> = Vec::new();
    for (_, class) in runs {
        match classes.iter_mut().find(|(other, _)| other == class) {
            Some((_, count)) => *count += 1,
            None => classes.push((*class, 1)),
        }
    }
    classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    classes.into_iter().map(|(class, _)| class).collect()
}

fn row(class: Class) -> String {
    let Class {
        grapheme,
        word,
        sentence,
        alphanumeric,
    } = class;
    format!("    class(G::{grapheme:?}, W::{word:?}, S::{sentence:?}, {alphanumeric}),\n")
}

/// The runs as `runs` unpacks them.
fn packed(runs: &[(u32, Class)], classes: &[Class]) -> Vec<u8> {
    const MORE: u8 = 0x80;
    let ends = runs
        .iter()
        .skip(1)
        .map(|(start, _)| *start)
        .chain([u32::from(char::MAX) + 1]);
    let mut bytes = Vec::new();
    for ((start, class), end) in runs.iter().zip(ends) {
        let class = classes
            .iter()
            .position(|other| other == class)
            .expect("all are listed");
        let class = u8::try_from(class).expect("there are few classes");
        let mut len = end - start;
        if len == 1 {
            bytes.push(class | MORE);
            continue;
        }
        bytes.push(class);
        while len > 0 {
            let more = if len < u32::from(MORE) { 0 } else { MORE };
            bytes.push((len & 0x7f) as u8 | more);
            len >>= 7;
        }
    }
    bytes
}

/// Bytes in lines of a moderate length.
fn lines(bytes: &[u8]) -> String {
    const PER_LINE: usize = 24;
    let mut lines = String::new();
    for bytes in bytes.chunks(PER_LINE) {
        let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
        writeln!(lines, "    {},", bytes.join(", ")).expect("a string takes it");
    }
    lines
}
