//! The board: what is shown of a page of metrics, as a picture or as one line.

use std::fmt::Display;

use super::metrics::Metrics;
use crate::screen::{Ink, Screen};

/// A column of the picture: its head, and where its number is from.
struct Column {
    head: &'static str,
    number: Number,
}

/// A number of one operation.
enum Number {
    /// The sum of a metric over all of its labels but these.
    Sum(&'static str, &'static [(&'static str, &'static str)]),
    /// Operations that were started and have not ended.
    Open,
}

const fn column(head: &'static str, number: Number) -> Column {
    Column { head, number }
}

/// The metric that names each operation of the configuration.
const STARTED: &str = "reprise_operations_created_total";
const ENDED: &str = "reprise_operations_ended_total";

/// What has happened, of each operation. Unlike the states below it is known from the first request on.
const COLUMNS: [Column; 9] = [
    column("started", Number::Sum(STARTED, &[])),
    column("open", Number::Open),
    column("done", Number::Sum(ENDED, &[("state", "done")])),
    column("failed", Number::Sum(ENDED, &[("state", "failed")])),
    column("cancelled", Number::Sum(ENDED, &[("state", "cancelled")])),
    column("attempts", Number::Sum("reprise_attempts_total", &[])),
    column("replays", Number::Sum("reprise_replays_total", &[])),
    column("mismatches", Number::Sum("reprise_mismatches_total", &[])),
    column("conflicts", Number::Sum("reprise_conflicts_total", &[])),
];

impl Number {
    fn of(&self, operation: &str, metrics: &Metrics) -> u64 {
        let sum = |name, labels: &[(&str, &str)]| {
            let mut labels = labels.to_vec();
            labels.push(("operation", operation));
            metrics.count(name, &labels).unwrap_or_default()
        };
        match self {
            Self::Sum(name, labels) => sum(name, labels),
            Self::Open => sum(STARTED, &[]).saturating_sub(sum(ENDED, &[])),
        }
    }
}

/// The states of what is kept, as the last census counted them.
const STATES: [&str; 6] = [
    "queued",
    "running",
    "waiting",
    "done",
    "failed",
    "cancelled",
];

/// What is shown of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Board {
    /// An operation with its numbers in the order of [`COLUMNS`].
    rows: Vec<(String, [u64; COLUMNS.len()])>,
    /// By the order of [`STATES`], once there was a census.
    kept: Option<[u64; STATES.len()]>,
    census_age_s: Option<u64>,
    due_lag_ms: Option<u64>,
    relay_lag_ms: Option<u64>,
    dead_letters: Option<u64>,
    store_errors: u64,
}

impl Board {
    /// Takes from a page what is shown.
    pub(crate) fn of(metrics: &Metrics) -> Self {
        let row = |operation: &str| {
            let numbers = COLUMNS.each_ref();
            let numbers = numbers.map(|column| column.number.of(operation, metrics));
            (operation.to_owned(), numbers)
        };
        let operations = metrics.values(STARTED, "operation");
        let state = |state| metrics.count("reprise_operations", &[("state", state)]);
        let kept = state(STATES[0])
            .is_some()
            .then(|| STATES.map(|name| state(name).unwrap_or_default()));
        Self {
            rows: operations.into_iter().map(row).collect(),
            kept,
            census_age_s: metrics.count("reprise_census_age_seconds", &[]),
            due_lag_ms: metrics.thousandths("reprise_due_lag_seconds", &[]),
            relay_lag_ms: metrics.thousandths("reprise_relay_lag_seconds", &[]),
            dead_letters: metrics.count("reprise_dead_letters", &[]),
            store_errors: metrics
                .count("reprise_store_errors_total", &[])
                .unwrap_or_default(),
        }
    }

    /// The picture. A number that has changed since `before` is marked.
    pub(crate) fn picture(&self, before: Option<&Self>, screen: &Screen) -> Vec<String> {
        let names = self.rows.iter().map(|(name, _)| name.chars().count());
        let width = names.chain(["operation".len()]).max().unwrap_or_default();
        let heads = COLUMNS
            .each_ref()
            .map(|column| in_cell(column, column.head));
        let head = format!("{:<width$}{}", "operation", heads.concat());
        let mut lines = vec![screen.painted(Ink::Bold, &head)];
        for (name, numbers) in &self.rows {
            let former = before.and_then(|before| before.row(name));
            let mut line = format!("{name:<width$}");
            for (at, (column, number)) in COLUMNS.iter().zip(numbers).enumerate() {
                let cell = in_cell(column, number);
                if former.is_some_and(|former| former[at] != *number) {
                    line.push_str(&screen.painted(Ink::Good, &cell));
                } else {
                    line.push_str(&cell);
                }
            }
            lines.push(line);
        }
        lines.push(String::new());
        lines.push(self.states());
        let mut gauges = self.gauges();
        if self.store_errors > 0 || self.dead_letters.is_some_and(|letters| letters > 0) {
            gauges = screen.painted(Ink::Bad, &gauges);
        }
        lines.push(gauges);
        lines
    }

