//! An operation as operators see it: a summary for lists, and all of it for one.
//!
//! What the client sent and what came of it are not shown, but for their sizes. Keys and tenants are shown as the hashes
//! that are kept of them.

use super::dead_letters;
use super::record_view::LastError;
use super::trace::Trace;
use crate::json::raw::{Object, list};
use crate::machine::{
    AttemptEnd, AttemptEntry, DeliveryState, Policy, Record, ResultBody, State, Timestamp,
    WaitReason,
};
use crate::webhook::rfc_3339;

/// What a list shows of an operation.
pub(super) fn summary(record: &Record) -> Object {
    let identity = record.identity();
    let mut view = Object::default();
    view.add("id", &identity.id);
    view.add("operation", &identity.operation);
    view.add("tenant_hash", &identity.tenant);
    view.add("key_hash", &identity.key);
    view.add("state", &record.state().name());
    view.add("attempts", &record.progress().attempts);
    view.add("created_at", &time(record.origin().created_at));
    if !record.state().is_terminal() {
        view.add("next_step_at", &time(record.state().due().at));
    }
    if let Some(at) = record.expires_at() {
        view.add("expires_at", &time(at));
    }
    if let State::Failed { error, .. } = record.state() {
        view.add("failure", error);
    }
    if let Some(error) = record.last_error() {
        view.add("last_error", &LastError::of(error));
    }
    view.add_raw("events", &events(record));
    view
}

/// All that is shown of an operation. `policy` is that of its kind, while the configuration has it.
pub(super) fn detail(record: &Record, policy: Option<&Policy>) -> Object {
    let id = record.identity().id;
    let trace = record.origin().trace.unwrap_or(Trace::started_by(id).id);
    let mut view = summary(record);
    view.add("cycles", &record.progress().cycle);
    view.add("trace_id", &trace);
    view.add("upstream_key", &record.upstream_key().to_string());
    let mut request = Object::default();
    request.add("body_bytes", &record.origin().input.body().len());
    view.add_raw("request", &request.end());
    if let State::Done { result, .. } = record.state() {
        let (bytes, is_kept) = match &result.body {
            ResultBody::Kept(body) => (body.len() as u64, true),
            ResultBody::TooLarge { length_bytes } => (*length_bytes, false),
        };
        let mut response = Object::default();
        response.add("status", &result.status);
        response.add("body_bytes", &bytes);
        response.add("is_body_kept", &is_kept);
        view.add_raw("result", &response.end());
    }
    view.add_raw("deadlines", &list(deadlines(record, policy)));
    view.add_raw("history", &list(attempts(record)));
    view.add("history_dropped", &record.history().dropped());
    let deliveries = record.outbox().deliveries().iter();
    let deliveries = deliveries.map(|delivery| dead_letters::shown(record, delivery));
    view.add_raw("deliveries", &list(deliveries.collect()));
    view
}

/// A time; one that has no form is shown as the last one that has. What is wrong with a record must not hide the others.
pub(super) fn time(at: Timestamp) -> String {
    rfc_3339(at).unwrap_or_else(|| "9999-12-31T23:59:59.999Z".to_owned())
}

/// How many events there are, by what became of them.
fn events(record: &Record) -> Vec<u8> {
    let (mut undelivered, mut delivered, mut dead, mut dropped) = (0_u32, 0, 0, 0);
    for delivery in record.outbox().deliveries() {
        *match delivery.state {
            DeliveryState::Pending { .. } | DeliveryState::Delivering { .. } => &mut undelivered,
            DeliveryState::Delivered { .. } => &mut delivered,
            DeliveryState::Dead { .. } => &mut dead,
            DeliveryState::Dropped { .. } => &mut dropped,
        } += 1_u32;
    }
    let mut view = Object::default();
    view.add("undelivered", &undelivered);
    view.add("delivered", &delivered);
    view.add("dead", &dead);
    view.add("dropped", &dropped);
    view.end()
}

/// The deadlines of the operation itself; those of its events are with the events.
fn deadlines(record: &Record, policy: Option<&Policy>) -> Vec<Object> {
    let mut deadlines = Vec::new();
    let mut add = |name: &str, at: Timestamp, reason: &str| {
        let mut view = Object::default();
        view.add("name", &name);
        view.add("at", &time(at));
        view.add("reason", &reason);
        deadlines.push(view);
    };
    match record.state() {
        State::Queued { due } => add("start", *due, "the first attempt may start"),
        State::Running(running) => {
            if let Some(policy) = policy {
                let at = running
                    .started_at
                    .after(policy.settings().attempts.timeout_ms);
                add(
                    "attempt_timeout",
                    at,
                    "the attempt that runs has had its time",
                );
            }
            let reason = "the holder of the attempt that runs is given up for lost";
            add("lease_end", running.lease_until, reason);
        }
        State::Waiting { retry_at, reason } => {
            let reason = match reason {
                WaitReason::Backoff => "our own wait before the next attempt is over",
                WaitReason::ServerHint => "the wait that the upstream asked for is over",
            };
            add("retry", *retry_at, reason);
        }
        State::Done { .. } | State::Failed { .. } | State::Cancelled { .. } => {}
    }
    if let Some(at) = record.deadline().filter(|_| !record.state().is_terminal()) {
        add(
            "total_deadline",
            at,
            "the operation as a whole has had its time",
        );
    }
    if let Some(at) = record.expires_at() {
        add("expiry", at, "the record may be forgotten");
    }
    deadlines
}

/// The attempts that are remembered, and the one that runs.
fn attempts(record: &Record) -> Vec<Object> {
    let ended = record.history().entries().iter().map(ended);
    let mut attempts: Vec<Object> = ended.collect();
    if let State::Running(running) = record.state() {
        let mut view = Object::default();
        view.add("attempt", &running.attempt);
        view.add("started_at", &time(running.started_at));
        view.add("outcome", &"running");
        attempts.push(view);
    }
    attempts
}

fn ended(entry: &AttemptEntry) -> Object {
    let (outcome, error) = match &entry.outcome {
        AttemptEnd::Succeeded => ("succeeded", None),
        AttemptEnd::Retrying { error, .. } => ("retrying", Some(error)),
        AttemptEnd::Failed { error, .. } => ("failed", Some(error)),
        AttemptEnd::Lost => ("lost", None),
        AttemptEnd::Abandoned => ("abandoned", None),
    };
    let mut view = Object::default();
    view.add("attempt", &entry.attempt);
    view.add("started_at", &time(entry.started_at));
    view.add("ended_at", &time(entry.ended_at));
    view.add("outcome", &outcome);
    if let Some(error) = error {
        view.add("error", &LastError::of(error));
    }
    match &entry.outcome {
        AttemptEnd::Retrying {
            delay_ms, reason, ..
        } => {
            view.add("delay_ms", &delay_ms.get());
            if let Some(reason) = reason {
                view.add("delay_reason", reason);
            }
        }
        AttemptEnd::Failed {
            reason: Some(reason),
            ..
        } => view.add("end_reason", reason),
        AttemptEnd::Failed { reason: None, .. }
        | AttemptEnd::Succeeded
        | AttemptEnd::Lost
        | AttemptEnd::Abandoned => {}
    }
    view
}
