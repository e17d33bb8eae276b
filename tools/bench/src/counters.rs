//! How often a component asks for something of the store, as its host counts.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use reprise_e2e::Client;
use serde::Deserialize;

/// The counts since a host began.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Counters {
    requests: u64,
    kv: KeyValue,
}

#[derive(Debug, Clone, Deserialize)]
struct KeyValue {
    reads: u64,
    writes: u64,
    calls: BTreeMap<String, u64>,
}

/// Calls per request, in hundredths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// By call, those alone that were made.
    pub(crate) by_call: BTreeMap<String, u64>,
}

/// How long the last requests of a cell, and what they leave to do, may take.
const QUIET_MAX: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(50);

impl Counters {
    /// Asks the host.
    pub(crate) fn read(client: &Client) -> Result<Self> {
        let answer = client.get("/.host/stats");
        serde_json::from_str(&answer.body).with_context(|| answer.body.clone())
    }

    /// Asks the host once it does nothing any more.
    pub(crate) fn read_when_quiet(client: &Client) -> Result<Self> {
        let start = Instant::now();
        let mut last = Self::read(client)?;
        loop {
            thread::sleep(QUIET);
            let next = Self::read(client)?;
            let is_quiet = next.requests == last.requests && next.kv.calls == last.kv.calls;
            if is_quiet || start.elapsed() > QUIET_MAX {
                return Ok(next);
            }
            last = next;
        }
    }

    /// What was called between two readings, for each request of a row that reaches components so many times.
    pub(crate) fn per_request(&self, before: &Self, requests_within: u64) -> Calls {
        let requests = (self.requests - before.requests) / requests_within;
        let each = |later: u64, earlier: u64| {
            ((later - earlier) * 100 + requests / 2)
                .checked_div(requests)
                .unwrap_or_default()
        };
        let by_call = self.kv.calls.iter().map(|(call, count)| {
            let earlier = before.kv.calls.get(call).copied().unwrap_or_default();
            (call.clone(), each(*count, earlier))
        });
        Calls {
            reads: each(self.kv.reads, before.kv.reads),
            writes: each(self.kv.writes, before.kv.writes),
            by_call: by_call.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

/// Reads that one may make more than the other, of a hundred: a chain is walked as long as it has grown, and the faster
/// one of two makes it longer.
const READS_TOLERANCE: u64 = 12;
/// Writes and conditional calls that one may make more than the other, of a hundred: a lost swap is made again, and what
/// is under way when a cell ends is cut off.
const WRITES_TOLERANCE: u64 = 4;

impl Calls {
    /// How the calls of two components differ by more than chance, if they do.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let mut names: Vec<&String> = self.by_call.keys().chain(other.by_call.keys()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().find_map(|call| {
            let count = |calls: &Self| calls.by_call.get(call).copied().unwrap_or_default();
            let (one, two) = (count(self), count(other));
            let tolerance = match call.as_str() {
                "get" => READS_TOLERANCE,
                _ => WRITES_TOLERANCE,
            };
            let allowed = (one.max(two) * tolerance).div_ceil(100).max(2);
            (one.abs_diff(two) > allowed).then(|| {
                format!(
                    "{call}: {} and {} per request",
                    hundredths(one),
                    hundredths(two)
                )
            })
        })
    }

    /// By call, as text.
    pub(crate) fn listed(&self) -> String {
        let listed = self
            .by_call
            .iter()
            .map(|(call, count)| format!("{call} {}", hundredths(*count)));
        listed.collect::<Vec<_>>().join(", ")
    }
}

/// A number of hundredths as a decimal fraction.
pub(crate) fn hundredths(number: u64) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(requests: u64, get: u64, set: u64) -> Counters {
        let calls = BTreeMap::from([("get".to_owned(), get), ("set".to_owned(), set)]);
        Counters {
            requests,
            kv: KeyValue {
                reads: get,
                writes: set,
                calls,
            },
        }
    }

    #[test]
    fn calls_are_counted_for_each_request() {
        let (before, after) = (counters(10, 7, 3), counters(210, 257, 3));
        let calls = after.per_request(&before, 2);
        assert_eq!((calls.reads, calls.writes), (250, 0));
        assert_eq!(calls.listed(), "get 2.50");
        assert_eq!(before.per_request(&before, 1).reads, 0);
    }

    #[test]
    fn a_difference_is_told_by_its_call() {
        let calls = |get, set| counters(100, get, set).per_request(&counters(0, 0, 0), 1);
        for (one, two, difference) in [
            (calls(200, 100), calls(200, 100), None),
            (calls(200, 100), calls(223, 103), None),
            (
                calls(200, 100),
                calls(230, 100),
                Some("get: 2.00 and 2.30 per request"),
            ),
            (
                calls(200, 100),
                calls(200, 110),
                Some("set: 1.00 and 1.10 per request"),
            ),
            (
                calls(200, 0),
                calls(200, 100),
                Some("set: 0.00 and 1.00 per request"),
            ),
        ] {
            assert_eq!(one.difference(&two).as_deref(), difference);
        }
    }
}