    /// All of it in one line, for a log.
    pub(crate) fn line(&self) -> String {
        let mut words = Vec::new();
        for (at, column) in COLUMNS.iter().enumerate() {
            let sum: u64 = self.rows.iter().map(|(_, numbers)| numbers[at]).sum();
            words.push(format!("{} {sum}", column.head));
        }
        format!("{}, {}", words.join(", "), self.gauges())
    }

    fn row(&self, name: &str) -> Option<&[u64; COLUMNS.len()]> {
        let mut rows = self.rows.iter();
        rows.find(|(own, _)| own == name)
            .map(|(_, numbers)| numbers)
    }

    fn states(&self) -> String {
        let (Some(kept), Some(age)) = (&self.kept, self.census_age_s) else {
            return "kept: not yet counted, ticks are on their first round".to_owned();
        };
        let states = STATES.iter().zip(kept);
        let states: Vec<_> = states
            .map(|(state, number)| format!("{state} {number}"))
            .collect();
        format!("kept {age} s ago: {}", states.join(", "))
    }

    fn gauges(&self) -> String {
        let unknown = || "-".to_owned();
        let seconds = |ms: u64| format!("{}.{} s", ms / 1_000, ms % 1_000 / 100);
        format!(
            "due lag {}, relay lag {}, dead letters {}, store errors {}",
            self.due_lag_ms.map_or_else(unknown, seconds),
            self.relay_lag_ms.map_or_else(unknown, seconds),
            self.dead_letters
                .map_or_else(unknown, |letters| letters.to_string()),
            self.store_errors
        )
    }
}

/// A cell as wide as its column's head, and never narrower than a number of six digits; two spaces before it.
fn in_cell(column: &Column, content: impl Display) -> String {
    let width = column.head.len().max(6);
    format!("  {content:>width$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::tests::Written;

    const YOUNG: &str = "\
reprise_operations_created_total{operation=\"charge\"} 25
reprise_operations_created_total{operation=\"orders\"} 0
reprise_operations_ended_total{operation=\"charge\",state=\"done\"} 22
reprise_operations_ended_total{operation=\"charge\",state=\"failed\"} 1
reprise_operations_ended_total{operation=\"charge\",state=\"cancelled\"} 0
reprise_attempts_total{operation=\"charge\",outcome=\"success\"} 22
reprise_attempts_total{operation=\"charge\",outcome=\"retryable\"} 1000000
reprise_replays_total{operation=\"charge\"} 19
reprise_mismatches_total{operation=\"charge\"} 1
reprise_conflicts_total{operation=\"charge\"} 17
reprise_store_errors_total{kind=\"read\"} 0
";

    fn counted() -> String {
        format!(
            "{}{}",
            YOUNG.replace("} 25", "} 26"),
            "\
reprise_operations{operation=\"charge\",state=\"queued\"} 0
reprise_operations{operation=\"charge\",state=\"waiting\"} 2
reprise_operations{operation=\"charge\",state=\"done\"} 22
reprise_operations{operation=\"orders\",state=\"queued\"} 3
reprise_dead_letters{sink=\"projection\"} 4
reprise_due_lag_seconds 1.25
reprise_relay_lag_seconds 0
reprise_census_age_seconds 7.9
"
        )
    }

    fn board(page: &str) -> Board {
        Board::of(&Metrics::parse(page).unwrap())
    }

    #[test]
    fn a_picture_has_a_row_for_each_operation_and_what_is_not_known_yet() {
        let screen = Written::default().screen(false, false);
        let expected = "\
operation  started    open    done  failed  cancelled  attempts  replays  mismatches  conflicts
charge          25       2      22       1          0   1000022       19           1         17
orders           0       0       0       0          0         0        0           0          0

kept: not yet counted, ticks are on their first round
due lag -, relay lag -, dead letters -, store errors 0";
        assert_eq!(board(YOUNG).picture(None, &screen).join("\n"), expected);
    }

    #[test]
    fn after_a_census_states_and_lags_are_shown_and_news_is_marked() {
        let screen = Written::default().screen(true, true);
        let lines = board(&counted()).picture(Some(&board(YOUNG)), &screen);
        assert_eq!(
            lines[1],
            "charge   \x1b[32m       26\x1b[0m\x1b[32m       3\x1b[0m      22       1          0   1000022       19           1         17"
        );
        assert_eq!(
            lines[4..],
            [
                "kept 7 s ago: queued 3, running 0, waiting 2, done 22, failed 0, cancelled 0",
                "\x1b[1;31mdue lag 1.2 s, relay lag 0.0 s, dead letters 4, store errors 0\x1b[0m"
            ]
        );
    }

    #[test]
    fn a_line_has_the_sums() {
        assert_eq!(
            board(&counted()).line(),
            "started 26, open 3, done 22, failed 1, cancelled 0, attempts 1000022, replays 19, mismatches 1, conflicts 17, \
             due lag 1.2 s, relay lag 0.0 s, dead letters 4, store errors 0"
        );
    }
}
