//! The key of an operation.

use std::fmt;
use uuid::Builder;

/// The longest key, in characters.
const KEY_CHARS_MAX: usize = 255;

/// An idempotency key: 1 to 255 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

/// A text that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

impl Key {
    /// Takes a key that the caller keeps itself, so that an operation can be taken up again after a crash.
    pub fn new(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        let is_short = (1..=KEY_CHARS_MAX).contains(&text.len());
        if is_short && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err(KeyError)
        }
    }

    /// A key that nobody else has: a `UUIDv4` of these random bytes.
    #[must_use]
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(Builder::from_random_bytes(bytes).into_uuid().to_string())
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The header's value: a string of RFC 9651, as the draft has it.
    pub(crate) fn header(&self) -> String {
        let escaped = self.0.replace('\\', r"\\").replace('"', "\\\"");
        format!("\"{escaped}\"")
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key has 1 to {KEY_CHARS_MAX} visible ASCII characters")
    }
}

impl std::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::{Key, KeyError};

    #[test]
    fn a_key_is_visible_and_not_too_long() {
        let longest = "k".repeat(255);
        for (text, header) in [
            ("order-1", "\"order-1\"".to_owned()),
            (r#"a"b\c"#, r#""a\"b\\c""#.to_owned()),
            (&longest, format!("\"{longest}\"")),
        ] {
            assert_eq!(Key::new(text).map(|key| key.header()), Ok(header));
        }
        for text in ["", " ", "a b", "ключ", "a\n", &"k".repeat(256)] {
            assert_eq!(Key::new(text), Err(KeyError), "{text:?}");
        }
    }

    #[test]
    fn a_drawn_key_is_a_uuid_of_version_4() {
        let key = Key::from_random([0xff; 16]);
        assert_eq!(key.as_str(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
