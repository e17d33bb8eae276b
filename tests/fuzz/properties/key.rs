//! The `Idempotency-Key` header: the input is a header's value.

use http::{HeaderMap, HeaderValue};
use reprise::shell::idempotency_key::{HEADER, IdempotencyKey, KEY_BYTES_MAX, parse, read};

pub(super) fn check(data: &[u8]) {
    let Ok(line) = HeaderValue::from_bytes(data) else {
        return;
    };
    let once = headers(&[&line]);
    let parsed = parse(&once).map(|key| key.expect("the header is there"));
    assert_eq!(
        parsed.as_ref().ok().map(IdempotencyKey::as_str),
        expected(data).as_deref(),
        "{line:?}"
    );
    assert!(parse(&headers(&[&line, &line])).is_err(), "{line:?} twice");
    let Ok(key) = parsed else {
        return;
    };
    let text = key.as_str();
    let quoted = format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""));
    assert_eq!(read(&quoted).as_ref(), Ok(&key), "{quoted}");
    assert_eq!(
        parse_text(&format!(" \t{quoted}\t ")),
        Ok(Some(key.clone()))
    );
    // A bare key that begins with a quote has no bare spelling.
    if !text.starts_with('"') {
        assert_eq!(read(text).as_ref(), Ok(&key));
    }
}

fn headers(lines: &[&HeaderValue]) -> HeaderMap {
    lines.iter().map(|line| (HEADER, (*line).clone())).collect()
}

fn parse_text(line: &str) -> Result<Option<IdempotencyKey>, &'static str> {
    parse(&headers(&[
        &HeaderValue::from_str(line).expect("a header value")
    ]))
}

/// The key by the letter of the rules, with no code of ours: bare, or a string of RFC 9651 without parameters.
fn expected(data: &[u8]) -> Option<String> {
    let text = str::from_utf8(data).ok()?.trim_matches([' ', '\t']);
    let key = if let Some(inner) = text.strip_prefix('"') {
        let inner = inner.strip_suffix('"')?;
        // Escapes in pairs from the left: what is left of them must hold neither of the two.
        let resolved = inner.replace(r"\\", "\u{0}").replace("\\\"", "\u{1}");
        if resolved.contains(['\\', '"']) {
            return None;
        }
        resolved.replace('\u{0}', "\\").replace('\u{1}', "\"")
    } else {
        text.to_owned()
    };
    let is_key =
        (1..=KEY_BYTES_MAX).contains(&key.len()) && key.chars().all(|char| char.is_ascii_graphic());
    is_key.then_some(key)
}
