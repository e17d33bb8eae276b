//! Durations and decimal numbers as text.

use crate::machine::Millis;

/// The units of a duration, the longest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 24 * 60 * 60 * 1_000),
    ("h", 60 * 60 * 1_000),
    ("m", 60 * 1_000),
    ("s", 1_000),
    ("ms", 1),
];

/// A whole number with a unit, such as `500ms` or `24h`. One that is too long for the type is the longest there is.
pub(super) fn parse_duration(text: &str) -> Option<Millis> {
    let unit_at = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit_at);
    let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
    if number.is_empty() {
        return None;
    }
    let number: u64 = number.parse().unwrap_or(u64::MAX);
    Some(Millis::new(number.saturating_mul(*unit_ms)))
}

/// A duration in the longest unit that takes no fraction.
pub(super) fn duration(duration: Millis) -> String {
    let ms = duration.get();
    let (unit, unit_ms) = UNITS
        .into_iter()
        .find(|(_, unit_ms)| ms >= *unit_ms && ms.is_multiple_of(*unit_ms))
        .unwrap_or(("s", 1_000));
    format!("{}{unit}", ms / unit_ms)
}

/// A number with at most three decimals, in thousandths. It is read digit by digit: no float is exact enough.
pub(super) fn parse_thousandths(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
        return None;
    }
    format!("{whole}{decimals:0<3}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_whole_number_with_a_unit() {
        for (text, ms) in [
            ("0s", Some(0)),
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("05m", Some(300_000)),
            ("24h", Some(86_400_000)),
            ("400d", Some(34_560_000_000)),
            ("99999999999999999999d", Some(u64::MAX)),
            ("", None),
            ("10", None),
            ("s", None),
            ("1.5s", None),
            ("-1s", None),
            ("1 s", None),
            ("1h30m", None),
            ("1S", None),
            ("1w", None),
            ("\u{661}s", None),
        ] {
            assert_eq!(parse_duration(text), ms.map(Millis::new), "{text:?}");
        }
    }

    #[test]
    fn a_duration_is_shown_as_it_is_written() {
        for text in ["0s", "1ms", "1500ms", "90s", "90m", "23h", "1d"] {
            assert_eq!(
                parse_duration(text).map(duration).as_deref(),
                Some(text),
                "{text}"
            );
        }
    }

    #[test]
    fn thousandths_are_exact() {
        for (text, thousandths) in [
            ("0", Some(0)),
            ("0.1", Some(100)),
            ("0.05", Some(50)),
            ("0.001", Some(1)),
            ("12.345", Some(12_345)),
            ("4294967.295", Some(u32::MAX)),
            ("4294967.296", None),
            ("0.0001", None),
            ("1e3", None),
            (".5", None),
            ("5.", None),
            ("-1", None),
            ("inf", None),
            ("", None),
        ] {
            assert_eq!(parse_thousandths(text), thousandths, "{text:?}");
        }
    }
}
