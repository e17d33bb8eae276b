//! Reading what we have stored as JSON, field by field into types of our own, in one pass.
//!
//! We read in the order in which we write, so nothing is gathered before it is read: a type says in a few lines which
//! members it has, and takes one after the other from where the cursor is. Deriving a reader for each type makes a parser
//! for each, and a tree of values takes longer to build than all else that a repeat needs of its record.
//!
//! It is strict: a member that is missing, unknown, in another's place or there twice is an error, which names the way to
//! it. A member that may be absent is `None` then. White space and escapes may be anybody's; the order is ours. What
//! others have written has none, and is not read here.

mod plain;
mod versioned;

#[cfg(test)]
mod tests;

pub use versioned::{Unread, versioned};

use std::borrow::Cow;
use std::fmt;

/// A place in a JSON text.
#[derive(Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    /// Always between two characters.
    at: usize,
}

/// Why JSON is not what a type is read from: what is wrong, behind the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit(Box<str>);

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misfit {}

impl Misfit {
    /// An error about the value at hand.
    pub fn new(problem: impl fmt::Display) -> Self {
        Self::of(&problem)
    }

    fn of(problem: &dyn fmt::Display) -> Self {
        Self(problem.to_string().into())
    }

    /// The same error, as one of the value around.
    fn within(&self, name: &dyn fmt::Display) -> Self {
        Self::new(format_args!("{name}: {self}"))
    }
}

/// What can be read from JSON of ours.
pub trait FromJson: Sized {
    /// Reads the value that comes next, all of it.
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit>;

    /// What a member of this type is that is not there, if it may be missing.
    fn absent() -> Option<Self> {
        None
    }
}

