//! Text as a reader sees it: the characters, words and sentences of UAX #29, Unicode's rules for where one ends.
//!
//! The rules are ours, and so is the form of their table, because of their size: the tables of the crate
//! `unicode-segmentation` alone take 72 KB of the component, ours take 6. That crate stays the reference: the tests hold
//! every code point and many texts against it, and write the table anew when it knows of a later Unicode.
//!
//! All three walks take a time that is linear in the text. Each sees a [`Class`] per code point and never the code
//! point, so the text is looked up once for all of them.

mod class;
mod graphemes;
mod runs;
mod sentences;
mod table;
mod words;

pub use class::{Class, Grapheme, Sentence, Word};

/// What the rules see of a text, a class for each code point.
#[derive(Debug)]
pub struct Text<'a> {
    text: &'a str,
    classes: Vec<Class>,
}

impl<'a> Text<'a> {
    /// Looks every code point of a text up.
    pub fn new(text: &'a str) -> Self {
        let classes = text.chars().map(Class::of).collect();
        Self { text, classes }
    }

    /// How many characters a reader would count: extended grapheme clusters.
    pub fn characters(&self) -> usize {
        graphemes::count(&self.classes)
    }

    /// The words: what lies between two boundaries and holds a letter or a digit.
    pub fn words(&self) -> Vec<&'a str> {
        words::all(self.text, &self.classes)
    }

    /// How many sentences hold a letter or a digit.
    pub fn sentences(&self) -> usize {
        sentences::count(&self.classes)
    }
}
