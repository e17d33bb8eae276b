//! What an answer means for a call: one pure function.

use reprise::machine::{Millis, Timestamp, parse_retry_after};
use serde::Deserialize;
use ureq::http::HeaderMap;
use ureq::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};

/// Says that a reply is that of an earlier request: the operation has ended with it.
pub(crate) const REPLAYED: &str = "idempotent-replayed";

/// Where an operation's record is, in replies whose `Location` is not ours to set.
const OPERATION_LOCATION: &str = "operation-location";

/// What the answer to a request means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is the answer.
    Final,
    /// The operation goes on.
    Unfinished {
        /// The path where its record is.
        location: Option<String>,
        hint: Option<Millis>,
    },
    /// Another request may fare better.
    Retry { hint: Option<Millis> },
}

/// Tells what an answer means.
pub(crate) fn turn(status: u16, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Turn {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let has_hint = headers.contains_key(RETRY_AFTER);
    let hint = text(RETRY_AFTER.as_str()).and_then(|value| parse_retry_after(value, now));
    let location = text(LOCATION.as_str()).or_else(|| text(OPERATION_LOCATION));
    let location = location.filter(|location| is_path(location));
    let location = location.map(str::to_owned);
    match status {
        // The header decides, and not the status: a 202 without it is what an upstream has ended the operation with.
        200..300 | 409 if has_hint => Turn::Unfinished { location, hint },
        408 | 425 | 429 | 500..600 => {
            let is_end =
                headers.contains_key(REPLAYED) || is_retryable(headers, body) == Some(false);
            if is_end {
                Turn::Final
            } else {
                Turn::Retry { hint }
            }
        }
        _ => Turn::Final,
    }
}

/// Whether this is a path on the same server. No other place is followed: it would learn the headers of the call.
fn is_path(location: &str) -> bool {
    location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\")
}

/// What a problem document says of another attempt, if the answer is one.
fn is_retryable(headers: &HeaderMap, body: &[u8]) -> Option<bool> {
    #[derive(Deserialize)]
    struct Problem {
        retryable: bool,
    }
    let media_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    if !media_type.starts_with("application/problem+json") {
        return None;
    }
    let problem: Problem = serde_json::from_slice(body).ok()?;
    Some(problem.retryable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ureq::http::{HeaderName, HeaderValue};

    /// Sun, 06 Nov 1994 08:49:00 GMT.
    const NOW: Timestamp = Timestamp::from_unix_ms(784_111_740_000);

    type Line = (&'static str, &'static str);
    const AFTER: Line = ("retry-after", "2");
    const AT: Line = ("location", "/orders/1");
    const REPLAYED_LINE: Line = (REPLAYED, "true");
    const PROBLEM: Line = ("content-type", "application/problem+json");

    fn answer(status: u16, lines: &[Line], body: &str) -> Turn {
        let line = |(name, value): &Line| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        turn(
            status,
            &lines.iter().map(line).collect(),
            body.as_bytes(),
            NOW,
        )
    }

    fn unfinished(location: Option<&str>, hint: Option<u64>) -> Turn {
        Turn::Unfinished {
            location: location.map(str::to_owned),
            hint: hint.map(Millis::new),
        }
    }

    fn retry(hint: Option<u64>) -> Turn {
        Turn::Retry {
            hint: hint.map(Millis::new),
        }
    }

    #[test]
    fn each_answer_means_this() {
        let table: &[(u16, &[Line], &str, Turn)] = &[
            (200, &[], "", Turn::Final),
            (201, &[("location", "/orders/1")], "", Turn::Final),
            (
                202,
                &[AT, AFTER],
                "",
                unfinished(Some("/orders/1"), Some(2_000)),
            ),
            (202, &[AT], "", Turn::Final),
            (
                200,
                &[REPLAYED_LINE, AFTER],
                "",
                unfinished(None, Some(2_000)),
            ),
            (
                409,
                &[("operation-location", "/orders/2"), AFTER],
                "",
                unfinished(Some("/orders/2"), Some(2_000)),
            ),
            (
                200,
                &[AT, AFTER],
                "",
                unfinished(Some("/orders/1"), Some(2_000)),
            ),
            (
                409,
                &[AT, AFTER],
                "",
                unfinished(Some("/orders/1"), Some(2_000)),
            ),
            (
                409,
                &[("retry-after", "nonsense")],
                "",
                unfinished(None, None),
            ),
            (409, &[], "", Turn::Final),
            (422, &[AFTER], "", Turn::Final),
            (400, &[], "", Turn::Final),
            (401, &[AFTER], "", Turn::Final),
            (404, &[], "", Turn::Final),
            (301, &[AT], "", Turn::Final),
            (408, &[], "", retry(None)),
            (425, &[], "", retry(None)),
            (429, &[AFTER], "", retry(Some(2_000))),
            (500, &[], "", retry(None)),
            (
                503,
                &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
                "",
                retry(Some(37_000)),
            ),
            (503, &[("retry-after", "-5")], "", retry(None)),
            (599, &[], "", retry(None)),
            (502, &[REPLAYED_LINE], "", Turn::Final),
            (502, &[PROBLEM], r#"{"retryable":false}"#, Turn::Final),
            (502, &[PROBLEM], r#"{"retryable":true}"#, retry(None)),
            (502, &[PROBLEM], "{}", retry(None)),
            (502, &[], r#"{"retryable":false}"#, retry(None)),
        ];
        for (status, lines, body, expected) in table {
            assert_eq!(
                answer(*status, lines, body),
                *expected,
                "{status} {lines:?} {body}"
            );
        }
    }

    #[test]
    fn no_other_server_is_followed() {
        for elsewhere in [
            "http://a.example/1",
            "//a.example/1",
            "/\\a.example/1",
            "orders/1",
            "",
        ] {
            let lines = [("location", elsewhere), ("retry-after", "2")];
            let lines: HeaderMap = lines
                .map(|(name, value)| {
                    (
                        HeaderName::from_static(name),
                        HeaderValue::from_static(value),
                    )
                })
                .into_iter()
                .collect();
            assert_eq!(
                turn(202, &lines, b"", NOW),
                unfinished(None, Some(2_000)),
                "{elsewhere}"
            );
        }
    }
}