/// Reads JSON that we have stored, with nothing behind it.
pub fn read<T: FromJson>(bytes: &[u8]) -> Result<T, Misfit> {
    let mut cursor = Cursor::new(bytes)?;
    let value = T::from_json(&mut cursor)?;
    cursor.end()?;
    Ok(value)
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Misfit> {
        let text = str::from_utf8(bytes).map_err(Misfit::new)?;
        Ok(Self { text, at: 0 })
    }

    /// Passes when nothing is left.
    pub fn end(&mut self) -> Result<(), Misfit> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(Misfit::new("something behind its end")),
        }
    }

    /// Reads an object, in the order of its members. Members that `read` does not take are unknown.
    pub fn object<T>(
        &mut self,
        read: impl FnOnce(&mut Members<'_, 'a>) -> Result<T, Misfit>,
    ) -> Result<T, Misfit> {
        self.open(b'{', "an object")?;
        let mut members = Members {
            cursor: self,
            is_first: true,
        };
        let value = read(&mut members)?;
        members.end()?;
        Ok(value)
    }

    /// Reads a list item by item.
    pub fn list(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<(), Misfit>,
    ) -> Result<(), Misfit> {
        self.open(b'[', "a list")?;
        for index in 0_usize.. {
            if self.peek() == Some(b']') {
                self.at += 1;
                break;
            }
            if index > 0 {
                self.open(b',', "followed by another, and no end")?;
            }
            read(self).map_err(|misfit| misfit.within(&index))?;
        }
        Ok(())
    }

    /// The case of an enum: its name, and what it holds. One that holds nothing is its name alone.
    pub fn case<T>(
        &mut self,
        read: impl FnOnce(&str, Held<'_, 'a>) -> Result<T, Misfit>,
    ) -> Result<T, Misfit> {
        if self.peek() == Some(b'"') {
            return read(&self.text()?, Held(None));
        }
        self.open(b'{', "one of several cases")?;
        let name = self.name()?;
        let value = read(&name, Held(Some(self)))?;
        self.open(b'}', "a single case")?;
        Ok(value)
    }

    /// The case of an enum whose cases all hold nothing.
    pub fn one_of<T: Copy>(&mut self, cases: &[(&str, T)]) -> Result<T, Misfit> {
        let name = self.text()?;
        let case = cases.iter().find(|(case, _)| *case == name);
        case.map(|(_, case)| *case)
            .ok_or_else(|| unknown_case(&name))
    }

    /// A text.
    pub fn text(&mut self) -> Result<Cow<'a, str>, Misfit> {
        self.open(b'"', "a text")?;
        let plain = self.plain();
        if self.skip(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        while !self.skip(b'"') {
            text.push(self.escaped()?);
            text.push_str(self.plain());
        }
        Ok(Cow::Owned(text))
    }

    /// What stands for itself in a text, up to its end or whatever else comes.
    fn plain(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let mut bytes = rest.as_bytes().iter();
        let len = bytes.position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
        let plain = &rest[..len.unwrap_or(rest.len())];
        self.at += plain.len();
        plain
    }

    /// A character that is escaped in a text (RFC 8259, section 7).
    fn escaped(&mut self) -> Result<char, Misfit> {
        let malformed = || Misfit::new("a text that does not end, or a wrong escape in it");
        let rest = &self.text.as_bytes()[self.at..];
        let [b'\\', kind, ..] = rest else {
            return Err(malformed());
        };
        self.at += 2;
        Ok(match kind {
            b'"' | b'\\' | b'/' => char::from(*kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                // Beyond the first 65,536 characters, two halves stand for one.
                let halves = [self.half().ok_or_else(malformed)?];
                match char::decode_utf16(halves).next() {
                    Some(Ok(char)) => char,
                    _ if self.skip(b'\\') && self.skip(b'u') => {
                        let halves = [halves[0], self.half().ok_or_else(malformed)?];
                        let whole = char::decode_utf16(halves).next();
                        whole.and_then(Result::ok).ok_or_else(malformed)?
                    }
                    _ => return Err(malformed()),
                }
            }
            _ => return Err(malformed()),
        })
    }

    /// Four hexadecimal digits.
    fn half(&mut self) -> Option<u16> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        let is_spelled = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| is_spelled)
    }

    /// Passes over this very byte, if it comes next.
    fn skip(&mut self, byte: u8) -> bool {
        let comes = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(comes);
        comes
    }

    /// A whole number that is not negative.
    pub fn number(&mut self) -> Result<u64, Misfit> {
        let first = self.peek();
        let begin = self.at;
        let mut number = Some(0_u64);
        while let Some(digit @ b'0'..=b'9') = self.text.as_bytes().get(self.at) {
            let digit = u64::from(digit - b'0');
            number = number.and_then(|number| number.checked_mul(10)?.checked_add(digit));
            self.at += 1;
        }
        let digits = self.at - begin;
        let is_spelled = digits > 0 && (digits == 1 || first != Some(b'0'));
        let is_whole = !matches!(self.text.as_bytes().get(self.at), Some(b'.' | b'e' | b'E'));
        match number {
            Some(number) if is_spelled && is_whole => Ok(number),
            Some(_) | None => Err(Misfit::new("not a whole number")),
        }
    }

    /// Passes over a `null`, if one comes next.
    fn null(&mut self) -> bool {
        let is_null = self.peek() == Some(b'n') && self.text[self.at..].starts_with("null");
        if is_null {
            self.at += 4;
        }
        is_null
    }

    /// The next byte that means something.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at).copied() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte,
            }
        }
    }

    /// Passes over this byte.
    fn open(&mut self, byte: u8, what: &str) -> Result<(), Misfit> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(Misfit::new(format_args!("not {what}")))
        }
    }

    /// The name of a member.
    fn name(&mut self) -> Result<Cow<'a, str>, Misfit> {
        let name = self.text()?;
        self.open(b':', "a member: no colon")?;
        Ok(name)
    }
}

/// The members of an object that were not taken yet.
#[derive(Debug)]
pub struct Members<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    is_first: bool,
}

