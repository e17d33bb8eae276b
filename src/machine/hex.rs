//! Fixed-size binary names, written as lower-case hexadecimal digits.

use core::fmt;
use core::str::FromStr;

use serde::{Serialize, Serializer};

use reprise_json::cursor::{Cursor, FromJson, Misfit};

/// A SHA-256 digest.
pub type Digest = Hex<32>;

/// The trace that an operation belongs to: the trace-id of W3C Trace Context.
pub type TraceId = Hex<16>;

/// `N` bytes that read as `2 * N` hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hex<const N: usize>([u8; N]);

impl<const N: usize> Hex<N> {
    /// Wraps `bytes`.
    pub const fn new(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(2 * N);
        for byte in self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 0xf)]));
        }
        f.write_str(&text)
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not `2 * N` lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HexError;

impl fmt::Display for HexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the expected number of lower-case hexadecimal digits")
    }
}

impl core::error::Error for HexError {}

impl<const N: usize> FromStr for Hex<N> {
    type Err = HexError;

    /// One name has one spelling: upper-case digits are refused.
    fn from_str(text: &str) -> Result<Self, HexError> {
        if text.len() != 2 * N {
            return Err(HexError);
        }
        let mut bytes = [0; N];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

const fn digit(byte: u8) -> Result<u8, HexError> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(HexError),
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<const N: usize> FromJson for Hex<N> {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.text()?.parse().map_err(Misfit::new)
    }
}

#[cfg(test)]
mod tests {
    use super::{Hex, HexError};
    use reprise_json::cursor;

    #[test]
    fn digits_and_bytes_match() {
        let name = Hex::new([0x00, 0x9f, 0xa0, 0xff]);
        assert_eq!(name.to_string(), "009fa0ff");
        assert_eq!("009fa0ff".parse(), Ok(name));
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "",
            "009fa0f",
            "009fa0ff0",
            "009FA0FF",
            "009fa0fg",
            "009fa0f/",
            "009fa0f:",
            "009fa0f`",
        ] {
            assert_eq!(text.parse::<Hex<4>>(), Err(HexError), "{text:?}");
        }
        for (form, part) in [("\"zz\"", "lower-case hexadecimal digits"), ("7", "text")] {
            let problem = cursor::read::<Hex<4>>(form.as_bytes())
                .expect_err(form)
                .to_string();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
