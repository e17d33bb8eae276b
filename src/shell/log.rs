//! The log: one line of JSON for each change of an operation and each of its deliveries, and for what goes wrong.
//!
//! A line has names, numbers and hashes, all of them ours: nothing that a client, an upstream or a receiver has sent is
//! in it, and no secret. It is bounded because all of its parts are. A line that nobody wants is not made, and a repeat
//! makes none unless somebody looks for faults.

use super::record_view::error_kind;
use super::trace;
use crate::config::LogLevel;
use crate::json::raw::Object;
use crate::machine::{
    AttemptEnd, AttemptEntry, AttemptError, Delivery, DeliveryState, Digest, EndReason, ErrorKind,
    Record, State, Timestamp,
};
use crate::webhook::rfc_3339;

/// Bytes of a text that was not made for the log: the error of a store, or what is wrong with a configuration.
const DETAIL_BYTES_MAX: usize = 512;
/// Digits of a hash: enough to tell clients apart, and a quarter of what it would take to look for a guess.
const HASH_DIGITS: usize = 16;

/// Where lines go, and which.
#[derive(Clone, Copy)]
pub(super) struct Log {
    pub(super) level: LogLevel,
    pub(super) emit: fn(&str),
}

impl Log {
    /// Says how an operation has changed, and each of its deliveries that has.
    pub(super) fn written(self, before: Option<&Record>, after: &Record, now: Timestamp) {
        if self.level < LogLevel::Error {
            return;
        }
        let from = before.map(|record| record.state().name());
        let attempt = after.progress().attempts;
        let is_changed = from != Some(after.state().name())
            || before.is_some_and(|record| record.progress().attempts != attempt);
        let level = match after.state() {
            State::Failed { .. } => LogLevel::Error,
            State::Queued { .. }
            | State::Running(_)
            | State::Waiting { .. }
            | State::Done { .. }
            | State::Cancelled { .. } => LogLevel::Info,
        };
        if is_changed && self.wants(level) {
            let mut line = of_record(level, "operation", after, now);
            line.add("from", &from.unwrap_or_default());
            line.add("to", &after.state().name());
            line.add("attempt", &attempt);
            if let Some(entry) = ended(before, after).last() {
                line.add("duration_ms", &entry.ended_at.since(entry.started_at).get());
            }
            line.add("reason", &reason(before, after).as_str());
            self.end(line);
        }
        for delivery in after.outbox().deliveries() {
            let was = before.and_then(|record| record.outbox().find(delivery.seq));
            self.delivery(after, was, delivery, now);
        }
    }

    fn delivery(self, record: &Record, was: Option<&Delivery>, is: &Delivery, now: Timestamp) {
        let (level, error) = match &is.state {
            DeliveryState::Dead { error, .. } => (LogLevel::Error, error.as_ref()),
            DeliveryState::Pending { error, .. } => (LogLevel::Info, error.as_ref()),
            DeliveryState::Delivering { .. }
            | DeliveryState::Delivered { .. }
            | DeliveryState::Dropped { .. } => (LogLevel::Info, None),
        };
        let is_changed = was.is_none_or(|was| was.state != is.state);
        if !is_changed || !self.wants(level) {
            return;
        }
        let mut line = of_record(level, "delivery", record, now);
        line.add("sink", &is.event.sink().as_str());
        line.add("seq", &is.seq);
        line.add("from", &was.map(|was| was.state.name()).unwrap_or_default());
        line.add("to", &is.state.name());
        line.add("attempt", &is.attempts);
        line.add("reason", &error.map(kind).unwrap_or_default().as_str());
        self.end(line);
    }

    /// Says that a client has sent a request again, and what came of it.
    pub(super) fn repeated(self, record: &Record, what: &'static str, now: Timestamp) {
        if self.wants(LogLevel::Debug) {
            let mut line = of_record(LogLevel::Debug, "repeat", record, now);
            line.add("reason", &what);
            self.end(line);
        }
    }

