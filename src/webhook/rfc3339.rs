//! Times of day as CloudEvents write them: RFC 3339.

use std::time::{Duration, UNIX_EPOCH};

use crate::machine::{Millis, Timestamp};

/// The last millisecond of the year 9999: RFC 3339 has no later one.
const LAST_MS: u64 = 253_402_300_799_999;

/// A time in UTC, to the millisecond; `None` for one behind the year 9999, which has no such form.
pub fn rfc_3339(at: Timestamp) -> Option<String> {
    (at.as_unix_ms() <= LAST_MS).then(|| format(at))
}

/// `at` in UTC, to the millisecond. Whatever lies behind the year 9999 is written as its last millisecond.
pub(super) fn format(at: Timestamp) -> String {
    let at = UNIX_EPOCH + Duration::from_millis(at.as_unix_ms().min(LAST_MS));
    humantime::format_rfc3339_millis(at).to_string()
}

/// Reads a time with any offset; `None` when it is none, or lies before 1970.
///
/// What is finer than a millisecond is dropped.
pub fn parse(text: &str) -> Option<Timestamp> {
    let text = text.to_ascii_uppercase();
    let (local, offset) = split_offset(&text)?;
    let at = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    let ms = u64::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    let ms = match offset {
        Offset::East(offset) => ms.checked_sub(offset.get())?,
        Offset::West(offset) => ms.checked_add(offset.get())?,
    };
    Some(Timestamp::from_unix_ms(ms))
}

/// How far the local time is ahead of UTC, or behind it.
enum Offset {
    East(Millis),
    West(Millis),
}

fn split_offset(text: &str) -> Option<(&str, Offset)> {
    if let Some(local) = text.strip_suffix('Z') {
        return Some((local, Offset::East(Millis::ZERO)));
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub("+00:00".len())?)?;
    let [sign, h1, h2, b':', m1, m2] = *offset.as_bytes() else {
        return None;
    };
    let (hours, minutes) = (two_digits(h1, h2)?, two_digits(m1, m2)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let offset = Millis::from_secs((hours * 60 + minutes) * 60);
    match sign {
        b'+' => Some((local, Offset::East(offset))),
        b'-' => Some((local, Offset::West(offset))),
        _ => None,
    }
}

fn two_digits(tens: u8, ones: u8) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}

#[cfg(test)]
mod tests {
    use super::{LAST_MS, format, parse, rfc_3339};
    use crate::machine::Timestamp;

    #[test]
    fn times_are_read_with_any_offset() {
        // The first four are one instant: the example of RFC 3339, section 5.8, and other spellings of it.
        let table: &[(&str, Option<u64>)] = &[
            ("1996-12-19T16:39:57-08:00", Some(851_042_397_000)),
            ("1996-12-20T00:39:57Z", Some(851_042_397_000)),
            ("1996-12-20t00:39:57z", Some(851_042_397_000)),
            ("1996-12-20T02:09:57+01:30", Some(851_042_397_000)),
            ("1985-04-12T23:20:50.52Z", Some(482_196_050_520)),
            ("2000-02-29T00:00:00.1239999Z", Some(951_782_400_123)),
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00+00:01", None),
            ("1969-12-31T23:59:59Z", None),
            ("2001-02-29T00:00:00Z", None),
            ("1996-12-20T00:39:57", None),
            ("1996-12-20 00:39:57Z", None),
            ("1996-12-20T00:39:57Z0000", None),
            ("1996-12-20T00:39:57+24:00", None),
            ("1996-12-20T00:39:57+01:60", None),
            ("1996-12-20T00:39:57*01:00", None),
            ("1996-12-20T00:39:57+0100", None),
            ("1996-12-20", None),
            ("сейчас", None),
            ("", None),
        ];
        for (text, ms) in table {
            assert_eq!(parse(text), ms.map(Timestamp::from_unix_ms), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        let written = [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_800_000_000_123, "2027-01-15T08:00:00.123Z"),
            (LAST_MS, "9999-12-31T23:59:59.999Z"),
        ];
        for (ms, text) in written {
            let at = Timestamp::from_unix_ms(ms);
            assert_eq!(format(at), text);
            assert_eq!(rfc_3339(at).as_deref(), Some(text));
            assert_eq!(parse(text), Some(at));
        }
        assert_eq!(
            format(Timestamp::from_unix_ms(u64::MAX)),
            "9999-12-31T23:59:59.999Z"
        );
    }

    #[test]
    fn a_time_is_written_or_refused() {
        let written = rfc_3339(Timestamp::from_unix_ms(1_790_000_000_123));
        assert_eq!(written.as_deref(), Some("2026-09-21T14:13:20.123Z"));
        for ms in [LAST_MS + 1, 300_000_000_000_000, u64::MAX] {
            assert_eq!(rfc_3339(Timestamp::from_unix_ms(ms)), None, "{ms}");
        }
    }
}
