//! Metrics: `GET /-/metrics`, in the text format of Prometheus, version 0.0.4.
//!
//! Counters are what all instances have brought to the store, this one included; gauges are those of the last census, of
//! the walk and of the budgets. Which series there are is a matter of the configuration: each that can be is there, with a
//! 0 where nothing has happened, and what was counted under names that are configured no more is not shown.

use super::app::{Access, Open};
use super::outgoing::Outgoing;
use super::problem::Problem;
use super::reply::{self, Reply};
use super::request::Invocation;
use super::tally::{self, BOUNDS_MS, CLASSES, DELIVERIES, ENDS, OUTCOMES, STATUSES, STORE_ERRORS};
use crate::config::{Config, Handler, Operation};
use crate::driver::counts::Counts;
use crate::driver::kv::Kv;
use crate::driver::walk::{self, Walk};
use crate::machine::{Name, Timestamp, budget};
use std::fmt::Write as _;

/// The path.
pub const METRICS_PATH: &str = "/-/metrics";
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The states of an operation, by their names.
const STATES: [&str; 6] = [
    "queued",
    "running",
    "waiting",
    "done",
    "failed",
    "cancelled",
];

/// `GET /-/metrics`
pub(super) async fn show<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let now = invocation.now;
    let entropy = &mut invocation.entropy;
    let open = access.open(entropy).await?;
    // Whatever is shown has to be there for the next one who looks, or the counter would go back with this instance.
    let flushed = if open.observer.tally.has_counts() {
        let flushed = walk::flush(&open.store, &open.observer, now, entropy);
        flushed.await.ok()
    } else {
        None
    };
    let walk = match flushed {
        Some(walk) => walk,
        None => walk::stand(&open.store, now, entropy).await?.into_walk(),
    };
    let mut counts = walk.counts().clone();
    // What could not be brought there, or came in meanwhile.
    counts.merge(&open.observer.tally.counts());
    let mut page = Page::default();
    page.counters(open.config, &counts);
    page.durations(open.config, &counts);
    page.gauges(open.config, &walk, now);
    page.budgets(&open, now).await?;
    Ok(reply::text(MEDIA_TYPE, page.0))
}

/// A counter: its name, the name of its counts, what it says, and the names of its labels.
type Counter = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const REQUESTS: Counter = (
    "requests_total",
    "requests",
    "Requests that were answered, by the operation or the kind of route that they were for.",
    &["operation", "status"],
);
const CREATED: Counter = (
    "operations_created_total",
    "created",
    "Operations that clients have started.",
    &["operation"],
);
const ENDED: Counter = (
    "operations_ended_total",
    "ended",
    "Operations that have come to an end.",
    &["operation", "state"],
);
const REPLAYS: Counter = (
    "replays_total",
    "replays",
    "Repeats that were given the first request's answer.",
    &["operation"],
);
const MISMATCHES: Counter = (
    "mismatches_total",
    "mismatches",
    "Requests whose key belongs to other content.",
    &["operation"],
);
const CONFLICTS: Counter = (
    "conflicts_total",
    "conflicts",
    "Repeats that were told that the operation is in progress.",
    &["operation"],
);
const ATTEMPTS: Counter = (
    "attempts_total",
    "attempts",
    "Attempts that have ended.",
    &["operation", "outcome"],
);
const SENT: Counter = (
    "deliveries_total",
    "deliveries",
    "Attempts at delivering an event that have ended.",
    &["sink", "outcome"],
);
const REFUSALS: Counter = (
    "retry_budget_refusals_total",
    "budget_refusals",
    "Retries that an empty budget has forbidden.",
    &["upstream"],
);
const FAILURES: Counter = (
    "store_errors_total",
    "store_errors",
    "Times that the store could not be used.",
    &["kind"],
);

