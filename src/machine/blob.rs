//! Bytes that are kept as they came.
//!
//! A stored record should be readable, so bytes that are UTF-8 are stored as text, and others as base64. Text that
//! JSON would blow up, such as long runs of control characters, is stored as base64 too: the stored form is at most
//! half longer than the bytes, plus a constant, and `limits` counts on that.

use core::fmt;
use core::str;
use std::sync::Arc;

use base64ct::{Base64, Encoding as _};
use serde::{Serialize, Serializer};

use reprise_json::cursor::{Cursor, FromJson, Misfit, unknown_case};

/// Immutable bytes. A clone shares them.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob(Arc<[u8]>);

impl Blob {
    /// Keeps `bytes`.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Blob {
    /// Shows the length alone: what clients send does not belong into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.len())
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match str::from_utf8(&self.0) {
            Ok(text) if is_compact(text) => StoredText { text }.serialize(serializer),
            Ok(_) | Err(_) => StoredBase64 {
                base64: Base64::encode_string(&self.0),
            }
            .serialize(serializer),
        }
    }
}

impl FromJson for Blob {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.case(|case, held| match case {
            "text" => Ok(Self::new(held.cursor()?.text()?.as_bytes())),
            "base64" => Base64::decode_vec(&held.cursor()?.text()?)
                .map(Self::new)
                .map_err(Misfit::new),
            other => Err(unknown_case(other)),
        })
    }
}

#[derive(Serialize)]
struct StoredText<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct StoredBase64 {
    base64: String,
}

/// Whether `text` in JSON stays within half more than its own length. The constant lets short texts pass whatever
/// they hold.
fn is_compact(text: &str) -> bool {
    const SLACK_BYTES: usize = 64;
    let in_json: usize = text.bytes().map(bytes_in_json).sum();
    in_json <= text.len() + text.len() / 2 + SLACK_BYTES
}

/// Bytes that one byte of a string takes in JSON (RFC 8259, section 7).
const fn bytes_in_json(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0x00..=0x1f => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{Blob, Misfit};
    use crate::limits::INPUT_BODY_BYTES_MAX;
    use reprise_json::cursor;

    fn stored(bytes: &[u8]) -> String {
        serde_json::to_string(&Blob::new(bytes)).expect("a blob has a stored form")
    }

    fn read(form: &str) -> Result<Blob, Misfit> {
        cursor::read(form.as_bytes())
    }

    #[test]
    fn text_stays_readable_and_other_bytes_become_base64() {
        let table: &[(&[u8], &str)] = &[
            (b"", r#"{"text":""}"#),
            (b"hello", r#"{"text":"hello"}"#),
            (br#"{"a":"b"}"#, r#"{"text":"{\"a\":\"b\"}"}"#),
            ("заказ".as_bytes(), r#"{"text":"заказ"}"#),
            (b"\xff\x00", r#"{"base64":"/wA="}"#),
        ];
        for (bytes, form) in table {
            assert_eq!(stored(bytes), *form);
            assert_eq!(Blob::new(*bytes).is_empty(), bytes.is_empty());
            let blob = read(form).expect("the form above is valid");
            assert_eq!(blob.as_bytes(), *bytes);
        }
    }

    #[test]
    fn the_stored_form_is_at_most_half_longer() {
        let most = INPUT_BODY_BYTES_MAX;
        let worst = [
            vec![b'"'; most],
            vec![1; most],
            vec![0xff; most],
            b"\"a".repeat(most / 2),
            vec![b'a'; most],
        ];
        for bytes in worst {
            let form = stored(&bytes);
            assert!(
                form.len() <= most + most / 2 + 128,
                "{} bytes became {}",
                most,
                form.len()
            );
            let blob = read(&form).expect("what was written can be read");
            assert_eq!(blob.as_bytes(), bytes);
        }
    }

    #[test]
    fn text_is_kept_as_text_up_to_half_more_than_its_length() {
        // Each quote takes one byte more in JSON: up to half of 200 bytes and the slack of 64.
        for (quotes, is_text) in [(0, true), (164, true), (165, false), (200, false)] {
            let bytes = format!("{}{}", "\"".repeat(quotes), "a".repeat(200 - quotes));
            assert_eq!(
                stored(bytes.as_bytes()).starts_with(r#"{"text""#),
                is_text,
                "{quotes} quotes"
            );
        }
        // A control character takes five more, or one more where JSON has a short form.
        for (byte, short) in [
            (0x08, true),
            (0x09, true),
            (0x0a, true),
            (0x0c, true),
            (0x0d, true),
            (0x1f, false),
        ] {
            let bytes = [[b'a'; 164].as_slice(), &[byte; 36]].concat();
            assert_eq!(
                stored(&bytes).starts_with(r#"{"text""#),
                short,
                "byte {byte:#x}"
            );
        }
    }

    #[test]
    fn debug_output_keeps_the_content_to_itself() {
        assert_eq!(format!("{:?}", Blob::new(*b"secret")), "Blob(6 bytes)");
    }

    #[test]
    fn broken_base64_is_refused() {
        assert!(read(r#"{"base64":"/wA"}"#).is_err());
        assert!(read(r#"{"hex":"00"}"#).is_err());
    }
}
