//! What the rules of UAX #29 want to know of a code point.
//!
//! Unicode gives each a value for characters, one for words and one for sentences. Of their combinations only some
//! sixty exist; those are what the table of all code points tells apart.

use super::runs;

/// What the rules see of a code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Its part in characters.
    pub grapheme: Grapheme,
    /// Its part in words.
    pub word: Word,
    /// Its part in sentences.
    pub sentence: Sentence,
    /// Whether it is a letter or a digit.
    pub alphanumeric: bool,
}

/// The values of `Grapheme_Cluster_Break`, with those of `Indic_Conjunct_Break` and `Extended_Pictographic` among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "these are Unicode's names")]
pub enum Grapheme {
    Any,
    Cr,
    Lf,
    Control,
    /// One that extends characters and no conjunct.
    Extend,
    /// One that extends conjuncts too.
    ConjunctExtend,
    /// One that makes a conjunct of the consonants around it.
    ConjunctLinker,
    Zwj,
    RegionalIndicator,
    Prepend,
    SpacingMark,
    HangulL,
    HangulV,
    HangulT,
    HangulLv,
    HangulLvt,
    Pictograph,
    Consonant,
}

impl Grapheme {
    /// `Extend` of whichever kind.
    pub(super) fn extends(self) -> bool {
        matches!(
            self,
            Self::Extend | Self::ConjunctExtend | Self::ConjunctLinker
        )
    }
}

/// The values of `Word_Break`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "these are Unicode's names")]
pub enum Word {
    Any,
    Cr,
    Lf,
    Newline,
    Extend,
    Zwj,
    Format,
    RegionalIndicator,
    Katakana,
    HebrewLetter,
    ALetter,
    SingleQuote,
    DoubleQuote,
    MidNumLet,
    MidLetter,
    MidNum,
    Numeric,
    ExtendNumLet,
    Space,
}

impl Word {
    pub(super) fn ends_line(self) -> bool {
        matches!(self, Self::Cr | Self::Lf | Self::Newline)
    }

    /// Whether rule WB4 passes over it.
    pub(super) fn is_skipped(self) -> bool {
        matches!(self, Self::Extend | Self::Format | Self::Zwj)
    }

    pub(super) fn is_letter(self) -> bool {
        matches!(self, Self::ALetter | Self::HebrewLetter)
    }

    /// Whether it holds letters on both of its sides together.
    pub(super) fn joins_letters(self) -> bool {
        matches!(self, Self::MidLetter | Self::MidNumLet | Self::SingleQuote)
    }

    /// Whether it holds digits on both of its sides together.
    pub(super) fn joins_digits(self) -> bool {
        matches!(self, Self::MidNum | Self::MidNumLet | Self::SingleQuote)
    }

    /// Whether a low line or the like holds on to it.
    pub(super) fn takes_extender(self) -> bool {
        self.is_letter() || matches!(self, Self::Numeric | Self::Katakana)
    }
}

/// The values of `Sentence_Break`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "these are Unicode's names")]
pub enum Sentence {
    Any,
    Cr,
    Lf,
    Sep,
    Extend,
    Format,
    Sp,
    Lower,
    Upper,
    OLetter,
    Numeric,
    ATerm,
    SContinue,
    STerm,
    Close,
}

impl Sentence {
    pub(super) fn ends_paragraph(self) -> bool {
        matches!(self, Self::Sep | Self::Cr | Self::Lf)
    }

    /// Whether rule SB5 passes over it.
    pub(super) fn is_skipped(self) -> bool {
        matches!(self, Self::Extend | Self::Format)
    }

    pub(super) fn is_cased(self) -> bool {
        matches!(self, Self::Upper | Self::Lower)
    }

    /// Whether a look ahead for a small letter ends here.
    pub(super) fn decides_case(self) -> bool {
        self.is_cased()
            || self.ends_paragraph()
            || matches!(self, Self::OLetter | Self::ATerm | Self::STerm)
    }
}

impl Class {
    /// The class of a code point.
    pub fn of(char: char) -> Self {
        /// The syllables of Hangul go by the last of their three parts, of which there are 27 and none.
        const SYLLABLES: std::ops::RangeInclusive<char> = '\u{ac00}'..='\u{d7a3}';
        const LAST_PARTS: u32 = 28;
        let mut class = runs::class_of(char);
        if SYLLABLES.contains(&char)
            && (u32::from(char) - u32::from(*SYLLABLES.start())) % LAST_PARTS == 0
        {
            class.grapheme = Grapheme::HangulLv;
        }
        class
    }
}
