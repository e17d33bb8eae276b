//! From the measurements to the numbers of the table: medians, and ratios of what was measured side by side.

use std::collections::BTreeMap;

use crate::cells::{Place, Sample, Samples};
use crate::counters::Calls;
use crate::median::median;
use crate::subject::Subject;

/// The numbers of the table.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// One line for each cell.
    pub(crate) lines: BTreeMap<Place, Line>,
    /// At the place of a peer: requests per second of Reprise for a hundred of the peer's, the median of the ratios
    /// within each repetition.
    pub(crate) ratios: BTreeMap<Place, u64>,
}

/// The medians of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) requests_per_s: u64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
    pub(crate) calls: Option<Calls>,
}

impl Summary {
    pub(crate) fn of(samples: &Samples) -> Self {
        let mut summary = Self::default();
        for (place, cell) in samples {
            if let Some(line) = line(cell) {
                summary.lines.insert(*place, line);
            }
            let reprise = Place {
                subject: Subject::Reprise,
                ..*place
            };
            if place.subject != Subject::Reprise
                && let Some(own) = samples.get(&reprise)
                && let Some(ratio) = ratio(own, cell)
            {
                summary.ratios.insert(*place, ratio);
            }
        }
        summary
    }
}

fn line(cell: &[Sample]) -> Option<Line> {
    let of = |number: fn(&Sample) -> u64| median(cell.iter().map(number));
    Some(Line {
        requests_per_s: of(|sample| sample.report.requests_per_s)?,
        p50_us: of(|sample| sample.report.p50_us)?,
        p99_us: of(|sample| sample.report.p99_us)?,
        calls: calls(cell),
    })
}

/// The medians of the calls, where all were counted.
fn calls(cell: &[Sample]) -> Option<Calls> {
    let counted: Option<Vec<&Calls>> = cell.iter().map(|sample| sample.calls.as_ref()).collect();
    let counted = counted?;
    let names = counted.iter().flat_map(|calls| calls.by_call.keys());
    let by_call = names
        .map(|name| {
            let counts = counted
                .iter()
                .map(|calls| calls.by_call.get(name).copied().unwrap_or_default());
            (name.clone(), median(counts).unwrap_or_default())
        })
        .filter(|(_, count)| *count > 0)
        .collect();
    Some(Calls {
        reads: median(counted.iter().map(|calls| calls.reads))?,
        writes: median(counted.iter().map(|calls| calls.writes))?,
        by_call,
    })
}

fn ratio(own: &[Sample], peer: &[Sample]) -> Option<u64> {
    let ratios = own.iter().zip(peer).filter_map(|(own, peer)| {
        (own.report.requests_per_s * 100).checked_div(peer.report.requests_per_s)
    });
    median(ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Row;
    use crate::wrk::Report;

    fn samples(rates: &[u64]) -> Vec<Sample> {
        let sample = |rate: &u64| Sample {
            report: Report {
                requests: *rate,
                requests_per_s: *rate,
                p50_us: 1_000_000 / rate,
                p99_us: 2_000_000 / rate,
            },
            calls: None,
        };
        rates.iter().map(sample).collect()
    }

    #[test]
    fn ratios_are_those_of_neighbours() {
        let at = |subject| Place {
            row: Row::Order,
            connections: 16,
            subject,
        };
        // The disk was slow for both in the second repetition, and for the twin alone in the third.
        let samples = Samples::from([
            (at(Subject::Reprise), samples(&[500, 100, 480])),
            (at(Subject::Twin), samples(&[1_000, 200, 400])),
        ]);
        let summary = Summary::of(&samples);
        assert_eq!(summary.ratios, BTreeMap::from([(at(Subject::Twin), 50)]));
        assert_eq!(summary.lines[&at(Subject::Reprise)].requests_per_s, 480);
        assert_eq!(summary.lines[&at(Subject::Reprise)].p50_us, 2_083);
    }
}
