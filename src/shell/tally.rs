//! The tally: what one instance has counted since it last brought its counts to the store.
//!
//! Counting costs a look into memory. The counts reach the store with a tick, when the metrics are asked for, and after
//! the answer to a request once there were many: never in a request's way. What an instance has not brought there when it
//! ends is lost; nothing else depends on it.

use super::log::{self, Log};
use super::problem::Problem;
use super::{inbox, operators};
use crate::config::Config;
use crate::driver::counts::Counts;
use crate::driver::{Fact, Witness};
use crate::machine::{AttemptEnd, Delivery, DeliveryState, Record, State, Timestamp};
use http::StatusCode;
use http::request::Parts;
use std::cell::{Cell, RefCell};

/// Requests that an instance counts before it brings them to the store by itself: as many as one serves on Spin.
const REQUESTS_MAX: u32 = 128;

/// The classes of requests that are no operation's. No operation has such a name.
pub(super) const CLASSES: [&str; 4] = ["(records)", "(inbox)", "(operators)", "(none)"];
/// The classes of a status.
pub(super) const STATUSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];
/// How an attempt ends.
pub(super) const OUTCOMES: [&str; 5] = ["succeeded", "retrying", "failed", "lost", "abandoned"];
/// How an operation ends.
pub(super) const ENDS: [&str; 3] = ["done", "failed", "cancelled"];
/// How a delivery ends.
pub(super) const DELIVERIES: [&str; 4] = ["delivered", "retrying", "dead", "lost"];
/// How the store fails: in a way that may pass, or in one that somebody has to look at.
pub(super) const STORE_ERRORS: [&str; 2] = ["unavailable", "refused"];
/// Upper bounds of an attempt's time, in milliseconds.
pub(super) const BOUNDS_MS: [u64; 12] = [
    5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000,
];

/// What an instance has counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: RefCell<Counts>,
    /// Requests since the counts were last taken.
    requests: Cell<u32>,
    /// Whether anything was counted since then but requests of operators: their ticks must not beget writes.
    has_news: Cell<bool>,
}

impl Tally {
    /// Whether there is so much that it is to be brought to the store.
    pub(super) const fn is_full(&self) -> bool {
        self.requests.get() >= REQUESTS_MAX
    }

    /// Whether there is anything worth a write.
    pub(super) const fn has_news(&self) -> bool {
        self.has_news.get()
    }

    /// Whether anything was counted that is not in the store yet, requests of operators among it.
    pub(super) fn has_counts(&self) -> bool {
        self.counts.borrow().iter().next().is_some()
    }

    /// What was counted and is not in the store yet.
    pub(super) fn counts(&self) -> Counts {
        self.counts.borrow().clone()
    }

    /// Counts something under words that come from the code and the configuration.
    pub(super) fn count(&self, family: &str, words: &[&str]) {
        self.add(family, words, 1);
        self.has_news.set(true);
    }

    fn add(&self, family: &str, words: &[&str], times: u64) {
        self.counts.borrow_mut().add(&name(family, words), times);
    }

    /// Counts a request that was answered.
    pub(super) fn request(&self, class: &str, status: StatusCode) {
        let status = match status.as_u16() {
            300..400 => "3xx",
            400..500 => "4xx",
            500.. => "5xx",
            _ => "2xx",
        };
        self.add("requests", &[class, status], 1);
        self.requests.set(self.requests.get().saturating_add(1));
        if class != CLASSES[2] {
            self.has_news.set(true);
        }
    }

    fn written(&self, before: Option<&Record>, after: &Record) {
        let operation = after.identity().operation.as_str();
        if before.is_none() {
            self.count("created", &[operation]);
        }
        for entry in log::ended(before, after) {
            let outcome = match entry.outcome {
                AttemptEnd::Succeeded => OUTCOMES[0],
                AttemptEnd::Retrying { .. } => OUTCOMES[1],
                AttemptEnd::Failed { .. } => OUTCOMES[2],
                AttemptEnd::Lost => OUTCOMES[3],
                AttemptEnd::Abandoned => OUTCOMES[4],
            };
            self.count("attempts", &[operation, outcome]);
            if OUTCOMES[..3].contains(&outcome) {
                self.duration(operation, entry.ended_at.since(entry.started_at).get());
            }
        }
        let is_end = |record: &Record| record.state().is_terminal();
        if is_end(after) && !before.is_some_and(is_end) {
            let end = match after.state() {
                State::Failed { .. } => ENDS[1],
                State::Cancelled { .. } => ENDS[2],
                State::Queued { .. }
                | State::Running(_)
                | State::Waiting { .. }
                | State::Done { .. } => ENDS[0],
            };
            self.count("ended", &[operation, end]);
        }
        for delivery in after.outbox().deliveries() {
            let was = before.and_then(|record| record.outbox().find(delivery.seq));
            if let Some(outcome) = was.and_then(|was| outcome_of(was, delivery)) {
                self.count("deliveries", &[delivery.event.sink().as_str(), outcome]);
            }
        }
    }

