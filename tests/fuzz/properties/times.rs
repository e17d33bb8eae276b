//! Times that others write: Retry-After, dates of HTTP, times of RFC 3339. The first eight bytes of the input are
//! what the clock shows, the rest is the text.

use std::time::{Duration, UNIX_EPOCH};

use reprise::machine::{Millis, Timestamp, parse_retry_after};
use reprise::webhook::{parse_rfc_3339, rfc_3339};

/// The last millisecond of the year 9999: neither form has a later one.
const LAST_MS: u64 = 253_402_300_799_999;

pub(super) fn check(data: &[u8]) {
    let Some((clock, text)) = data.split_first_chunk::<8>() else {
        return;
    };
    let clock = u64::from_le_bytes(*clock);
    for now_ms in [clock, clock % (LAST_MS + 1)] {
        written(now_ms);
        if let Ok(text) = str::from_utf8(text) {
            retry_after(text, now_ms);
        }
    }
    if let Ok(text) = str::from_utf8(text) {
        time_of_day(text);
    }
}

/// A hint is a wait in whole seconds or until a date that is yet to come; nothing else is one, and no clock makes it
/// overflow.
fn retry_after(text: &str, now_ms: u64) {
    let now = Timestamp::from_unix_ms(now_ms);
    let wait = parse_retry_after(text, now);
    let value = text.trim_matches([' ', '\t']);
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let expected = if is_number {
        let seconds = value.parse::<u128>().unwrap_or(u128::MAX);
        let ms = seconds.saturating_mul(1_000);
        Some(u64::try_from(ms).unwrap_or(u64::MAX))
    } else {
        httpdate::parse_http_date(value).ok().and_then(|date| {
            let date_ms = date.duration_since(UNIX_EPOCH).ok()?.as_millis();
            u64::try_from(date_ms).ok()?.checked_sub(now_ms)
        })
    };
    let expected = expected.filter(|ms| is_number || *ms > 0);
    assert_eq!(wait, expected.map(Millis::new), "{text:?} at {now_ms}");
    if let Some(wait) = wait {
        let then = now.after(wait);
        assert!(then >= now && then.since(now) <= wait);
        // What a client is told in seconds is never short of the wait.
        assert!(u128::from(wait.as_secs_rounded_up()) * 1_000 >= u128::from(wait.get()));
    }
}

/// A time is read as the reference reads it: the same digits as UTC, moved by the offset.
fn time_of_day(text: &str) {
    let Some(at) = parse_rfc_3339(text) else {
        return;
    };
    let upper = text.to_ascii_uppercase();
    let (local, offset_minutes) = match upper.strip_suffix('Z') {
        Some(local) => (local, 0),
        None => {
            let (local, offset) = upper.split_at(upper.len() - 6);
            let number = |digits: &str| digits.parse::<i64>().expect("two digits");
            let minutes = number(&offset[1..3]) * 60 + number(&offset[4..]);
            (
                local,
                if offset.starts_with('-') {
                    -minutes
                } else {
                    minutes
                },
            )
        }
    };
    let utc = humantime::parse_rfc3339(&format!("{local}Z")).expect("the reference reads it");
    let utc_ms = utc
        .duration_since(UNIX_EPOCH)
        .expect("from 1970 on")
        .as_millis();
    let expected = i128::try_from(utc_ms).expect("small") - i128::from(offset_minutes) * 60_000;
    assert_eq!(i128::from(at.as_unix_ms()), expected, "{text}");
    if let Some(written) = rfc_3339(at) {
        assert_eq!(parse_rfc_3339(&written), Some(at), "{text}");
    }
}

/// What is written is read as the same time.
fn written(ms: u64) {
    let at = Timestamp::from_unix_ms(ms);
    let text = rfc_3339(at);
    assert_eq!(text.is_some(), ms <= LAST_MS);
    if let Some(text) = text {
        assert_eq!(parse_rfc_3339(&text), Some(at));
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(ms));
        let whole_ms = ms / 1_000 * 1_000;
        let wait = parse_retry_after(&date, Timestamp::from_unix_ms(0));
        assert_eq!(
            wait,
            Some(Millis::new(whole_ms)).filter(|wait| wait.get() > 0),
            "{date}"
        );
    }
}
