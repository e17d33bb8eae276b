//! The table, as Markdown.

use crate::cells::Place;
use crate::counters::hundredths;
use crate::extras::Extras;
use crate::goals;
use crate::machine::Machine;
use crate::options::Options;
use crate::rows::Row;
use crate::subject::Subject;
use crate::summary::{Line, Summary};

/// All that a run has to say.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) options: &'a Options,
    pub(crate) machine: &'a Machine,
    pub(crate) summary: &'a Summary,
    pub(crate) extras: &'a Extras,
}

impl Report<'_> {
    /// The whole report.
    pub(crate) fn markdown(&self) -> String {
        let tables = [self.cells(), self.ratios(), self.growth(), self.goals()];
        let mut parts = vec![self.header()];
        parts.extend(tables.into_iter().filter(|table| !table.is_empty()));
        parts.join("\n\n")
    }

    fn header(&self) -> String {
        let Options {
            cell,
            repetitions,
            live,
            journal,
            spin,
            ..
        } = self.options;
        let Machine {
            cores,
            kernel,
            file_system,
            fsync_us,
        } = self.machine;
        let server = match spin {
            Some(spin) => format!("(a) and (b) in {}", spin.display()),
            None => "(a) and (b) in the workspace's host".to_owned(),
        };
        format!(
            "{cores} cores, shared with the load generator; Linux {kernel}, {file_system}, a write and its fsync {}; \
             loopback; SQLite, journal mode {}, {live} live records; {server}; medians of {repetitions} × {} s.",
            milliseconds(*fsync_us),
            journal.name(),
            cell.as_secs()
        )
    }

    fn cells(&self) -> String {
        let mut lines = Vec::new();
        for row in Row::ALL {
            let of_row = self.summary.lines.iter();
            let of_row = of_row.filter(|(place, _)| place.row == row);
            lines.extend(of_row.map(|(place, line)| cell(*place, line)));
        }
        table(
            "| Request | Connections | Subject | Requests/s | p50 | p99 | Key-value reads | writes | calls |",
            lines,
        )
    }

    /// Requests per second of Reprise to those of each peer.
    fn ratios(&self) -> String {
        const PEERS: [Subject; 3] = [Subject::Bare, Subject::Twin, Subject::Restate];
        let mut lines = Vec::new();
        for row in Row::ALL {
            let of_row = self.summary.ratios.keys();
            let of_row = of_row.filter(|place| place.row == row);
            let mut connections: Vec<usize> = of_row.map(|place| place.connections).collect();
            connections.dedup();
            lines.extend(connections.into_iter().map(|connections| {
                let ratios = PEERS.map(|subject| {
                    let place = Place {
                        row,
                        connections,
                        subject,
                    };
                    shown(self.summary.ratios.get(&place).copied())
                });
                let ratios = ratios.join(" | ");
                format!("| {} | {connections} | {ratios} |", row.title())
            }));
        }
        table(
            "| Requests/s | Connections | (a)/(b) | (a)/(c) | (a)/(d) |",
            lines,
        )
    }

    fn growth(&self) -> String {
        let sizes = self.extras.growth.iter().flat_map(|growth| &growth.sizes);
        let lines = sizes.map(|size| {
            let p50 = milliseconds(size.p50_us);
            format!("| {} | {p50} | {} |", size.live, shown(size.reads))
        });
        table(
            "| Live records | Replay, one connection: p50 | Reads a replay |",
            lines.collect(),
        )
    }

    fn goals(&self) -> String {
        let goals = goals::judge(self.summary, self.extras);
        let lines = goals.iter().map(|goal| {
            let verdict = if goal.is_met { "met" } else { "missed" };
            format!(
                "| {} | {} | {} | {verdict} |",
                goal.what, goal.wanted, goal.measured
            )
        });
        table("| Goal | Wanted | Measured | |", lines.collect())
    }
}

/// A table; nothing without lines.
fn table(head: &str, lines: Vec<String>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let rule = "|---".repeat(head.matches('|').count() - 1) + "|";
    let mut all = vec![head.to_owned(), rule];
    all.extend(lines);
    all.join("\n")
}

/// One line of the table of cells.
fn cell(place: Place, line: &Line) -> String {
    let calls = match &line.calls {
        Some(calls) => format!(
            "{} | {} | {}",
            hundredths(calls.reads),
            hundredths(calls.writes),
            calls.listed()
        ),
        None => "– | – | –".to_owned(),
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {calls} |",
        place.row.title(),
        place.connections,
        place.subject.title(),
        line.requests_per_s,
        milliseconds(line.p50_us),
        milliseconds(line.p99_us)
    )
}

/// A number of hundredths, if there is one.
fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "–".to_owned(), hundredths)
}

/// Microseconds as milliseconds with two decimals.
pub(crate) fn milliseconds(us: u64) -> String {
    format!("{} ms", hundredths((us + 5) / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_rule_as_wide_as_its_head() {
        let lines = vec!["| 1 | 2 |".to_owned()];
        assert_eq!(table("| a | b |", lines), "| a | b |\n|---|---|\n| 1 | 2 |");
        assert_eq!(table("| a | b |", Vec::new()), "");
    }

    #[test]
    fn times_are_shown_in_milliseconds() {
        for (us, shown) in [
            (0, "0.00 ms"),
            (4, "0.00 ms"),
            (1_234, "1.23 ms"),
            (1_995, "2.00 ms"),
            (43_000, "43.00 ms"),
        ] {
            assert_eq!(milliseconds(us), shown);
        }
    }
}
