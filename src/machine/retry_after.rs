//! The upstream's word on when to come back.
//!
//! The value is what RFC 9110, section 10.2.3, allows: a number of seconds, or a date in one of the three forms of
//! section 5.6.7. Anything else is ignored, and so is a date that has passed: our own backoff then stands alone. The
//! cap on a hint is the policy's business, not this module's.

use std::time::UNIX_EPOCH;

use super::time::{Millis, Timestamp};

/// Parses the value of a `Retry-After` field as a wait from `now`; `None` when it says nothing of use.
///
/// A number too large for the type stands for the longest wait, which the policy then caps.
pub fn parse_retry_after(value: &str, now: Timestamp) -> Option<Millis> {
    let value = value.trim_matches([' ', '\t']);
    if value.is_empty() {
        return None;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Millis::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let since_epoch = date.duration_since(UNIX_EPOCH).ok()?;
    let date = Timestamp::from_unix_ms(u64::try_from(since_epoch.as_millis()).ok()?);
    let wait = date.since(now);
    (wait > Millis::ZERO).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::parse_retry_after;
    use crate::time::{Millis, Timestamp};

    /// Sun, 06 Nov 1994 08:49:00 GMT, 37 seconds before the example date of RFC 9110.
    const NOW: Timestamp = Timestamp::from_unix_ms(784_111_740_000);

    #[test]
    fn each_form_of_the_value_is_read() {
        let table: &[(&str, Option<u64>)] = &[
            ("0", Some(0)),
            ("120", Some(120_000)),
            (" 120\t", Some(120_000)),
            ("007", Some(7_000)),
            ("9999999999", Some(9_999_999_999_000)),
            ("99999999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37_000)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(37_000)),
            ("Sun Nov  6 08:49:37 1994", Some(37_000)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", None),
            ("Sun, 06 Nov 1994 08:48:59 GMT", None),
            ("Thu, 01 Jan 1970 00:00:00 GMT", None),
            ("Mon, 06 Nov 1994 08:49:37 GMT", None),
            ("-5", None),
            ("+5", None),
            ("1e3", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
            (" ", None),
            ("120, 240", None),
            ("\u{661}\u{662}", None),
        ];
        for (value, wait_ms) in table {
            assert_eq!(
                parse_retry_after(value, NOW),
                wait_ms.map(Millis::new),
                "value {value:?}"
            );
        }
    }
}