    /// Says that no retry is paid for any more.
    pub(super) fn budget_refused(self, budget: &str, now: Timestamp) {
        if self.wants(LogLevel::Error) {
            let mut line = begin(LogLevel::Error, "budget", now);
            line.add("budget", &budget);
            line.add("reason", &"empty");
            self.end(line);
        }
    }

    /// Says that the store has failed, or may not be used.
    pub(super) fn store_failed(self, kind: &'static str, detail: &str, now: Timestamp) {
        if self.wants(LogLevel::Error) {
            let mut line = begin(LogLevel::Error, "store", now);
            line.add("reason", &kind);
            line.add("detail", &cut(detail));
            self.end(line);
        }
    }

    fn wants(self, level: LogLevel) -> bool {
        level <= self.level
    }

    fn end(self, line: Object) {
        let line = String::from_utf8(line.end()).expect("JSON is UTF-8");
        (self.emit)(&line);
    }
}

/// The line that says why nothing is answered but that.
#[must_use]
pub fn refused(problem: &str, now: Timestamp) -> String {
    let mut line = begin(LogLevel::Error, "configuration", now);
    line.add("reason", &"refused");
    line.add("detail", &cut(problem));
    String::from_utf8(line.end()).expect("JSON is UTF-8")
}

/// The attempts that have ended with a change, the oldest first.
pub(super) fn ended<'a>(
    before: Option<&Record>,
    after: &'a Record,
) -> impl Iterator<Item = &'a AttemptEntry> {
    let last = before.and_then(|record| record.history().entries().last());
    let last = last.map_or(0, |entry| entry.attempt);
    let entries = after.history().entries().iter();
    entries.filter(move |entry| entry.attempt > last)
}

fn begin(level: LogLevel, event: &'static str, now: Timestamp) -> Object {
    let mut line = Object::default();
    line.add("time", &rfc_3339(now).unwrap_or_default().as_str());
    line.add("level", &level.name());
    line.add("event", &event);
    line
}

fn of_record(level: LogLevel, event: &'static str, record: &Record, now: Timestamp) -> Object {
    let identity = record.identity();
    let hash = |digest: &Digest| digest.to_string()[..HASH_DIGITS].to_owned();
    let mut line = begin(level, event, now);
    line.add("id", &identity.id);
    line.add("operation", &identity.operation.as_str());
    line.add("tenant", &hash(&identity.tenant).as_str());
    if let Some(key) = &identity.key {
        line.add("key", &hash(key).as_str());
    }
    line.add(
        "trace_id",
        &trace::of_record(record).id.to_string().as_str(),
    );
    line
}

/// Why the operation is where it is now: why it has ended, or what its last attempt came to.
fn reason(before: Option<&Record>, after: &Record) -> String {
    if let State::Failed { error, .. } = after.state() {
        let reason = match error {
            EndReason::NotRetryable => "not_retryable",
            EndReason::AttemptsExhausted => "attempts_exhausted",
            EndReason::CyclesExhausted => "cycles_exhausted",
            EndReason::AttemptLost => "attempt_lost",
            EndReason::DeadlinePassed => "deadline_passed",
            EndReason::BudgetEmpty => "budget_empty",
        };
        return reason.to_owned();
    }
    match ended(before, after).last().map(|entry| &entry.outcome) {
        Some(AttemptEnd::Retrying { error, .. } | AttemptEnd::Failed { error, .. }) => kind(error),
        Some(AttemptEnd::Lost) => "lost".to_owned(),
        Some(AttemptEnd::Abandoned) => "abandoned".to_owned(),
        Some(AttemptEnd::Succeeded) | None => String::new(),
    }
}

/// An error by its kind alone: its detail may quote somebody.
fn kind(error: &AttemptError) -> String {
    match error.kind() {
        ErrorKind::Status(status) => format!("status_{status}"),
        ErrorKind::TimedOut
        | ErrorKind::Unreachable
        | ErrorKind::BrokenOff
        | ErrorKind::Handler => error_kind(error).to_owned(),
    }
}

fn cut(detail: &str) -> &str {
    &detail[..detail.floor_char_boundary(DETAIL_BYTES_MAX)]
}