    /// Counts the time of an attempt: in one bucket, whose place in the histogram is found when that is shown.
    fn duration(&self, operation: &str, ms: u64) {
        let bound = BOUNDS_MS.into_iter().find(|bound| ms <= *bound);
        let bound = bound.map_or_else(|| "more".to_owned(), |bound| bound.to_string());
        self.count("duration", &[operation, &bound]);
        self.add("duration_ms", &[operation], ms);
    }
}

/// The name of a count.
pub(super) fn name(family: &str, words: &[&str]) -> String {
    let bytes = words.iter().map(|word| 1 + word.len()).sum::<usize>();
    let mut name = String::with_capacity(family.len() + bytes);
    name.push_str(family);
    for word in words {
        name.push(' ');
        name.push_str(word);
    }
    name
}

/// What an attempt at a delivery came to, if one has ended.
fn outcome_of(was: &Delivery, is: &Delivery) -> Option<&'static str> {
    use DeliveryState::{Dead, Delivered, Delivering, Dropped, Pending};
    match (&was.state, &is.state) {
        (Delivering { .. }, Delivered { .. }) => Some(DELIVERIES[0]),
        (Delivering { .. }, Pending { .. }) => Some(DELIVERIES[1]),
        (Pending { .. } | Delivering { .. }, Dead { .. }) => Some(DELIVERIES[2]),
        (Delivering { .. }, Delivering { .. }) if was.attempts != is.attempts => {
            Some(DELIVERIES[3])
        }
        (
            Pending { .. } | Delivering { .. } | Delivered { .. } | Dead { .. } | Dropped { .. },
            Pending { .. } | Delivering { .. } | Delivered { .. } | Dead { .. } | Dropped { .. },
        ) => None,
    }
}

/// The operation that a request is for, or the kind of what it is for: from the configuration, whatever a client sends.
pub(super) fn class_of<'a>(config: &'a Config, head: &Parts) -> &'a str {
    let path = head.uri.path();
    let [records, inboxes, operators, none] = CLASSES;
    if path.starts_with(operators::PREFIX) {
        return operators;
    }
    if path.starts_with(inbox::PREFIX) {
        return inboxes;
    }
    let mut all = config.operations.iter();
    let is_for = |one: &&crate::config::Operation| {
        one.method == head.method && one.route.find(path).is_some()
    };
    if let Some(operation) = all.clone().find(is_for) {
        return operation.name.as_str();
    }
    if all.any(|one| one.route.find_item(path).is_some()) {
        records
    } else {
        none
    }
}

/// The witness of one request: it counts, and writes down.
#[derive(Clone, Copy)]
pub(super) struct Observer<'a> {
    pub(super) tally: &'a Tally,
    pub(super) log: Log,
}

impl Observer<'_> {
    /// Hears of a problem, which is of interest where it is the store's.
    pub(super) fn problem(&self, problem: &Problem, now: Timestamp) {
        let (kind, detail) = if let Problem::StoreUnavailable(detail) = problem {
            (STORE_ERRORS[0], detail)
        } else if let Problem::StoreRefused(detail) = problem {
            (STORE_ERRORS[1], detail)
        } else {
            return;
        };
        self.tally.count("store_errors", &[kind]);
        self.log.store_failed(kind, detail, now);
    }

    /// Hears how a client's repeat was answered: `replays`, `conflicts` or `mismatches`.
    pub(super) fn repeat(&self, family: &'static str, record: &Record, now: Timestamp) {
        let operation = record.identity().operation.as_str();
        self.tally.count(family, &[operation]);
        self.log.repeated(record, family, now);
    }
}

impl Witness for Observer<'_> {
    fn note(&self, fact: Fact<'_>, now: Timestamp) {
        match fact {
            Fact::Written { before, after } => {
                self.tally.written(before, after);
                self.log.written(before, after, now);
            }
            Fact::BudgetRefused { budget } => {
                self.tally.count("budget_refusals", &[budget]);
                self.log.budget_refused(budget, now);
            }
            Fact::StoreFailed(error) => self.problem(&Problem::from(error.clone()), now),
        }
    }

    fn take(&self) -> Counts {
        self.tally.requests.set(0);
        self.tally.has_news.set(false);
        self.tally.counts.take()
    }

    fn give_back(&self, counts: &Counts) {
        self.tally.counts.borrow_mut().merge(counts);
        self.tally.has_news.set(true);
    }
}
