//! What is kept of HTTP messages: names, header lines, the request as it came and the response as it was.
//!
//! These are plain values with bounds. Which headers may be kept is decided by whoever builds them; this module never
//! sees a header that is not to be stored.

use core::fmt;

use serde::Serialize;

use super::blob::Blob;
use super::limits::{self, LimitError, within};
use reprise_json::cursor::{Cursor, FromJson, Misfit, from_cases, from_object};

/// A short name: an operation's, an event's kind or a sink's. 1 to 128 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Name(String);

impl Name {
    /// Takes `text` as a name, or says which limit it breaks.
    pub fn new(text: impl Into<String>) -> Result<Self, LimitError> {
        let text = text.into();
        visible("a name", &text, limits::NAME_BYTES_MAX)?;
        Ok(Self(text))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// Header lines in their order, names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "Vec<(String, String)>")]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Keeps `lines`, or says which limit they break.
    pub fn new(lines: Vec<(String, String)>) -> Result<Self, LimitError> {
        within("the number of headers", lines.len(), limits::HEADERS_MAX)?;
        let bytes = lines
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        within("the headers", bytes, limits::HEADERS_BYTES_MAX)?;
        for (name, value) in &lines {
            visible("a header's name", name, limits::HEADERS_BYTES_MAX)?;
            if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
                return Err(LimitError::Malformed {
                    what: "a header's name",
                });
            }
            if !is_field_value(value) {
                return Err(LimitError::Malformed {
                    what: "a header's value",
                });
            }
        }
        Ok(Self(lines))
    }

    /// The lines as (name, value).
    pub fn lines(&self) -> &[(String, String)] {
        &self.0
    }
}

impl From<Headers> for Vec<(String, String)> {
    fn from(headers: Headers) -> Self {
        headers.0
    }
}

/// A client's request as it came: what every attempt sends or computes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    method: String,
    target: String,
    headers: Headers,
    body: Blob,
}

impl Input {
    /// Keeps a request, or says which limit it breaks. `target` is the path with its query.
    pub fn new(
        method: impl Into<String>,
        target: impl Into<String>,
        headers: Headers,
        body: Blob,
    ) -> Result<Self, LimitError> {
        let input = Self {
            method: method.into(),
            target: target.into(),
            headers,
            body,
        };
        input.check()?;
        Ok(input)
    }

    /// The same request with this body, or which limit that breaks.
    pub fn with_body(self, body: Blob) -> Result<Self, LimitError> {
        let input = Self { body, ..self };
        input.check()?;
        Ok(input)
    }

    /// Holds the request against the limits; what was read from a store has not been through [`Input::new`].
    pub(super) fn check(&self) -> Result<(), LimitError> {
        visible("the method", &self.method, limits::METHOD_BYTES_MAX)?;
        visible("the target", &self.target, limits::TARGET_BYTES_MAX)?;
        within(
            "the request body",
            self.body.len(),
            limits::INPUT_BODY_BYTES_MAX,
        )
    }

    /// The method, as it came.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The path with its query.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The headers that were kept.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The body, byte for byte.
    pub fn body(&self) -> &Blob {
        &self.body
    }
}

/// What an operation came to: the response that every repeat gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperationResult {
    /// The HTTP status.
    pub status: u16,
    /// The headers that may be replayed.
    pub headers: Headers,
    /// The body.
    pub body: ResultBody,
}

impl OperationResult {
    /// The same result with a body that fits a record: one over the limit shrinks to its length.
    #[must_use]
    pub(super) fn bounded(self) -> Self {
        let body = match self.body {
            ResultBody::Kept(body) => ResultBody::capture(body, limits::RESPONSE_BODY_BYTES_MAX),
            ResultBody::TooLarge { length_bytes } => ResultBody::TooLarge { length_bytes },
        };
        Self { body, ..self }
    }
}

/// The body of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultBody {
    /// Kept byte for byte.
    Kept(Blob),
    /// Too large to keep. The operation is done all the same and must not run again.
    TooLarge {
        /// The length in bytes, as far as it was read or announced.
        length_bytes: u64,
    },
}

impl ResultBody {
    /// Keeps `body` when it has at most `max_bytes`, and its length alone otherwise.
    pub fn capture(body: Blob, max_bytes: usize) -> Self {
        if body.len() <= max_bytes.min(limits::RESPONSE_BODY_BYTES_MAX) {
            Self::Kept(body)
        } else {
            Self::TooLarge {
                length_bytes: body.len() as u64,
            }
        }
    }
}

/// Whether a text can be a header's value: the tab is the one control character in those (RFC 9110, section 5.5).
pub fn is_field_value(text: &str) -> bool {
    !text.chars().any(|char| char.is_control() && char != '\t')
}

/// Passes when `text` is 1 to `max` visible ASCII characters.
fn visible(what: &'static str, text: &str, max: usize) -> Result<(), LimitError> {
    within(what, text.len(), max)?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(LimitError::Malformed { what });
    }
    Ok(())
}

impl FromJson for Name {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        Self::new(cursor.text()?).map_err(Misfit::new)
    }
}

impl FromJson for Headers {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        Self::new(Vec::from_json(cursor)?).map_err(Misfit::new)
    }
}

