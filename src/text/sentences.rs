//! Sentences, by the rules SB1 to SB998 of UAX #29.

use super::class::{Class, Sentence};

/// How many sentences hold a letter or a digit.
pub(super) fn count(classes: &[Class]) -> usize {
    let mut cursor = Cursor::default();
    let (mut sentences, mut counts) = (0, false);
    for at in 0..classes.len() {
        if cursor.is_break_before(&classes[at..]) {
            sentences += usize::from(counts);
            counts = false;
        }
        counts |= classes[at].alphanumeric;
    }
    sentences + usize::from(counts)
}

/// What has to be known of the code points so far. Those that rule SB5 skips are what they follow.
#[derive(Default)]
struct Cursor {
    /// The last code point that is not skipped; none at the start.
    left: Option<Sentence>,
    /// The end of a sentence that may have begun.
    end: Option<End>,
}

/// A full stop or the like, and what came behind it.
#[derive(Clone, Copy)]
struct End {
    stage: Stage,
    /// For a full stop, which may also end an abbreviation, what speaks for that; nothing for the others.
    stop: Option<FullStop>,
}

#[derive(Clone, Copy)]
struct FullStop {
    /// A letter with a case is before it.
    behind_cased: bool,
    /// The first letter behind it, if no sentence ends before that, is a small one.
    before_lower: bool,
}

/// What came behind the end, in the only order that keeps it the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Mark,
    Close,
    Space,
}

impl Cursor {
    /// Moves on to the first of these code points, and says whether a sentence starts with it.
    fn is_break_before(&mut self, rest: &[Class]) -> bool {
        use Sentence::{ATerm, Close, Cr, Lf, STerm, Sp};
        let next = rest[0].sentence;
        let joins = match self.left {
            None => false,                                         // SB1
            Some(Cr) if next == Lf => true,                        // SB3
            Some(left) if left.ends_paragraph() => false,          // SB4
            Some(_) if next.is_skipped() => return false,          // SB5
            Some(_) => self.end.is_none_or(|end| end.joins(next)), // SB6 to SB998
        };
        self.end = match (next, self.end) {
            (ATerm, _) => Some(End {
                stage: Stage::Mark,
                stop: Some(FullStop {
                    behind_cased: self.left.is_some_and(Sentence::is_cased),
                    before_lower: is_lower_ahead(&rest[1..]),
                }),
            }),
            (STerm, _) => Some(End {
                stage: Stage::Mark,
                stop: None,
            }),
            (Close, Some(end)) if end.stage <= Stage::Close => Some(End {
                stage: Stage::Close,
                ..end
            }),
            (Sp, Some(end)) => Some(End {
                stage: Stage::Space,
                ..end
            }),
            _ => None,
        };
        self.left = Some(next);
        !joins
    }
}

impl End {
    #[expect(
        clippy::match_same_arms,
        reason = "an arm for each rule, in their order"
    )]
    fn joins(self, next: Sentence) -> bool {
        use Sentence::{ATerm, Close, Cr, Lf, Numeric, SContinue, STerm, Sep, Sp, Upper};
        let at_mark = self.stage == Stage::Mark;
        match (next, self.stop) {
            (Numeric, Some(_)) if at_mark => true, // SB6
            (Upper, Some(stop)) if at_mark && stop.behind_cased => true, // SB7
            (
                _,
                Some(FullStop {
                    before_lower: true, ..
                }),
            ) => true, // SB8
            (SContinue | STerm | ATerm | Sp | Sep | Cr | Lf, _) => true, // SB8a, SB9, SB10
            (Close, _) => self.stage <= Stage::Close, // SB9
            _ => false,                            // SB11
        }
    }
}

/// Rule SB8 asks this from each code point behind a full stop; the answer is the same for all that the rule may ask
/// from. A look ahead ends at the next full stop at the latest, so none is passed twice.
fn is_lower_ahead(rest: &[Class]) -> bool {
    rest.iter()
        .map(|class| class.sentence)
        .find(|sentence| sentence.decides_case())
        == Some(Sentence::Lower)
}
