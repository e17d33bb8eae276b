//! Characters, words and sentences, held against the crate `unicode-segmentation`: every code point, every short text
//! of all that the rules tell apart, and long ones at random. And the table, which is made from what that crate does.

mod table;

use proptest::prelude::*;
use reprise::text::{Class, Grapheme, Text};
use unicode_segmentation::UnicodeSegmentation as _;

use table::one_of_each_class;

/// What both sides say of a text: characters, words, sentences.
type Counted<'a> = (usize, Vec<&'a str>, usize);

fn ours(text: &str) -> Counted<'_> {
    let seen = Text::new(text);
    (seen.characters(), seen.words(), seen.sentences())
}

/// The reference forgets what came before a joiner that a pictograph follows, so that the words of `a.`, the joiner and
/// the pictograph are one; by the rules they are `a` and the rest. Only these texts are left out.
fn is_cut_by_the_rules(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    !chars
        .windows(2)
        .any(|pair| pair[0] == '\u{200d}' && Class::of(pair[1]).grapheme == Grapheme::Pictograph)
}

fn theirs(text: &str) -> Counted<'_> {
    let words = text.unicode_words().collect();
    (
        text.graphemes(true).count(),
        words,
        text.unicode_sentences().count(),
    )
}

#[test]
fn every_text_of_three_code_points_is_cut_as_the_reference_cuts_it() {
    let chars = one_of_each_class();
    for first in &chars {
        for second in &chars {
            for third in &chars {
                let text = String::from_iter([first, second, third]);
                if is_cut_by_the_rules(&text) {
                    assert_eq!(ours(&text), theirs(&text), "{text:?}");
                }
            }
        }
    }
}

/// Texts of which the classes that rules name come more often than their share.
fn texts() -> impl Strategy<Value = String> {
    let any = prop::sample::select(one_of_each_class());
    let telling = prop::sample::select(
        "aA1. '\"\u{301}\u{200d}🇦🙂क\u{94d}\n\r!)א,:_"
            .chars()
            .collect::<Vec<_>>(),
    );
    let char = prop_oneof![any, telling];
    prop::collection::vec(char, 0..24).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn long_texts_are_cut_as_the_reference_cuts_them(text in texts()) {
        if is_cut_by_the_rules(&text) {
            prop_assert_eq!(ours(&text), theirs(&text));
        }
    }
}

/// From the rules' own text: what each is there for.
#[test]
fn what_the_rules_are_there_for() {
    let table: &[(&str, usize, &[&str], usize)] = &[
        ("", 0, &[], 0),
        ("e\u{301}", 1, &["e\u{301}"], 1),
        ("\r\n", 1, &[], 0),
        ("각", 1, &["각"], 1),
        ("क्षि", 1, &["क्षि"], 1),
        ("👩‍👩‍👧🇫🇷🇩🇪", 3, &[], 0),
        (
            "The quick (“brown”) fox can’t jump 32.3 feet, right?",
            52,
            &[
                "The", "quick", "brown", "fox", "can’t", "jump", "32.3", "feet", "right",
            ],
            1,
        ),
        (
            "c.d. He said: “Yes.” 3.4 etc. and so on... no",
            45,
            &[
                "c.d", "He", "said", "Yes", "3.4", "etc", "and", "so", "on", "no",
            ],
            3,
        ),
        ("a👩‍👩b a.👩", 7, &["a", "b", "a"], 1),
        ("a.\u{200d}👩", 3, &["a"], 1),
        ("צה״ל ג׳", 7, &["צה״ל", "ג׳"], 1),
    ];
    for (text, characters, words, sentences) in table {
        assert_eq!(
            ours(text),
            (*characters, words.to_vec(), *sentences),
            "{text:?}"
        );
    }
}
