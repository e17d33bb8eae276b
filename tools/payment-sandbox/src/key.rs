//! The `Idempotency-Key` header as this provider reads it: bare or as a string in quotes, both the same key.

use http::HeaderMap;

/// The name of the header.
const HEADER: &str = "idempotency-key";
/// The longest key, in characters.
const KEY_CHARS_MAX: usize = 255;

/// Reads the key of a request, `None` when it has no such header. The error says what is wrong, for the client.
pub fn parse(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let mut lines = headers.get_all(HEADER).iter();
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    if lines.next().is_some() {
        return Err("the Idempotency-Key comes twice");
    }
    let line = line
        .to_str()
        .map_err(|_| "the Idempotency-Key is not ASCII")?;
    let key = match line.strip_prefix('"') {
        Some(quoted) => quoted
            .strip_suffix('"')
            .ok_or("the Idempotency-Key has no closing quote")?
            .replace("\\\"", "\"")
            .replace("\\\\", "\\"),
        None => line.to_owned(),
    };
    if key.is_empty() || key.len() > KEY_CHARS_MAX {
        return Err("the Idempotency-Key must have 1 to 255 characters");
    }
    Ok(Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn parsed(lines: &[&str]) -> Result<Option<String>, &'static str> {
        let mut headers = HeaderMap::new();
        for line in lines {
            let value = HeaderValue::from_bytes(line.as_bytes()).expect("a header value");
            headers.append(HEADER, value);
        }
        parse(&headers)
    }

    #[test]
    fn both_spellings_name_one_key() {
        assert_eq!(parsed(&[]), Ok(None));
        for (line, key) in [
            ("a-1", "a-1"),
            ("\"a-1\"", "a-1"),
            (r#""a\"b\\""#, r#"a"b\"#),
        ] {
            assert_eq!(parsed(&[line]), Ok(Some(key.to_owned())), "{line}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let long = "k".repeat(KEY_CHARS_MAX + 1);
        for line in ["", "\"\"", "\"a", "\"", "ключ", &long] {
            assert!(parsed(&[line]).is_err(), "{line}");
        }
        assert!(parsed(&["a", "a"]).is_err());
    }
}
