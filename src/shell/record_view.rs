//! A record as its client sees it: where it stands, how much work has gone into it, and what came of it.

use super::problem::Problem;
use super::reply::{self, Reply, ReplyBody};
use super::{local, request};
use crate::config::{Handler, Operation};
use crate::json::raw::{self, Object};
use crate::machine::{
    AttemptError, ErrorKind, Headers, OperationResult, Record, ResultBody, State, Timestamp,
};
use crate::webhook::rfc_3339;
use base64ct::{Base64, Encoding as _};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use serde::Serialize;

/// The reply that shows a record, with the time of its next step while there is one.
pub(super) fn shown(
    record: &Record,
    operation: &Operation,
    status: StatusCode,
    now: Timestamp,
) -> Result<Reply, Problem> {
    let mut reply = reply::written(status, document(record, operation)?);
    let headers = reply.headers_mut();
    headers.insert(LOCATION, location_value(record));
    if let Some(seconds) = record.retry_after_s(now, &operation.policy) {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    Ok(reply)
}

/// The path of a record: that of the request which created it, and the id behind it.
pub(super) fn location(record: &Record) -> String {
    format!(
        "{}/{}",
        local::path_of(&record.origin().input),
        record.identity().id
    )
}

/// The path of a record as a header's value.
pub(super) fn location_value(record: &Record) -> HeaderValue {
    HeaderValue::try_from(location(record)).expect("the target of an input is visible ASCII")
}

/// An attempt's error, in words.
pub(super) fn error_kind(error: &AttemptError) -> &'static str {
    match error.kind() {
        ErrorKind::Status(_) => "status",
        ErrorKind::TimedOut => "timed_out",
        ErrorKind::Unreachable => "unreachable",
        ErrorKind::BrokenOff => "broken_off",
        ErrorKind::Handler => "handler",
    }
}

/// A record's document.
fn document(record: &Record, operation: &Operation) -> Result<ReplyBody, Problem> {
    let time = |at| {
        let unknown = || Problem::StoreRefused(format!("{at:?} is no time of a record"));
        rfc_3339(at).ok_or_else(unknown)
    };
    let identity = record.identity();
    let mut view = Object::default();
    view.add("id", &identity.id);
    view.add("operation", &identity.operation);
    view.add("status", &record.state().name());
    view.add("attempts", &record.progress().attempts);
    view.add("created_at", &time(record.origin().created_at)?);
    let due = time(record.state().due().at)?;
    let (next, failure, result) = match record.state() {
        State::Queued { .. } | State::Running(_) | State::Waiting { .. } => {
            ("next_step_at", None, None)
        }
        State::Done { result, .. } => ("expires_at", None, Some(result)),
        State::Failed { error, .. } => ("expires_at", Some(error), None),
        State::Cancelled { .. } => ("expires_at", None, None),
    };
    view.add(next, &due);
    if let Some(failure) = failure {
        view.add("failure", failure);
    }
    if let Some(error) = record.last_error() {
        view.add("last_error", &LastError::of(error));
    }
    if let Some(result) = result {
        show(&mut view, record, result, operation)?;
    }
    let mut json = view.end();
    json.push(b'\n');
    Ok(ReplyBody(json))
}

/// The last error of an attempt or a delivery.
#[derive(Serialize)]
pub(super) struct LastError {
    kind: &'static str,
    detail: String,
}

impl LastError {
    pub(super) fn of(error: &AttemptError) -> Self {
        Self {
            kind: error_kind(error),
            detail: error.detail().to_owned(),
        }
    }
}

/// Adds what came of an operation: of one of ours its members beside the record's own, or else what was answered.
fn show(
    view: &mut Object,
    record: &Record,
    result: &OperationResult,
    operation: &Operation,
) -> Result<(), Problem> {
    const OWN: [&str; 4] = ["id", "operation", "status", "created_at"];
    match (&operation.handler, local::body(result)) {
        (Handler::Analyze | Handler::Order { .. }, Some(body)) => {
            let members = raw::members(body.as_bytes()).map_err(|error| {
                let id = record.identity().id;
                Problem::StoreRefused(format!("the result of the record {id}: {error}"))
            })?;
            for (name, json) in members {
                if !OWN.contains(&name.as_str()) {
                    view.add_raw(&name, json.as_bytes());
                }
            }
        }
        (Handler::Analyze | Handler::Order { .. }, None) | (Handler::Forward(_), _) => {
            view.add_raw("response", &response(result));
        }
    }
    Ok(())
}

/// An upstream's response: its body as JSON where it says that it is, else as text, else in base64.
fn response(result: &OperationResult) -> Vec<u8> {
    let mut response = Object::default();
    response.add("status", &result.status);
    // An array of pairs: a name may come more than once.
    response.add("headers", &result.headers.lines());
    match &result.body {
        ResultBody::Kept(body) => match str::from_utf8(body.as_bytes()) {
            Ok(_) if is_json(&result.headers) && raw::check(body.as_bytes()).is_ok() => {
                response.add_raw("body", body.as_bytes().trim_ascii());
            }
            Ok(text) => response.add("body", &text),
            Err(_) => response.add("body_base64", &Base64::encode_string(body.as_bytes())),
        },
        ResultBody::TooLarge { length_bytes } => {
            response.add("body_not_kept_bytes", length_bytes);
        }
    }
    response.end()
}

fn is_json(headers: &Headers) -> bool {
    let mut lines = headers.lines().iter();
    lines.any(|(name, value)| {
        CONTENT_TYPE == name.as_str() && request::is_json(value.as_bytes(), true)
    })
}
