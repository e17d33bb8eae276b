//! One table of `[[operations]]`.

use super::super::{
    ConfigError, FingerprintRule, KeyRule, Operation, Route, Sink, Upstream, WhenFinished,
    WhileUnfinished,
};
use super::at::{At, Fields};
use super::{events, handler, headers, policy};
use crate::content::pointer;
use crate::machine::{
    AttemptPolicy, BudgetPolicy, Millis, Name, OnLostAttempt, Policy, PolicySettings, limits,
};
use crate::sorted::Sorted;
use http::{Method, StatusCode};

/// Everything that an operation may say.
pub(super) const FIELDS: &[&str] = &[
    "name",
    "route",
    "method",
    "handler",
    "upstream",
    "upstream_path",
    "retry_statuses",
    "quantity_max",
    "key",
    "on_mismatch",
    "while_unfinished",
    "when_finished",
    "fingerprint",
    "max_attempts",
    "backoff",
    "retry_after_cap",
    "attempt_timeout",
    "lease",
    "total_deadline",
    "max_cycles",
    "on_lost_attempt",
    "retention",
    "max_request_bytes",
    "max_response_bytes",
    "forward_headers",
    "replay_headers",
    "events",
];

/// First segments that are ours: operators' routes, incoming events, and what RFC 8615 sets aside.
const RESERVED: [&str; 3] = ["-", "inbox", ".well-known"];

const TOTAL_DEADLINE_DEFAULT: Millis = Millis::from_secs(10 * 60);
const RETENTION_DEFAULT: Millis = Millis::from_secs(24 * 60 * 60);
const CYCLES_DEFAULT: u32 = 5;
const REQUEST_BYTES_DEFAULT: usize = 128 * 1_024;

/// What is already known of the rest of the file.
pub(super) struct Surroundings<'a> {
    pub(super) upstreams: &'a Sorted<Name, Upstream>,
    pub(super) sinks: &'a Sorted<Name, Sink>,
    pub(super) delivery: AttemptPolicy,
}

/// Reads one operation.
pub(super) fn read(
    fields: &Fields<'_>,
    around: &Surroundings<'_>,
) -> Result<Operation, Box<ConfigError>> {
    let name = fields.need("name")?.name()?;
    let route = route(&fields.need("route")?)?;
    let work = handler::read(fields, &route, around.upstreams)?;
    let events = fields.read("events", events::Events::default(), |at| {
        events::read(at, &name, around.sinks)
    })?;
    let policy = policy(fields, around.delivery, work.retry_budget, &events)?;
    Ok(Operation {
        name,
        route,
        method: fields.read("method", Method::POST, method)?,
        handler: work.handler,
        key: fields.read("key", KeyRule::Required, |at| {
            at.choice(&[
                ("required", KeyRule::Required),
                ("optional", KeyRule::Optional),
            ])
        })?,
        mismatch_status: fields.read(
            "on_mismatch",
            StatusCode::UNPROCESSABLE_ENTITY,
            mismatch_status,
        )?,
        while_unfinished: fields.read("while_unfinished", WhileUnfinished::Conflict, |at| {
            at.choice(&[
                ("conflict", WhileUnfinished::Conflict),
                ("record", WhileUnfinished::Record),
            ])
        })?,
        when_finished: fields.read("when_finished", WhenFinished::Original, |at| {
            at.choice(&[
                ("original", WhenFinished::Original),
                ("record", WhenFinished::Record),
            ])
        })?,
        fingerprint: fields.read("fingerprint", FingerprintRule::CanonicalJson, fingerprint)?,
        policy,
        request_bytes_max: fields.read("max_request_bytes", REQUEST_BYTES_DEFAULT, |at| {
            bytes(at, limits::INPUT_BODY_BYTES_MAX)
        })?,
        response_bytes_max: fields.read(
            "max_response_bytes",
            limits::RESPONSE_BODY_BYTES_MAX,
            |at| bytes(at, limits::RESPONSE_BODY_BYTES_MAX),
        )?,
        forward_headers: work.forward_headers,
        replay_headers: fields.read(
            "replay_headers",
            headers::replayed_with(headers::REPLAYED.to_vec()),
            headers::replayed,
        )?,
        events_on_done: events.done,
    })
}