impl<'a> Members<'_, 'a> {
    /// Reads the member of this name, which is the next one.
    pub fn take<T: FromJson>(&mut self, name: &'static str) -> Result<T, Misfit> {
        if !self.comes(name)? {
            return T::absent().ok_or_else(|| self.instead_of(name));
        }
        T::from_json(self.cursor).map_err(|misfit| misfit.within(&name))
    }

    /// Reads the next member, whatever its name is.
    fn take_any<T: FromJson>(&mut self) -> Result<Option<(Cow<'a, str>, T)>, Misfit> {
        let Some(name) = self.next_name()? else {
            return Ok(None);
        };
        self.is_first = false;
        let value = T::from_json(self.cursor).map_err(|misfit| misfit.within(&name))?;
        Ok(Some((name, value)))
    }

    /// Whether the member of this name comes next; if so, the cursor is at its value then.
    fn comes(&mut self, name: &str) -> Result<bool, Misfit> {
        if self.comes_as_we_write(name) {
            return Ok(true);
        }
        let begin = self.cursor.at;
        let comes = self.next_name()?.is_some_and(|next| next == name);
        if comes {
            self.is_first = false;
        } else {
            self.cursor.at = begin;
        }
        Ok(comes)
    }

    /// [`Self::comes`] for a member that is written as we do, without white space and escapes. All of ours are.
    fn comes_as_we_write(&mut self, name: &str) -> bool {
        let mut rest = &self.cursor.text.as_bytes()[self.cursor.at..];
        let before: &[u8] = if self.is_first { b"\"" } else { b",\"" };
        for part in [before, name.as_bytes(), b"\":"] {
            match rest.strip_prefix(part) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        self.cursor.at = self.cursor.text.len() - rest.len();
        self.is_first = false;
        true
    }

    /// The name of the next member, if there is one.
    fn next_name(&mut self) -> Result<Option<Cow<'a, str>>, Misfit> {
        if self.cursor.peek() == Some(b'}') {
            return Ok(None);
        }
        if !self.is_first {
            self.cursor.open(b',', "followed by another, and no end")?;
        }
        self.cursor.name().map(Some)
    }

    /// The error for a member that does not come next.
    fn instead_of(&mut self, name: &str) -> Misfit {
        match self.next_name() {
            Ok(None) => Misfit::new("missing").within(&name),
            Ok(Some(next)) => Misfit::new(format_args!(
                "unknown field `{next}` in the place of `{name}`"
            )),
            Err(misfit) => misfit,
        }
    }

    /// Passes over the end, where there are no more members.
    fn end(mut self) -> Result<(), Misfit> {
        match self.next_name()? {
            None => self.cursor.open(b'}', "the end of an object"),
            Some(name) => Err(Misfit::new(format_args!("unknown field `{name}`"))),
        }
    }
}

/// What a case of an enum holds, if anything.
#[derive(Debug)]
pub struct Held<'c, 'a>(Option<&'c mut Cursor<'a>>);

impl<'c, 'a> Held<'c, 'a> {
    /// A case that holds nothing.
    pub fn nothing<T>(self, case: T) -> Result<T, Misfit> {
        match self.0 {
            None => Ok(case),
            Some(_) => Err(Misfit::new("more than a name")),
        }
    }

    /// Where that is which is held.
    pub fn cursor(self) -> Result<&'c mut Cursor<'a>, Misfit> {
        self.0.ok_or_else(|| Misfit::new("no more than a name"))
    }
}

/// Reads a struct from an object with exactly its fields, in their order.
#[macro_export]
macro_rules! from_object {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::cursor::FromJson for $type {
            fn from_json(
                cursor: &mut $crate::cursor::Cursor<'_>,
            ) -> Result<Self, $crate::cursor::Misfit> {
                cursor.object(|members| {
                    Ok(Self { $($field: members.take(stringify!($field))?),+ })
                })
            }
        }
    };
}

/// Reads an enum from the name of one of its cases, which an object holds with what belongs to it.
#[macro_export]
macro_rules! from_cases {
    ($type:ident {
        $($name:literal => $case:ident $({ $($field:ident),+ $(,)? })? $(($held:ty))?),+ $(,)?
    }) => {
        impl $crate::cursor::FromJson for $type {
            fn from_json(
                cursor: &mut $crate::cursor::Cursor<'_>,
            ) -> Result<Self, $crate::cursor::Misfit> {
                cursor.case(|name, held| match name {
                    $($name => $crate::cursor::from_case!(
                        held, $case $({ $($field),+ })? $(($held))?
                    ),)+
                    other => Err($crate::cursor::unknown_case(other)),
                })
            }
        }
    };
}

/// Reads what belongs to a case.
#[macro_export]
macro_rules! from_case {
    ($held:ident, $case:ident) => {
        $held.nothing(Self::$case)
    };
    ($held:ident, $case:ident { $($field:ident),+ }) => {
        $held.cursor()?.object(|members| {
            Ok(Self::$case { $($field: members.take(stringify!($field))?),+ })
        })
    };
    ($held:ident, $case:ident($type:ty)) => {
        <$type as $crate::cursor::FromJson>::from_json($held.cursor()?).map(Self::$case)
    };
}

pub use crate::{from_case, from_cases, from_object};

/// The error for a case that a type does not have.
pub fn unknown_case(name: &str) -> Misfit {
    Misfit::new(format_args!("unknown case `{name}`"))
}
