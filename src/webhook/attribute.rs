//! Attributes as header values: the percent-encoding of the CloudEvents HTTP binding, section 3.1.3.2.

use core::fmt;

/// Why a header's value is not an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingError {
    /// A double quote is opened and not closed, or closed before the end.
    Quote,
    /// A percent sign is not followed by two hexadecimal digits.
    Percent,
    /// The decoded bytes are not UTF-8.
    Utf8,
}

impl fmt::Display for CodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quote => "a quoted value does not end where it should",
            Self::Percent => "a percent sign is not followed by two hexadecimal digits",
            Self::Utf8 => "the decoded value is not UTF-8",
        })
    }
}

impl core::error::Error for CodingError {}

/// Writes `value` with everything escaped but visible ASCII, and of that the double quote and the percent sign.
pub(super) fn encode(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'"' | b'%' => escape(byte, &mut text),
            0x21..=0x7e => text.push(char::from(byte)),
            _ => escape(byte, &mut text),
        }
    }
    text
}

fn escape(byte: u8, text: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.push('%');
    text.push(char::from(DIGITS[usize::from(byte >> 4)]));
    text.push(char::from(DIGITS[usize::from(byte & 0xf)]));
}

/// Reads a header's value: quoted strings are opened, as senders of older versions write them, then percent signs are
/// resolved once.
pub(super) fn decode(value: &[u8]) -> Result<String, CodingError> {
    let unquoted = match value {
        [b'"', rest @ ..] => unquote(rest)?,
        _ if value.contains(&b'"') => return Err(CodingError::Quote),
        _ => value.to_vec(),
    };
    let mut bytes = Vec::with_capacity(unquoted.len());
    let mut rest = unquoted.as_slice();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, tail @ ..] = rest else {
            return Err(CodingError::Percent);
        };
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else {
            return Err(CodingError::Percent);
        };
        bytes.push(high << 4 | low);
        rest = tail;
    }
    String::from_utf8(bytes).map_err(|_| CodingError::Utf8)
}

/// The content of a quoted string (RFC 9110, section 5.6.4) whose opening quote was taken.
fn unquote(quoted: &[u8]) -> Result<Vec<u8>, CodingError> {
    let mut content = Vec::with_capacity(quoted.len());
    let mut bytes = quoted.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if bytes.len() == 0 => return Ok(content),
            b'"' => return Err(CodingError::Quote),
            b'\\' => content.push(bytes.next().ok_or(CodingError::Quote)?),
            _ => content.push(byte),
        }
    }
    Err(CodingError::Quote)
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{CodingError, decode, encode};

    #[test]
    fn values_are_written_as_the_binding_says_and_read_back() {
        // The third is the example of the binding itself.
        let table = [
            ("order.created", "order.created"),
            ("/a?b=c&d=~!", "/a?b=c&d=~!"),
            ("Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"),
            ("100% \"sure\"", "100%25%20%22sure%22"),
            ("\u{7f}\u{0}\n", "%7F%00%0A"),
            ("%41", "%2541"),
        ];
        for (value, header) in table {
            assert_eq!(encode(value), header);
            assert_eq!(decode(header.as_bytes()).as_deref(), Ok(value));
        }
    }

    #[test]
    fn what_other_senders_write_is_read_too() {
        let table: &[(&[u8], &str)] = &[
            (b"Euro%20%e2%82%ac", "Euro €"),
            (b"a b", "a b"),
            (br#""a \"b\" \\ %20c""#, "a \"b\" \\  c"),
            ("né".as_bytes(), "né"),
            (b"\"\"", ""),
        ];
        for (header, value) in table {
            assert_eq!(decode(header).as_deref(), Ok(*value), "{header:?}");
        }
    }

    #[test]
    fn broken_values_are_refused() {
        let table: &[(&[u8], CodingError)] = &[
            (b"100%", CodingError::Percent),
            (b"%4", CodingError::Percent),
            (b"%+1", CodingError::Percent),
            (b"%zz", CodingError::Percent),
            (b"%C3", CodingError::Utf8),
            (b"\xff", CodingError::Utf8),
            (b"\"a", CodingError::Quote),
            (b"\"a\"b", CodingError::Quote),
            (b"a\"b\"", CodingError::Quote),
            (b"\"a\\", CodingError::Quote),
        ];
        for (header, error) in table {
            assert_eq!(decode(header), Err(*error), "{header:?}");
        }
    }
}
