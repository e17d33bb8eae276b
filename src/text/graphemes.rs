//! Characters as a reader sees them: extended grapheme clusters, by the rules GB1 to GB999 of UAX #29.

use super::class::{Class, Grapheme};

/// How many clusters there are.
pub(super) fn count(classes: &[Class]) -> usize {
    let mut cursor = Cursor::default();
    classes
        .iter()
        .filter(|class| cursor.is_break_before(class.grapheme))
        .count()
}

/// What has to be known of the code points so far.
#[derive(Default)]
struct Cursor {
    /// The last one; none at the start.
    last: Option<Grapheme>,
    /// Whether the regional indicators so far are odd, so that the next one completes a flag.
    half_flag: bool,
    /// How far a pictograph has come that a joiner may join to the next.
    pictograph: Pictograph,
    /// How far a conjunct of consonants has come.
    conjunct: Conjunct,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Pictograph {
    #[default]
    None,
    /// A pictograph, and what extends it.
    Extended,
    /// And a joiner behind it.
    Joined,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Conjunct {
    #[default]
    None,
    /// A consonant, and what extends it.
    Consonant,
    /// And a linker among that.
    Linked,
}

impl Cursor {
    /// Moves on to the next code point, and says whether a cluster starts with it.
    fn is_break_before(&mut self, next: Grapheme) -> bool {
        let joins = self.last.is_some_and(|last| self.joins(last, next));
        self.half_flag = next == Grapheme::RegionalIndicator && !self.half_flag;
        self.pictograph = match (next, self.pictograph) {
            (Grapheme::Pictograph, _) => Pictograph::Extended,
            (Grapheme::Zwj, Pictograph::Extended) => Pictograph::Joined,
            (next, Pictograph::Extended) if next.extends() => Pictograph::Extended,
            _ => Pictograph::None,
        };
        self.conjunct = match (next, self.conjunct) {
            (Grapheme::Consonant, _) => Conjunct::Consonant,
            (Grapheme::ConjunctLinker, Conjunct::Consonant | Conjunct::Linked) => Conjunct::Linked,
            (Grapheme::ConjunctExtend | Grapheme::Zwj, conjunct) => conjunct,
            _ => Conjunct::None,
        };
        self.last = Some(next);
        !joins
    }

    fn joins(&self, last: Grapheme, next: Grapheme) -> bool {
        use Grapheme::{
            Consonant, Control, Cr, HangulL, HangulLv, HangulLvt, HangulT, HangulV, Lf, Pictograph,
            Prepend, RegionalIndicator, SpacingMark, Zwj,
        };
        match (last, next) {
            (Cr, Lf) => true,                                                // GB3
            (Control | Cr | Lf, _) | (_, Control | Cr | Lf) => false,        // GB4, GB5
            (HangulL, HangulL | HangulV | HangulLv | HangulLvt)              // GB6
            | (HangulLv | HangulV, HangulV | HangulT)                        // GB7
            | (HangulLvt | HangulT, HangulT)                                 // GB8
            | (_, Zwj | SpacingMark)                                         // GB9, GB9a
            | (Prepend, _) => true,                                          // GB9b
            (_, next) if next.extends() => true,                             // GB9
            (_, Consonant) => self.conjunct == Conjunct::Linked,             // GB9c
            (Zwj, Pictograph) => self.pictograph == self::Pictograph::Joined, // GB11
            (RegionalIndicator, RegionalIndicator) => self.half_flag,        // GB12, GB13
            _ => false,                                                      // GB999
        }
    }
}