/// The text of a page.
#[derive(Debug, Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // A string takes every text.
        let _ = writeln!(
            self.0,
            "# HELP reprise_{name} {help}\n# TYPE reprise_{name} {kind}"
        );
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: &str) {
        let _ = write!(self.0, "reprise_{name}");
        for (at, (label, text)) in labels.iter().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{open}{label}=\"");
            for character in text.chars() {
                match character {
                    '\n' => self.0.push_str("\\n"),
                    '"' | '\\' => self.0.extend(['\\', character]),
                    _ => self.0.push(character),
                }
            }
            self.0.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: &str) {
        self.head(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// A counter with a series for each of `first` and, where there is a second label, each of `second`.
    fn counter(
        &mut self,
        (name, family, help, labels): Counter,
        counts: &Counts,
        first: &[&str],
        second: &[&str],
    ) {
        if first.is_empty() {
            return;
        }
        self.head(name, "counter", help);
        for one in first {
            let mut words = vec![*one];
            let mut others = second.iter();
            loop {
                words.truncate(1);
                words.extend(others.next());
                if words.len() < labels.len() {
                    break;
                }
                let count = counts.of(&tally::name(family, &words));
                let named: Vec<(&str, &str)> =
                    labels.iter().copied().zip(words.iter().copied()).collect();
                self.sample(name, &named, &count.to_string());
                if labels.len() == 1 {
                    break;
                }
            }
        }
    }

    fn counters(&mut self, config: &Config, counts: &Counts) {
        let operations = operations(config);
        let classes: Vec<&str> = operations.iter().copied().chain(CLASSES).collect();
        let sinks: Vec<&str> = config.sinks.keys().map(Name::as_str).collect();
        let upstreams: Vec<&str> = budgets(config).map(|(name, _)| name.as_str()).collect();
        self.counter(REQUESTS, counts, &classes, &STATUSES);
        self.counter(CREATED, counts, &operations, &[]);
        self.counter(ENDED, counts, &operations, &ENDS);
        self.counter(REPLAYS, counts, &operations, &[]);
        self.counter(MISMATCHES, counts, &operations, &[]);
        self.counter(CONFLICTS, counts, &operations, &[]);
        self.counter(ATTEMPTS, counts, &operations, &OUTCOMES);
        self.counter(SENT, counts, &sinks, &DELIVERIES);
        self.counter(REFUSALS, counts, &upstreams, &[]);
        self.counter(FAILURES, counts, &STORE_ERRORS, &[]);
    }

    /// The times of attempts. Buckets add up from the shortest on.
    fn durations(&mut self, config: &Config, counts: &Counts) {
        const NAME: &str = "attempt_duration_seconds";
        let help = "How long attempts took that were not lost.";
        self.head(NAME, "histogram", help);
        for operation in &config.operations {
            let name = operation.name.as_str();
            let labels = [("operation", name), ("upstream", upstream_of(operation))];
            let mut sum = 0;
            let mut bucket = |page: &mut Self, bound: &str, le: &str| {
                sum += counts.of(&tally::name("duration", &[name, bound]));
                let labels = [labels[0], labels[1], ("le", le)];
                page.sample("attempt_duration_seconds_bucket", &labels, &sum.to_string());
            };
            for bound in BOUNDS_MS {
                bucket(self, &bound.to_string(), &seconds(bound));
            }
            bucket(self, "more", "+Inf");
            let ms = counts.of(&tally::name("duration_ms", &[name]));
            self.sample("attempt_duration_seconds_sum", &labels, &seconds(ms));
            self.sample("attempt_duration_seconds_count", &labels, &sum.to_string());
        }
    }

    /// What the walk has seen, once it has seen everything.
    fn gauges(&mut self, config: &Config, walk: &Walk, now: Timestamp) {
        let at = |at: Timestamp| seconds(at.as_unix_ms());
        self.gauge(
            "last_tick_timestamp_seconds",
            "When a tick has last done its work.",
            &at(walk.moved_at()),
        );
        let Some(last) = walk.last_census() else {
            return;
        };
        let (name, help) = ("operations", "Operations that are kept, by their state.");
        self.head(name, "gauge", help);
        let mut others = 0;
        let known = operations(config);
        for (counted, number) in last.census.operations().iter() {
            let is_known = known.iter().any(|operation| {
                counted
                    .strip_prefix(operation)
                    .is_some_and(|rest| rest.starts_with(' '))
            });
            others += if is_known { 0 } else { number };
        }
        for operation in &known {
            for state in STATES {
                let number = last
                    .census
                    .operations()
                    .of(&tally::name(operation, &[state]));
                let labels = [("operation", *operation), ("state", state)];
                self.sample(name, &labels, &number.to_string());
            }
        }
        let (name, help) = (
            "operations_unknown",
            "Operations that are kept and that the configuration does not name any more.",
        );
        self.gauge(name, help, &others.to_string());
        if !config.sinks.is_empty() {
            let help = "Events that were given up and that nobody has dropped or replayed.";
            self.head("dead_letters", "gauge", help);
        }
        for sink in config.sinks.keys() {
            let number = last.census.dead_letters().of(sink.as_str());
            self.sample(
                "dead_letters",
                &[("sink", sink.as_str())],
                &number.to_string(),
            );
        }
        self.gauge(
            "due_lag_seconds",
            "How long the operation had been due that was due for longest.",
            &seconds(last.census.due_lag_ms()),
        );
        self.gauge(
            "relay_lag_seconds",
            "How long the event had been due that was due for longest.",
            &seconds(last.census.relay_lag_ms()),
        );
        self.gauge(
            "census_timestamp_seconds",
            "When the last census was complete, which the gauges of operations, dead letters and lags are from.",
            &at(last.at),
        );
        self.gauge(
            "census_age_seconds",
            "How old that census is.",
            &seconds(now.since(last.at).get()),
        );
    }

    /// What is left of the retry budgets.
    async fn budgets<K: Kv, O>(
        &mut self,
        open: &Open<'_, K, O>,
        now: Timestamp,
    ) -> Result<(), Problem> {
        let mut is_first = true;
        for (upstream, policy) in budgets(open.config) {
            let name = "retry_budget_tokens";
            if std::mem::take(&mut is_first) {
                let help = "Retries that the budget of an upstream would pay for now.";
                self.head(name, "gauge", help);
            }
            let word = open.store.read_shared(upstream.as_str()).await?;
            let tokens = budget::tokens(word, now, policy);
            let labels = [("upstream", upstream.as_str())];
            self.sample(name, &labels, &tokens.to_string());
        }
        Ok(())
    }
}

fn operations(config: &Config) -> Vec<&str> {
    let operations = config.operations.iter();
    operations
        .map(|operation| operation.name.as_str())
        .collect()
}

fn budgets(config: &Config) -> impl Iterator<Item = (&Name, &budget::BudgetPolicy)> {
    let upstreams = config.upstreams.iter();
    upstreams.filter_map(|(name, upstream)| Some((name, upstream.retry_budget.as_ref()?)))
}

/// What an operation's attempts are made at: an upstream, or nothing but us.
fn upstream_of(operation: &Operation) -> &str {
    match &operation.handler {
        Handler::Forward(forward) => forward.upstream.as_str(),
        Handler::Analyze | Handler::Order { .. } => "",
    }
}

/// Milliseconds in seconds, in decimals: a float would round them.
fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_seconds_to_the_last_digit() {
        for (ms, text) in [
            (0, "0"),
            (5, "0.005"),
            (250, "0.25"),
            (1_000, "1"),
            (10_000, "10"),
            (12_340, "12.34"),
            (1_800_000_000_001, "1800000000.001"),
            (u64::MAX, "18446744073709551.615"),
        ] {
            assert_eq!(seconds(ms), text);
        }
    }

    #[test]
    fn a_label_s_text_is_escaped() {
        let mut page = Page::default();
        page.sample("x", &[("a", "1\n2"), ("b", "\"\\")], "7");
        page.sample("y", &[], "8");
        assert_eq!(
            page.0,
            "reprise_x{a=\"1\\n2\",b=\"\\\"\\\\\"} 7\nreprise_y 8\n"
        );
    }
}
