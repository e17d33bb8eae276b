//! What the project asks of itself, and whether this run shows it.

use crate::cells::{CONNECTIONS, Place};
use crate::counters::hundredths;
use crate::extras::Extras;
use crate::rows::Row;
use crate::subject::Subject;
use crate::summary::Summary;
use crate::table::milliseconds;

/// A goal, with what was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Goal {
    pub(crate) what: String,
    pub(crate) wanted: String,
    pub(crate) measured: String,
    pub(crate) is_met: bool,
}

/// Ratios of requests per second at 16 connections, in hundredths.
const RATIOS: [(Row, Subject, u64); 6] = [
    (Row::Replay, Subject::Bare, 85),
    (Row::Get, Subject::Bare, 85),
    (Row::Order, Subject::Bare, 85),
    (Row::Order, Subject::Twin, 50),
    (Row::Order, Subject::Restate, 100),
    (Row::Replay, Subject::Restate, 80),
];
/// Of a replay at one connection.
const REPLAY_P50_US: u64 = 3_000;
/// Of a replay's p50 among the most records to that among the fewest, in hundredths.
const GROWTH: u64 = 150;
/// Of the memory later to that earlier, in hundredths: what an allocator does not give back is no growth.
const MEMORY: u64 = 110;
const START_MS: u64 = 300;

/// Every goal that this run says something about.
pub(crate) fn judge(summary: &Summary, extras: &Extras) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (row, subject, wanted) in RATIOS {
        let place = Place {
            row,
            connections: CONNECTIONS,
            subject,
        };
        if let Some(ratio) = summary.ratios.get(&place) {
            goals.push(Goal {
                what: format!(
                    "{}, {CONNECTIONS} connections: (a) to {}",
                    row.title(),
                    subject.title()
                ),
                wanted: format!("at least {}", hundredths(wanted)),
                measured: hundredths(*ratio),
                is_met: *ratio >= wanted,
            });
        }
    }
    let place = Place {
        row: Row::Replay,
        connections: 1,
        subject: Subject::Reprise,
    };
    if let Some(line) = summary.lines.get(&place) {
        goals.push(Goal {
            what: "replay, one kept-alive connection: p50".to_owned(),
            wanted: format!("at most {}", milliseconds(REPLAY_P50_US)),
            measured: milliseconds(line.p50_us),
            is_met: line.p50_us <= REPLAY_P50_US,
        });
    }
    goals.extend(growth(extras));
    goals.extend(memory(extras));
    if let Some(start) = extras.start {
        let slowest = start.health_ms.max(start.replay_ms);
        goals.push(Goal {
            what: "start of the host to the first answer, compiled before: health, replay"
                .to_owned(),
            wanted: format!("at most {START_MS} ms"),
            measured: format!("{} ms, {} ms", start.health_ms, start.replay_ms),
            is_met: slowest <= START_MS,
        });
    }
    goals
}

fn growth(extras: &Extras) -> Option<Goal> {
    let growth = extras.growth.as_ref()?;
    let (first, last) = (growth.sizes.first()?, growth.sizes.last()?);
    let ratio = (last.p50_us * 100).checked_div(first.p50_us)?;
    Some(Goal {
        what: format!(
            "replay, one connection: p50 at {} live records to that at {}",
            last.live, first.live
        ),
        wanted: format!("at most {}", hundredths(GROWTH)),
        measured: format!(
            "{}: {} to {}",
            hundredths(ratio),
            milliseconds(last.p50_us),
            milliseconds(first.p50_us)
        ),
        is_met: ratio <= GROWTH,
    })
}

fn memory(extras: &Extras) -> Option<Goal> {
    let memory = extras.memory.as_ref()?;
    let (first, second) = memory.highest_kib()?;
    let ratio = (second * 100).checked_div(first)?;
    Some(Goal {
        what: format!(
            "resident memory of the host over {} replays: the most in the second half to that in the first",
            memory.seen.last()?.requests
        ),
        wanted: format!("at most {}", hundredths(MEMORY)),
        measured: format!("{}: {second} to {first} KiB", hundredths(ratio)),
        is_met: ratio <= MEMORY,
    })
}
