//! Text analysis: counts of what a reader would count, by the rules of Unicode.
//!
//! Grapheme clusters, words and sentences are those of UAX #29. A word there is a run that holds a letter or a digit;
//! Chinese and Japanese are written without spaces, and each Han character counts as a word, because finding their
//! words takes a dictionary.

use serde::Serialize;
use std::collections::BinaryHeap;

use crate::text::Text;

/// How many of the most frequent words are named.
pub const FREQUENT_WORDS_MAX: usize = 10;
/// The longest word that is named among the most frequent, in bytes. A longer one counts, but is no word to show.
pub const FREQUENT_WORD_BYTES_MAX: usize = 256;

/// What is known of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Analysis<'a> {
    /// The text without white space at its ends.
    pub text: &'a str,
    /// What was counted in it.
    pub analysis: Counts,
}

/// The counts of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Bytes in UTF-8.
    pub bytes: usize,
    /// Characters as a reader sees them: extended grapheme clusters.
    pub characters: usize,
    /// Words.
    pub words: usize,
    /// Sentences.
    pub sentences: usize,
    /// Lines, however they end.
    pub lines: usize,
    /// Words that differ by more than upper and lower case.
    pub unique_words: usize,
    /// The words that come most often, in lower case; equally frequent ones in the order of their code points.
    pub most_frequent_words: Vec<Frequency>,
}

/// How often a word comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Frequency {
    /// The word, in lower case.
    pub word: String,
    /// How often it comes.
    pub count: usize,
}

/// A text of which nothing is left when white space is taken off its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blank;

/// A text without the white space at its ends.
pub fn trimmed(raw: &str) -> Result<&str, Blank> {
    let text = raw.trim();
    if text.is_empty() {
        Err(Blank)
    } else {
        Ok(text)
    }
}

/// Analyses a text after trimming it.
pub fn analyze(raw: &str) -> Result<Analysis<'_>, Blank> {
    let text = trimmed(raw)?;
    let seen = Text::new(text);
    // By a heap, whose code is a fraction of a sort's.
    let words: BinaryHeap<String> = seen.words().into_iter().map(str::to_lowercase).collect();
    let words = words.into_sorted_vec();
    let analysis = Counts {
        bytes: text.len(),
        characters: seen.characters(),
        words: words.len(),
        sentences: seen.sentences(),
        lines: lines(text),
        unique_words: alike(&words).count(),
        most_frequent_words: most_frequent(&words),
    };
    Ok(Analysis { text, analysis })
}

/// Lines end with LF, CR LF, or CR alone.
fn lines(text: &str) -> usize {
    let ends = text.matches(['\n', '\r']).count() - text.matches("\r\n").count();
    // The text is trimmed, so what follows the last end is a line too.
    ends + 1
}

/// Each word of a sorted list, as often as it is in there.
fn alike(words: &[String]) -> impl Iterator<Item = &[String]> {
    words.chunk_by(|one, other| one == other)
}

fn most_frequent(words: &[String]) -> Vec<Frequency> {
    let mut frequent: Vec<Frequency> = Vec::new();
    for alike in alike(words) {
        let (word, count) = (&alike[0], alike.len());
        // Behind those that are as frequent, so they stay in the words' order.
        let rank = frequent.partition_point(|other| other.count >= count);
        if rank < FREQUENT_WORDS_MAX && word.len() <= FREQUENT_WORD_BYTES_MAX {
            frequent.truncate(FREQUENT_WORDS_MAX - 1);
            let word = word.clone();
            frequent.insert(rank, Frequency { word, count });
        }
    }
    frequent
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (text, bytes, characters, words, sentences, lines, unique words, the most frequent word)
    type Row = (&'static str, [usize; 6], (&'static str, usize));

    #[test]
    fn texts_in_many_scripts_are_counted_as_a_reader_would() {
        let table: &[Row] = &[
            ("Hello, hello world!", [19, 19, 3, 1, 1, 2], ("hello", 2)),
            ("  spaced \n", [6, 6, 1, 1, 1, 1], ("spaced", 1)),
            ("Привет, мир. Мир!", [29, 17, 3, 2, 1, 2], ("мир", 2)),
            ("你好，世界。你好！", [27, 9, 6, 2, 1, 4], ("你", 2)),
            // A family, a flag and a thumb with a skin tone: one character each.
            ("👨‍👩‍👧 🇫🇷 👍🏽", [36, 5, 0, 0, 1, 0], ("", 0)),
            // e with a combining accent is one character.
            ("cafe\u{301}", [6, 4, 1, 1, 1, 1], ("cafe\u{301}", 1)),
            ("one\r\ntwo\rthree\nfour", [19, 18, 4, 4, 4, 4], ("four", 1)),
            ("can't stop 3.14", [15, 15, 3, 1, 1, 3], ("3.14", 1)),
        ];
        for (text, [bytes, characters, words, sentences, lines, unique_words], (word, count)) in
            table
        {
            let counts = analyze(text).expect("none of these is blank").analysis;
            let frequent = counts.most_frequent_words.first();
            assert_eq!(
                (
                    counts.bytes,
                    counts.characters,
                    counts.words,
                    counts.sentences,
                    counts.lines
                ),
                (*bytes, *characters, *words, *sentences, *lines),
                "{text:?}"
            );
            assert_eq!(counts.unique_words, *unique_words, "{text:?}");
            assert_eq!(
                frequent.map_or(("", 0), |frequency| (
                    frequency.word.as_str(),
                    frequency.count
                )),
                (*word, *count),
                "{text:?}"
            );
        }
    }

    #[test]
    fn blank_texts_are_refused() {
        for text in ["", " ", "\t\r\n", "\u{a0}\u{2003}\u{3000}"] {
            assert_eq!(analyze(text), Err(Blank), "{text:?}");
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is about how long the work takes"
    )]
    fn no_text_takes_long() {
        const BYTES: usize = 128 * 1_024;
        let fillers = [
            " ", ")", "(", " )", "\u{2003}", ".", ". ", "\u{301}", "\u{200d}", "1 ", "a.", "\"",
            "?! ",
        ];
        for filler in fillers {
            let text = format!("a.{}1", filler.repeat(BYTES / filler.len()));
            let start = std::time::Instant::now();
            assert!(analyze(&text).is_ok());
            // Milliseconds, where a time that grows with the square takes minutes.
            assert!(
                start.elapsed().as_secs() < 10,
                "{filler:?} took {:?}",
                start.elapsed()
            );
        }
    }

    #[test]
    fn a_long_run_of_spaces_ends_one_sentence() {
        let text = format!(
            "One.{}Two. three{}four",
            " ".repeat(1_000),
            ")".repeat(1_000)
        );
        assert_eq!(analyze(&text).expect("not blank").analysis.sentences, 2);
    }

    #[test]
    fn at_most_ten_words_are_named_and_none_that_is_no_word_to_show() {
        let text = format!(
            "{} b b {}",
            "a".repeat(FREQUENT_WORD_BYTES_MAX + 1),
            "c d e f g h i j k l m"
        );
        let counts = analyze(&text).expect("not blank").analysis;
        assert_eq!(counts.unique_words, 13);
        assert_eq!(counts.most_frequent_words.len(), FREQUENT_WORDS_MAX);
        assert_eq!(
            counts.most_frequent_words[0],
            Frequency {
                word: "b".to_owned(),
                count: 2
            }
        );
    }
}
