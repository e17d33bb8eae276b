//! A record as its client sees it: where it stands, how much work has gone into it, and what came of it.

use super::local;
use super::problem::Problem;
use super::reply::{self, Reply};
use crate::config::{Handler, Operation};
use crate::machine::{
    AttemptError, EndReason, ErrorKind, Headers, OperationResult, Record, ResultBody, State,
    Timestamp,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt::{self, Write as _};
use std::time::{Duration, UNIX_EPOCH};

/// The reply that shows a record, with the time of its next step while there is one.
pub(super) fn shown(
    record: &Record,
    operation: &Operation,
    status: StatusCode,
    now: Timestamp,
) -> Result<Reply, Problem> {
    let mut reply = reply::json(status, &View::of(record, operation)?);
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

/// A time as clients read it; `None` for one that lies beyond what the format can say.
pub(super) fn rfc_3339(at: Timestamp) -> Option<String> {
    let mut text = String::new();
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(at.as_unix_ms()))?;
    write!(text, "{}", humantime::format_rfc3339_millis(time)).ok()?;
    Some(text)
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
struct View<'a> {
    record: &'a Record,
    created_at: String,
    next_step_at: Option<String>,
    expires_at: Option<String>,
    failure: Option<EndReason>,
    /// What an operation of ours shows of its result, beside the record's own members.
    members: Members<'a>,
    /// What an upstream answered.
    response: Option<Response<'a>>,
}

impl<'a> View<'a> {
    fn of(record: &'a Record, operation: &Operation) -> Result<Self, Problem> {
        let time = |at| {
            let unknown = || Problem::StoreRefused(format!("{at:?} is no time of a record"));
            rfc_3339(at).ok_or_else(unknown)
        };
        let mut view = Self {
            record,
            created_at: time(record.origin().created_at)?,
            next_step_at: None,
            expires_at: None,
            failure: None,
            members: Members::default(),
            response: None,
        };
        match record.state() {
            State::Queued { .. } | State::Running(_) | State::Waiting { .. } => {
                view.next_step_at = Some(time(record.state().due().at)?);
            }
            State::Done { result, expires_at } => {
                view.expires_at = Some(time(*expires_at)?);
                view.show(result, operation)?;
            }
            State::Failed { error, expires_at } => {
                view.expires_at = Some(time(*expires_at)?);
                view.failure = Some(*error);
            }
            State::Cancelled { expires_at } => view.expires_at = Some(time(*expires_at)?),
        }
        Ok(view)
    }

    fn show(&mut self, result: &'a OperationResult, operation: &Operation) -> Result<(), Problem> {
        match (&operation.handler, local::body(result)) {
            (Handler::Analyze | Handler::Order { .. }, Some(body)) => {
                self.members = serde_json::from_slice(body.as_bytes()).map_err(|error| {
                    let id = self.record.identity().id;
                    Problem::StoreRefused(format!("the result of the record {id}: {error}"))
                })?;
            }
            (Handler::Analyze | Handler::Order { .. }, None) | (Handler::Forward(_), _) => {
                self.response = Some(Response(result));
            }
        }
        Ok(())
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const OWN: [&str; 4] = ["id", "operation", "status", "created_at"];
        let identity = self.record.identity();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &identity.id)?;
        map.serialize_entry("operation", &identity.operation)?;
        map.serialize_entry("status", self.record.state().name())?;
        map.serialize_entry("attempts", &self.record.progress().attempts)?;
        map.serialize_entry("created_at", &self.created_at)?;
        if let Some(at) = &self.next_step_at {
            map.serialize_entry("next_step_at", at)?;
        }
        if let Some(at) = &self.expires_at {
            map.serialize_entry("expires_at", at)?;
        }
        if let Some(failure) = &self.failure {
            map.serialize_entry("failure", failure)?;
        }
        if let Some(error) = self.record.last_error() {
            map.serialize_entry("last_error", &LastError::of(error))?;
        }
        for (name, value) in self
            .members
            .0
            .iter()
            .filter(|(name, _)| !OWN.contains(&name.as_str()))
        {
            map.serialize_entry(name, value)?;
        }
        if let Some(response) = &self.response {
            map.serialize_entry("response", response)?;
        }
        map.end()
    }
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

/// An upstream's response: its body as JSON where it says that it is, else as text, else in base64.
struct Response<'a>(&'a OperationResult);

impl Serialize for Response<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let OperationResult {
            status,
            headers,
            body,
        } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("status", status)?;
        map.serialize_entry("headers", &Lines(headers))?;
        match body {
            ResultBody::Kept(body) => match str::from_utf8(body.as_bytes()) {
                Ok(text) => match serde_json::from_str::<&RawValue>(text) {
                    Ok(json) if is_json(headers) => map.serialize_entry("body", json)?,
                    Ok(_) | Err(_) => map.serialize_entry("body", text)?,
                },
                Err(_) => map.serialize_entry("body_base64", &STANDARD.encode(body.as_bytes()))?,
            },
            ResultBody::TooLarge { length_bytes } => {
                map.serialize_entry("body_not_kept_bytes", length_bytes)?;
            }
        }
        map.end()
    }
}

fn is_json(headers: &Headers) -> bool {
    let of = |value: &str| {
        let essence = value.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("application/json")
            || essence.to_ascii_lowercase().ends_with("+json")
    };
    headers
        .lines()
        .iter()
        .any(|(name, value)| CONTENT_TYPE == name.as_str() && of(value))
}

/// Header lines as an array of pairs: a name may come more than once.
struct Lines<'a>(&'a Headers);

impl Serialize for Lines<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.lines())
    }
}

/// The members of a JSON object, as they were written and in their order.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_or_refused() {
        let written = rfc_3339(Timestamp::from_unix_ms(1_790_000_000_123));
        assert_eq!(written.as_deref(), Some("2026-09-21T14:13:20.123Z"));
        for ms in [300_000_000_000_000, u64::MAX] {
            assert_eq!(rfc_3339(Timestamp::from_unix_ms(ms)), None, "{ms}");
        }
    }
}
