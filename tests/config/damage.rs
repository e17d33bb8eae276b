//! Damaged files: whatever was done to the reference file, reading it ends with a configuration or with an error.

use super::{REFERENCE, read};
use proptest::prelude::*;
use reprise::config::Draft;

/// What an editor, a merge or a disk may do to a text. Places are taken modulo its length.
#[derive(Debug, Clone)]
enum Damage {
    Remove {
        at: usize,
        count: usize,
    },
    Insert {
        at: usize,
        text: String,
    },
    Copy {
        from: usize,
        count: usize,
        to: usize,
    },
    CutOff {
        at: usize,
    },
}

/// Pieces that mean something in TOML, in templates or in a field.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "{{",
    "}}",
    "{{ four }}",
    "=",
    ".",
    ",",
    "#",
    "\n",
    "\r\n",
    "\\",
    "\\u12",
    "-",
    "+",
    "_",
    "e",
    "0x",
    "1e9",
    "inf",
    "nan",
    "true",
    "1979-05-27",
    "99999999999999999999",
    "18446744073709551615s",
    "0",
    "ms",
    "\u{0}",
    "\u{feff}",
    "заказ",
    "[[operations]]\n",
    "[operations.x]\n",
    "name.a = 1\n",
    "a = [[[[[[[[",
    "/{a}",
    "~",
];

fn damage() -> impl Strategy<Value = Damage> {
    let place = 0..REFERENCE.len();
    let text = prop_oneof![
        3 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop_oneof![
        (place.clone(), 1..40_usize).prop_map(|(at, count)| Damage::Remove { at, count }),
        (place.clone(), text).prop_map(|(at, text)| Damage::Insert { at, text }),
        (place.clone(), 1..400_usize, place.clone()).prop_map(|(from, count, to)| Damage::Copy {
            from,
            count,
            to
        }),
        place.prop_map(|at| Damage::CutOff { at }),
    ]
}

fn apply(text: &str, damage: &Damage) -> String {
    // By characters, so that what comes out is text again.
    let chars: Vec<char> = text.chars().collect();
    let place = |at: usize| at % (chars.len() + 1);
    let piece = |from: usize, count: usize| &chars[from..(from + count).min(chars.len())];
    let mut out = chars.clone();
    match damage {
        Damage::Remove { at, count } => {
            let at = place(*at);
            out.drain(at..(at + count).min(chars.len()));
        }
        Damage::Insert { at, text } => {
            let at = place(*at);
            out.splice(at..at, text.chars());
        }
        Damage::Copy { from, count, to } => {
            let to = place(*to);
            out.splice(to..to, piece(place(*from), *count).iter().copied());
        }
        Damage::CutOff { at } => out.truncate(place(*at)),
    }
    out.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    /// The reference reader of TOML takes what we take, and refuses what we refuse. Only what is wrong with a date or a time
    /// is none of our business: no field is one.
    #[test]
    fn toml_is_what_the_reference_reader_takes_for_it(damages in prop::collection::vec(damage(), 1..6)) {
        let text = damages.iter().fold(REFERENCE.to_owned(), |text, damage| apply(&text, damage));
        let ours = Draft::parse(&text).err().filter(|error| error.problem.starts_with("is no TOML"));
        let theirs = toml::de::DeTable::parse(&text).err().map(|error| error.message().to_owned());
        let is_date = |message: &String| message.contains("date") || message.contains("time") || message.contains("offset");
        prop_assume!(!theirs.as_ref().is_some_and(is_date));
        prop_assert_eq!(ours.is_some(), theirs.is_some(), "{:?}, {:?}: {}", ours, theirs, text);
    }

    #[test]
    fn reading_ends_whatever_the_file_holds(damages in prop::collection::vec(damage(), 1..6)) {
        let text = damages.iter().fold(REFERENCE.to_owned(), |text, damage| apply(&text, damage));
        if let Err(error) = read(&text) {
            prop_assert!(!error.problem.is_empty());
            let lines = text.split('\n').count();
            prop_assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}");
        }
    }

    #[test]
    fn reading_ends_whatever_a_variable_holds(value in any::<String>(), which in 0..8_usize) {
        let draft = Draft::parse(REFERENCE).expect("the reference file is TOML");
        let name = draft.variables().nth(which).expect("it has eight").clone();
        // The outcome is another test's; this one is about panics.
        let _ = draft.settle(|asked| {
            if asked == name { Some(value.clone()) } else { super::sound_value(asked) }
        });
    }
}
