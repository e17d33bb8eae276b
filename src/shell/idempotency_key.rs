//! The `Idempotency-Key` request header (draft-ietf-httpapi-idempotency-key-header).
//!
//! The draft makes it a string of RFC 9651, in quotes. Most clients in use send it bare. Both spellings name one key.

use http::HeaderMap;
use http::header::HeaderName;

/// The name of the header.
pub const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// The longest key, in characters, that is bytes.
pub const KEY_BYTES_MAX: usize = 255;

/// A client's key: 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The key, without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads the key of a request, `None` when it has no such header. The error says what is wrong, for the client.
pub fn parse(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, &'static str> {
    let mut lines = headers.get_all(HEADER).iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err("the header comes twice");
    }
    let line = line
        .to_str()
        .map_err(|_| "the key has characters that are not visible ASCII")?;
    read(line.trim_matches([' ', '\t'])).map(Some)
}

/// Reads a key in either spelling. The error says what is wrong, for whoever sent it.
pub fn read(text: &str) -> Result<IdempotencyKey, &'static str> {
    let key = match text.strip_prefix('"') {
        Some(rest) => unquote(rest)?,
        None => text.to_owned(),
    };
    if key.is_empty() {
        return Err("the key is empty");
    }
    if key.len() > KEY_BYTES_MAX {
        return Err("the key has more than 255 characters");
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the key has characters that are not visible ASCII");
    }
    Ok(IdempotencyKey(key))
}

/// Reads an RFC 9651 string from behind its opening quote (section 4.2.5).
fn unquote(rest: &str) -> Result<String, &'static str> {
    let mut key = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next() {
            Some('"') if chars.as_str().is_empty() => return Ok(key),
            Some('"') => return Err("something follows the closing quote"),
            Some('\\') => match chars.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                _ => return Err("a backslash escapes something else than a quote or a backslash"),
            },
            Some(char) => key.push(char),
            None => return Err("the closing quote is missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn parse_lines(lines: &[&[u8]]) -> Result<Option<String>, &'static str> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(
                HEADER,
                HeaderValue::from_bytes(line).expect("a header value"),
            );
        }
        parse(&headers).map(|key| key.map(|key| key.as_str().to_owned()))
    }

    #[test]
    fn both_spellings_name_one_key() {
        let longest = "k".repeat(KEY_BYTES_MAX);
        let table: &[(&str, &str)] = &[
            ("checkout-123", "checkout-123"),
            ("\"checkout-123\"", "checkout-123"),
            ("  \"checkout-123\"\t", "checkout-123"),
            (r#""a\"b\\c""#, r#"a"b\c"#),
            (r#"a"b\c"#, r#"a"b\c"#),
            ("!", "!"),
            ("~", "~"),
            (&longest, &longest),
        ];
        for (line, key) in table {
            assert_eq!(
                parse_lines(&[line.as_bytes()]),
                Ok(Some((*key).to_owned())),
                "{line}"
            );
        }
        assert_eq!(parse_lines(&[]), Ok(None));
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        let too_long = "k".repeat(KEY_BYTES_MAX + 1);
        let quoted_too_long = format!("\"{too_long}\"");
        let table: &[(&[u8], &str)] = &[
            (b"", "empty"),
            (b"   ", "empty"),
            (b"\"\"", "empty"),
            (b"a b", "visible ASCII"),
            (b"\"a b\"", "visible ASCII"),
            (b"a\tb", "visible ASCII"),
            (b"\xd0\xba", "visible ASCII"),
            (b"\"abc", "closing quote is missing"),
            (b"\"abc\"def", "follows the closing quote"),
            (b"\"abc\";a=1", "follows the closing quote"),
            (b"\"abc\", \"def\"", "follows the closing quote"),
            (b"\"a\\nb\"", "backslash"),
            (b"\"abc\\", "backslash"),
            (too_long.as_bytes(), "more than 255"),
            (quoted_too_long.as_bytes(), "more than 255"),
        ];
        for (line, reason) in table {
            let error = parse_lines(&[line]).expect_err("none of these is a key");
            assert!(
                error.contains(reason),
                "{:?}: {error}",
                String::from_utf8_lossy(line)
            );
        }
        assert_eq!(parse_lines(&[b"a", b"a"]), Err("the header comes twice"));
    }
}
