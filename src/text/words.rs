//! Words, by the rules WB1 to WB999 of UAX #29.

use super::class::{Class, Grapheme, Word};

/// The words that hold a letter or a digit.
pub(super) fn all<'a>(text: &'a str, classes: &[Class]) -> Vec<&'a str> {
    let mut words = Vec::new();
    let mut cursor = Cursor::default();
    let (mut start, mut counts) = (0, false);
    for (at, (offset, _)) in text.char_indices().enumerate() {
        if cursor.is_break_before(&classes[at..]) {
            if counts {
                words.push(&text[start..offset]);
            }
            (start, counts) = (offset, false);
        }
        counts |= classes[at].alphanumeric;
    }
    if counts {
        words.push(&text[start..]);
    }
    words
}

/// What has to be known of the code points so far. Those that rule WB4 skips are what they follow, except behind the
/// end of a line and at the start, where the first of them stands for itself.
#[derive(Default)]
struct Cursor {
    /// The last code point; none at the start.
    last: Option<Word>,
    /// The last that is not skipped.
    left: Option<Word>,
    /// The one before that.
    left_of_left: Option<Word>,
    /// Whether the regional indicators so far are odd, so that the next one completes a flag.
    half_flag: bool,
}

impl Cursor {
    /// Moves on to the first of these code points, and says whether a word or a gap starts with it.
    fn is_break_before(&mut self, rest: &[Class]) -> bool {
        let next = rest[0];
        let at_start = self.last.is_none_or(Word::ends_line);
        let joins = self.joins(next, &rest[1..]);
        self.last = Some(next.word);
        if at_start || !next.word.is_skipped() {
            self.left_of_left = self.left;
            self.left = Some(next.word);
            self.half_flag = next.word == Word::RegionalIndicator && !self.half_flag;
        }
        !joins
    }

    #[expect(
        clippy::match_same_arms,
        reason = "an arm for each rule, in their order"
    )]
    fn joins(&self, next: Class, behind: &[Class]) -> bool {
        let (Some(last), Some(left)) = (self.last, self.left) else {
            return false;
        };
        match (last, next.word) {
            (Word::Cr, Word::Lf) => return true, // WB3
            (last, next) if last.ends_line() || next.ends_line() => return false, // WB3a, WB3b
            (Word::Zwj, _) if next.grapheme == Grapheme::Pictograph => return true, // WB3c
            (Word::Space, Word::Space) => return true, // WB3d
            (_, next) if next.is_skipped() => return true, // WB4
            _ => {}
        }
        // The next one that is not skipped, looked for only where a rule asks: it stands right behind a code point that
        // no other look-ahead will start from, so none is passed twice.
        let right = || {
            behind
                .iter()
                .map(|class| class.word)
                .find(|word| !word.is_skipped())
        };
        let left_of_left = self.left_of_left.unwrap_or(Word::Any);
        match (left, next.word) {
            (left, next) if left.is_letter() && next.is_letter() => true, // WB5
            (Word::HebrewLetter, Word::SingleQuote) => true,              // WB7a
            (Word::HebrewLetter, Word::DoubleQuote) => right() == Some(Word::HebrewLetter), // WB7b
            (left, next) if left.is_letter() && next.joins_letters() => {
                right().is_some_and(Word::is_letter) // WB6
            }
            (left, next)
                if left.joins_letters() && next.is_letter() && left_of_left.is_letter() =>
            {
                true // WB7
            }
            (Word::DoubleQuote, Word::HebrewLetter) => left_of_left == Word::HebrewLetter, // WB7c
            (Word::Numeric, Word::Numeric) => true,                                        // WB8
            (left, Word::Numeric) if left.is_letter() => true,                             // WB9
            (Word::Numeric, next) if next.is_letter() => true,                             // WB10
            (left, Word::Numeric) if left.joins_digits() => left_of_left == Word::Numeric, // WB11
            (Word::Numeric, next) if next.joins_digits() => right() == Some(Word::Numeric), // WB12
            (Word::Katakana, Word::Katakana) => true,                                      // WB13
            (Word::ExtendNumLet, Word::ExtendNumLet) => true,                              // WB13a
            (left, Word::ExtendNumLet) => left.takes_extender(),                           // WB13a
            (Word::ExtendNumLet, next) => next.takes_extender(),                           // WB13b
            (Word::RegionalIndicator, Word::RegionalIndicator) => self.half_flag, // WB15, WB16
            _ => false,                                                           // WB999
        }
    }
}
