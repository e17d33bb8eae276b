//! What is kept of HTTP messages: names, header lines, the request as it came and the response as it was.
//!
//! These are plain values with bounds. Which headers may be kept is decided by whoever builds them; this module never
//! sees a header that is not to be stored.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::limits::{self, LimitError, within};

/// A short name: an operation's, an event's kind or a sink's. 1 to 128 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

impl TryFrom<String> for Name {
    type Error = LimitError;

    fn try_from(text: String) -> Result<Self, LimitError> {
        Self::new(text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// Header lines in their order, names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(String, String)>", into = "Vec<(String, String)>")]
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
            if value.chars().any(char::is_control) {
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

impl TryFrom<Vec<(String, String)>> for Headers {
    type Error = LimitError;

    fn try_from(lines: Vec<(String, String)>) -> Result<Self, LimitError> {
        Self::new(lines)
    }
}

impl From<Headers> for Vec<(String, String)> {
    fn from(headers: Headers) -> Self {
        headers.0
    }
}

/// A client's request as it came: what every attempt sends or computes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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

/// Passes when `text` is 1 to `max` visible ASCII characters.
fn visible(what: &'static str, text: &str, max: usize) -> Result<(), LimitError> {
    within(what, text.len(), max)?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(LimitError::Malformed { what });
    }
    Ok(())
}