fn route(at: &At<'_>) -> Result<Route, Box<ConfigError>> {
    let route = Route::parse(at.text()?)
        .map_err(|problem| at.wrong(format!("is not a route: {problem}")))?;
    match route.first() {
        None => Err(at
            .wrong("begins with a parameter, so that it would match the service's own routes too")),
        Some(first) if RESERVED.contains(&first) => {
            Err(at.wrong(format!("is under /{first}, which is the service's own")))
        }
        Some(_) => Ok(route),
    }
}

fn method(at: &At<'_>) -> Result<Method, Box<ConfigError>> {
    // The constants of `http` are not `Copy`, so the choice is between their names.
    let name = at.choice(&[("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH")])?;
    Ok(name.parse().expect("a method's name is one"))
}

fn mismatch_status(at: &At<'_>) -> Result<StatusCode, Box<ConfigError>> {
    match at.integer(400..=499) {
        Ok(409) => Ok(StatusCode::CONFLICT),
        Ok(422) => Ok(StatusCode::UNPROCESSABLE_ENTITY),
        Ok(_) | Err(_) => Err(at.wrong("is neither 409 nor 422")),
    }
}

fn fingerprint(at: &At<'_>) -> Result<FingerprintRule, Box<ConfigError>> {
    let Ok(items) = at.items() else {
        let rule = at.choice(&[("raw", true), ("canonical_json", false)]);
        return match rule {
            Ok(true) => Ok(FingerprintRule::Raw),
            Ok(false) => Ok(FingerprintRule::CanonicalJson),
            Err(_) => {
                Err(at.wrong("is neither raw nor canonical_json nor a list of JSON pointers"))
            }
        };
    };
    if items.is_empty() {
        return Err(at.wrong("is an empty list, with which all requests would be the same"));
    }
    let mut pointers = Vec::new();
    for item in items {
        let text = item.text()?;
        pointer::check(text)
            .map_err(|problem| item.wrong(format!("is not a JSON pointer: {problem}")))?;
        pointers.push(text.to_owned());
    }
    Ok(FingerprintRule::Pointers(pointers))
}

fn bytes(at: &At<'_>, max: usize) -> Result<usize, Box<ConfigError>> {
    let bytes = at.integer(1..=max as u64)?;
    Ok(usize::try_from(bytes).expect("the range is within the type"))
}

fn policy(
    fields: &Fields<'_>,
    delivery: AttemptPolicy,
    retry_budget: Option<BudgetPolicy>,
    events: &events::Events,
) -> Result<Policy, Box<ConfigError>> {
    let settings = PolicySettings {
        start_delay_ms: Millis::ZERO,
        attempts: policy::attempts(fields, &policy::OPERATION)?,
        max_cycles: fields.read("max_cycles", CYCLES_DEFAULT, |at| {
            policy::count(at, limits::CYCLES_MAX)
        })?,
        on_lost_attempt: fields.read("on_lost_attempt", OnLostAttempt::Retry, |at| {
            at.choice(&[
                ("retry", OnLostAttempt::Retry),
                ("fail", OnLostAttempt::Fail),
            ])
        })?,
        total_deadline_ms: fields.read(
            "total_deadline",
            Some(TOTAL_DEADLINE_DEFAULT),
            total_deadline,
        )?,
        retry_budget,
        retention_ms: fields.read("retention", RETENTION_DEFAULT, |at| {
            at.duration(policy::LEAST..=limits::RETENTION_MAX)
        })?,
        events_on_failed: events.failed.clone(),
        events_on_cancelled: events.cancelled.clone(),
        delivery,
    };
    // Each setting is in range and the attempts were checked, so this is a safety net for rules that are new.
    Policy::new(settings)
        .map_err(|error| policy::located(fields, policy::OPERATION.timeout, error.problem))
}

fn total_deadline(at: &At<'_>) -> Result<Option<Millis>, Box<ConfigError>> {
    match at.text()? {
        "none" => Ok(None),
        _ => at
            .duration(policy::LEAST..=limits::TOTAL_DEADLINE_MAX)
            .map(Some),
    }
}