from_object!(Input {
    method,
    target,
    headers,
    body
});

from_object!(OperationResult {
    status,
    headers,
    body
});

from_cases!(ResultBody {
    "kept" => Kept(Blob),
    "too_large" => TooLarge { length_bytes },
});

#[cfg(test)]
mod tests {
    use super::{Blob, Headers, Input, LimitError, Name, ResultBody, limits};

    fn too_large(what: &'static str, found: usize, max: usize) -> LimitError {
        LimitError::TooLarge { what, found, max }
    }

    fn malformed(what: &'static str) -> LimitError {
        LimitError::Malformed { what }
    }

    fn line(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_name_is_short_and_visible() {
        for text in ["a", "order.created", "~!", &"x".repeat(128)] {
            let name = Name::new(text).expect("a name");
            assert_eq!(
                (name.to_string(), String::from(name)),
                (text.to_owned(), text.to_owned())
            );
        }
        for text in ["", " ", "a b", "a\n", "имя", "\u{7f}"] {
            assert_eq!(Name::new(text), Err(malformed("a name")), "{text:?}");
        }
        assert_eq!(
            Name::new("x".repeat(129)),
            Err(too_large("a name", 129, 128))
        );
    }

    #[test]
    fn header_lines_are_few_small_and_of_one_spelling() {
        let kept = vec![
            line("etag", "\"1\""),
            line("x-empty", ""),
            line("x-name", "Größe, in m"),
            line("x-list", "a,\tb"),
        ];
        assert_eq!(Headers::new(kept.clone()).expect("kept").lines(), kept);
        assert_eq!(Headers::new(kept.clone()).map(Vec::from), Ok(kept));
        for name in ["", "ETag", "e tag", "e\ttag"] {
            assert_eq!(
                Headers::new(vec![line(name, "1")]),
                Err(malformed("a header's name")),
                "{name:?}"
            );
        }
        for value in ["a\r\nb: c", "\0", "a\u{85}"] {
            assert_eq!(
                Headers::new(vec![line("etag", value)]),
                Err(malformed("a header's value")),
                "{value:?}"
            );
        }
        assert!(Headers::new(vec![line("a", ""); 32]).is_ok());
        assert_eq!(
            Headers::new(vec![line("a", ""); 33]),
            Err(too_large("the number of headers", 33, 32))
        );
        let largest = limits::HEADERS_BYTES_MAX;
        assert!(Headers::new(vec![line("ab", &"x".repeat(largest - 2))]).is_ok());
        let beyond = Headers::new(vec![line("ab", &"x".repeat(largest - 1))]);
        assert_eq!(beyond, Err(too_large("the headers", largest + 1, largest)));
    }

    #[test]
    fn each_part_of_a_request_has_its_limit() {
        let input = |method: &str, target: &str, bytes| {
            Input::new(
                method,
                target,
                Headers::default(),
                Blob::new(vec![b'x'; bytes]),
            )
            .map(|_| ())
        };
        let kept = Input::new(
            "PUT",
            "/a?b=c",
            Headers::new(vec![line("a", "b")]).expect("small"),
            Blob::new(*b"x"),
        );
        let kept = kept.expect("small");
        assert_eq!((kept.method(), kept.target()), ("PUT", "/a?b=c"));
        assert_eq!(
            (kept.headers().lines(), kept.body().as_bytes()),
            (&[line("a", "b")][..], &b"x"[..])
        );
        let body = limits::INPUT_BODY_BYTES_MAX;
        assert_eq!(
            input(&"M".repeat(32), &format!("/{}", "x".repeat(4_095)), body),
            Ok(())
        );
        assert_eq!(
            input(&"M".repeat(33), "/", 0),
            Err(too_large("the method", 33, 32))
        );
        assert_eq!(input("", "/", 0), Err(malformed("the method")));
        assert_eq!(
            input("POST", &"/".repeat(4_097), 0),
            Err(too_large("the target", 4_097, 4_096))
        );
        assert_eq!(input("POST", "/a b", 0), Err(malformed("the target")));
        assert_eq!(
            input("POST", "/", body + 1),
            Err(too_large("the request body", body + 1, body))
        );
    }

    #[test]
    fn a_body_over_either_limit_is_kept_as_its_length() {
        let captured = |bytes, max| ResultBody::capture(Blob::new(vec![b'x'; bytes]), max);
        let hard = limits::RESPONSE_BODY_BYTES_MAX;
        assert_eq!(captured(7, 7), ResultBody::Kept(Blob::new(*b"xxxxxxx")));
        assert_eq!(captured(8, 7), ResultBody::TooLarge { length_bytes: 8 });
        assert_eq!(
            captured(hard + 1, usize::MAX),
            ResultBody::TooLarge {
                length_bytes: hard as u64 + 1
            }
        );
    }

    #[test]
    fn a_broken_limit_says_what_and_how_far() {
        assert_eq!(
            too_large("a name", 129, 128).to_string(),
            "a name is too large: 129, at most 128"
        );
        let words = "the method is empty or has characters that are not allowed";
        assert_eq!(malformed("the method").to_string(), words);
    }
}
