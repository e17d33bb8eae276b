//! The table, as Markdown.

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
        let mut lines = vec![self.header(), String::new()];
        lines.extend(self.cells());
        let ratios = self.ratios();
        if !ratios.is_empty() {
            lines.push(String::new());
            lines.extend(ratios);
        }
        if let Some(growth) = &self.extras.growth {
            lines.push(String::new());
            lines
                .push("| Live records | Replay, one connection: p50 | Reads a replay |".to_owned());
            lines.push("|---|---|---|".to_owned());
            lines.extend(growth.sizes.iter().map(|size| {
                let reads = size.reads.map_or_else(|| "–".to_owned(), hundredths);
                format!(
                    "| {} | {} | {reads} |",
                    size.live,
                    milliseconds(size.p50_us)
                )
            }));
        }
        let goals = goals::judge(self.summary, self.extras);
        if !goals.is_empty() {
            lines.push(String::new());
            lines.push("| Goal | Wanted | Measured | |".to_owned());
            lines.push("|---|---|---|---|".to_owned());
            lines.extend(goals.iter().map(|goal| {
                let verdict = if goal.is_met { "met" } else { "missed" };
                format!(
                    "| {} | {} | {} | {verdict} |",
                    goal.what, goal.wanted, goal.measured
                )
            }));
        }
        lines.join("\n")
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

    fn cells(&self) -> Vec<String> {
        let mut lines = vec![
            "| Request | Connections | Subject | Requests/s | p50 | p99 | Key-value reads | writes | calls |"
                .to_owned(),
            "|---|---|---|---|---|---|---|---|---|".to_owned(),
        ];
        for row in Row::ALL {
            let of_row = self.summary.lines.iter();
            let of_row = of_row.filter(|(place, _)| place.row == row);
            lines.extend(of_row.map(|(place, line)| {
                let Line {
                    requests_per_s,
                    p50_us,
                    p99_us,
                    calls,
                } = line;
                let calls = calls.as_ref().map_or_else(
                    || "– | – | –".to_owned(),
                    |calls| {
                        format!(
                            "{} | {} | {}",
                            hundredths(calls.reads),
                            hundredths(calls.writes),
                            calls.listed()
                        )
                    },
                );
                format!(
                    "| {} | {} | {} | {requests_per_s} | {} | {} | {calls} |",
                    row.title(),
                    place.connections,
                    place.subject.title(),
                    milliseconds(*p50_us),
                    milliseconds(*p99_us)
                )
            }));
        }
        lines
    }

    /// Requests per second of Reprise to those of each peer.
    fn ratios(&self) -> Vec<String> {
        const PEERS: [Subject; 3] = [Subject::Bare, Subject::Twin, Subject::Restate];
        let mut lines = Vec::new();
        for row in Row::ALL {
            let of_row = self.summary.ratios.iter();
            let of_row = of_row.filter(|(place, _)| place.row == row);
            let mut connections: Vec<usize> = of_row.map(|(place, _)| place.connections).collect();
            connections.dedup();
            for connections in connections {
                let ratios = PEERS.map(|subject| {
                    let place = crate::cells::Place {
                        row,
                        connections,
                        subject,
                    };
                    let ratio = self.summary.ratios.get(&place);
                    ratio.map_or_else(|| "–".to_owned(), |ratio| hundredths(*ratio))
                });
                lines.push(format!(
                    "| {} | {connections} | {} |",
                    row.title(),
                    ratios.join(" | ")
                ));
            }
        }
        if !lines.is_empty() {
            let head = "| Requests/s | Connections | (a)/(b) | (a)/(c) | (a)/(d) |";
            lines.splice(0..0, [head.to_owned(), "|---|---|---|---|---|".to_owned()]);
        }
        lines
    }
}

/// Microseconds as milliseconds with two decimals.
pub(crate) fn milliseconds(us: u64) -> String {
    format!("{} ms", hundredths((us + 5) / 10))
}

#[cfg(test)]
mod tests {
    use super::*;

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
