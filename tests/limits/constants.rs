//! The constants of a source file, as far as their values are simple.

/// How much of something. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Count(u64),
    Ms(u64),
}

/// What units say: how many of the least they are, and whether that is a millisecond.
const UNITS: [(&str, u64, bool); 10] = [
    ("", 1, false),
    ("bytes", 1, false),
    ("KiB", 1_024, false),
    ("ms", 1, true),
    ("s", 1_000, true),
    ("m", 60_000, true),
    ("min", 60_000, true),
    ("h", 3_600_000, true),
    ("d", 86_400_000, true),
    ("days", 86_400_000, true),
];

impl Amount {
    /// Reads a number with a unit, as a document or a configuration writes it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != ',');
        let (number, unit) = text.split_at(unit_at.unwrap_or(text.len()));
        let number: u64 = number.replace(',', "").parse().ok()?;
        let (_, factor, is_time) = UNITS.iter().find(|(name, ..)| *name == unit.trim())?;
        let amount = number.checked_mul(*factor)?;
        Some(if *is_time {
            Self::Ms(amount)
        } else {
            Self::Count(amount)
        })
    }
}

/// The value of a constant: a product, difference or shift of numbers, perhaps as a time.
pub(crate) fn find(source: &str, name: &str) -> Option<Amount> {
    let start = source.find(&format!("const {name}: "))?;
    let (_, rest) = source[start..].split_once('=')?;
    let (value, _) = rest.split_once(';')?;
    let value = value.trim();
    let times = [
        ("Millis::from_secs(", 1_000),
        ("Millis::new(", 1),
        ("Duration::from_secs(", 1_000),
        ("Duration::from_millis(", 1),
    ];
    for (constructor, factor) in times {
        if let Some(inner) = value.strip_prefix(constructor) {
            return Some(Amount::Ms(number(inner.strip_suffix(')')?)? * factor));
        }
    }
    let number = number(value)?;
    Some(if name.ends_with("_S") {
        Amount::Ms(number * 1_000)
    } else if name.ends_with("_MS") {
        Amount::Ms(number)
    } else {
        Amount::Count(number)
    })
}

fn number(text: &str) -> Option<u64> {
    if let Some((left, right)) = text.split_once(" - ") {
        return number(left)?.checked_sub(number(right)?);
    }
    if let Some((left, right)) = text.split_once(" * ") {
        return number(left)?.checked_mul(number(right)?);
    }
    if let Some((left, right)) = text.split_once(" << ") {
        return Some(number(left)? << number(right)?);
    }
    text.trim().replace('_', "").parse().ok()
}

/// The names of a file's public constants.
pub(crate) fn public_names(source: &str) -> Vec<String> {
    let lines = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub const "));
    let names = lines.filter_map(|line| line.split_once(':'));
    names
        .filter(|(name, _)| !name.contains('('))
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[test]
fn amounts_and_constants_are_read() {
    let amounts = [
        ("100", Some(Amount::Count(100))),
        ("1,000,000 bytes", Some(Amount::Count(1_000_000))),
        ("4 KiB", Some(Amount::Count(4_096))),
        ("15m", Some(Amount::Ms(900_000))),
        ("30 d", Some(Amount::Ms(2_592_000_000))),
        ("4 apples", None),
        ("", None),
    ];
    for (text, expected) in amounts {
        assert_eq!(Amount::parse(text), expected, "{text}");
    }
    let source = "pub const A: usize = 1_000_000 - 1_024;\nconst B_S: u64 = 60;\n\
                  pub(super) const C: Millis = Millis::from_secs(2 * 60);\nconst D: u64 = 1 << 20;\n\
                  pub const fn e(x: u32) {}\nconst F: u64 = other();\n";
    let constants = [
        ("A", Some(Amount::Count(998_976))),
        ("B_S", Some(Amount::Ms(60_000))),
        ("C", Some(Amount::Ms(120_000))),
        ("D", Some(Amount::Count(1 << 20))),
        ("F", None),
        ("G", None),
    ];
    for (name, expected) in constants {
        assert_eq!(find(source, name), expected, "{name}");
    }
    assert_eq!(public_names(source), ["A"]);
}
