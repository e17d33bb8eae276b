//! What happens to a charge of a given amount: the table that the crate's documentation shows, and nothing about HTTP.

/// What happens to a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// It is approved.
    Approved,
    /// It is declined, each time.
    Declined,
    /// Two calls find the provider away.
    UnavailableTwice,
    /// One call does, and is told in how many seconds to come back.
    UnavailableForSeconds,
    /// One call does, and is told the time at which to come back.
    UnavailableUntilDate,
    /// One call is one too many.
    RateLimited,
    /// It is approved, and the first answer takes long.
    Slow,
    /// It is approved, and the first answer breaks off.
    CutOff,
    /// It is approved, and the answer is large.
    Large,
    /// It is approved, and the answer has headers that concern nobody but this client on this connection.
    PrivateHeaders,
}

/// A behaviour, how its counters are named in the store, which amount chooses it, and what a reader is told.
struct Row {
    behaviour: Behaviour,
    name: &'static str,
    amount: Option<u64>,
    text: &'static str,
}

const fn row(
    behaviour: Behaviour,
    name: &'static str,
    amount: Option<u64>,
    text: &'static str,
) -> Row {
    Row {
        behaviour,
        name,
        amount,
        text,
    }
}

/// One row for each behaviour. A name is part of what is stored, so it must not change.
const ROWS: [Row; 10] = [
    row(Behaviour::Approved, "approved", None, "201"),
    row(
        Behaviour::Declined,
        "declined",
        Some(40_200),
        "402, declined; never charged",
    ),
    row(
        Behaviour::UnavailableTwice,
        "unavailable-twice",
        Some(50_300),
        "503 twice, then 201",
    ),
    row(
        Behaviour::UnavailableForSeconds,
        "unavailable-seconds",
        Some(50_301),
        "503 with Retry-After: 2 once, then 201",
    ),
    row(
        Behaviour::UnavailableUntilDate,
        "unavailable-date",
        Some(50_302),
        "503 with Retry-After as a date two seconds ahead once, then 201",
    ),
    row(
        Behaviour::RateLimited,
        "rate-limited",
        Some(42_900),
        "429 with Retry-After: 1 once, then 201",
    ),
    row(
        Behaviour::Slow,
        "slow",
        Some(40_800),
        "charged at once, 201 after ten seconds, then 201 at once",
    ),
    row(
        Behaviour::CutOff,
        "cut-off",
        Some(50_200),
        "charged, 201 cut off in the middle of its body, then 201 whole",
    ),
    row(
        Behaviour::Large,
        "large",
        Some(41_300),
        "201 with three million bytes",
    ),
    row(
        Behaviour::PrivateHeaders,
        "private-headers",
        Some(40_100),
        "201 with Set-Cookie, WWW-Authenticate and headers for one hop",
    ),
];

impl Behaviour {
    /// What happens to a charge of this amount.
    pub fn of(amount: u64) -> Self {
        let special = ROWS.iter().find(|row| row.amount == Some(amount));
        special.map_or(Self::Approved, |row| row.behaviour)
    }

    /// The behaviour whose counters bear this name.
    pub fn named(name: &str) -> Option<Self> {
        let row = ROWS.iter().find(|row| row.name == name)?;
        Some(row.behaviour)
    }

    /// How its counters are named.
    pub fn name(self) -> &'static str {
        let row = ROWS.iter().find(|row| row.behaviour == self);
        row.expect("each behaviour has a row").name
    }

    /// How many calls fail before they have any effect.
    pub const fn failures(self) -> u64 {
        match self {
            Self::UnavailableTwice => 2,
            Self::UnavailableForSeconds | Self::UnavailableUntilDate | Self::RateLimited => 1,
            Self::Approved
            | Self::Declined
            | Self::Slow
            | Self::CutOff
            | Self::Large
            | Self::PrivateHeaders => 0,
        }
    }

    /// How many charges this many calls have made: those of one key, or those that came without a key.
    pub fn charges(self, calls: u64, keyed: bool) -> u64 {
        let effective = match self {
            Self::Declined => 0,
            Self::Approved
            | Self::UnavailableTwice
            | Self::UnavailableForSeconds
            | Self::UnavailableUntilDate
            | Self::RateLimited
            | Self::Slow
            | Self::CutOff
            | Self::Large
            | Self::PrivateHeaders => calls.saturating_sub(self.failures()),
        };
        if keyed { effective.min(1) } else { effective }
    }
}

/// The table for people, a behaviour a line.
pub fn table() -> String {
    let lines = ROWS.map(|row| {
        let amount = row.amount.map(|amount| amount.to_string());
        let amount = amount.as_deref().unwrap_or("any other");
        format!("{amount:>9}  {}", row.text)
    });
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_amount_of_the_table_has_its_behaviour_and_others_are_approved() {
        for row in ROWS {
            assert_eq!(Behaviour::named(row.name), Some(row.behaviour));
            assert_eq!(row.behaviour.name(), row.name);
            let amount = row.amount.unwrap_or(1_999);
            assert_eq!(Behaviour::of(amount), row.behaviour);
        }
        for amount in [0, 1, 40_199, 50_299, 50_303, u64::MAX] {
            assert_eq!(Behaviour::of(amount), Behaviour::Approved);
        }
        assert_eq!(Behaviour::named("other"), None);
    }

    #[test]
    fn charges_follow_from_calls() {
        // The behaviour, and the charges of 0, 1, 2, 3 and 4 calls: with one key, and without any.
        let table = [
            (Behaviour::Approved, [0, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
            (Behaviour::Declined, [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
            (
                Behaviour::UnavailableTwice,
                [0, 0, 0, 1, 1],
                [0, 0, 0, 1, 2],
            ),
            (
                Behaviour::UnavailableForSeconds,
                [0, 0, 1, 1, 1],
                [0, 0, 1, 2, 3],
            ),
            (
                Behaviour::UnavailableUntilDate,
                [0, 0, 1, 1, 1],
                [0, 0, 1, 2, 3],
            ),
            (Behaviour::RateLimited, [0, 0, 1, 1, 1], [0, 0, 1, 2, 3]),
            (Behaviour::Slow, [0, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
            (Behaviour::CutOff, [0, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
            (Behaviour::Large, [0, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
            (Behaviour::PrivateHeaders, [0, 1, 1, 1, 1], [0, 1, 2, 3, 4]),
        ];
        assert_eq!(table.len(), ROWS.len());
        for (behaviour, keyed, keyless) in table {
            let charges = |keyed| [0, 1, 2, 3, 4].map(|calls| behaviour.charges(calls, keyed));
            assert_eq!(
                (charges(true), charges(false)),
                (keyed, keyless),
                "{behaviour:?}"
            );
        }
    }

    #[test]
    fn the_table_for_people_has_each_behaviour() {
        let table = table();
        assert_eq!(table.lines().count(), ROWS.len());
        assert!(
            table.contains("any other  201\n    40200  402, declined"),
            "{table}"
        );
    }
}
