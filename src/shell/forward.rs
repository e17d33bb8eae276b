//! Forwarding: what an upstream is sent, and what its response means.
//!
//! An upstream sees a request of ours: the method, path, query and body of the client, the headers that the operation
//! lists, the upstream's own, an Idempotency-Key that is the same on every attempt, and the trace. What it answers counts
//! only when it came whole. What is kept of it are the headers that the operation lists.

use super::outgoing::{Answered, AnsweredBody, CallError, Called};
use super::trace::{self, TRACEPARENT, TRACESTATE, Trace};
use crate::config::{Forward, HeaderList, Operation, Upstream};
use crate::machine::{
    AttemptError, AttemptStart, Blob, ErrorKind, EventDrafts, Headers, Input, LimitError,
    OnLostAttempt, OperationResult, Outcome, Record, ResultBody, is_field_value, limits,
    parse_retry_after,
};
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, StatusCode, Uri};

/// What of a client's request is kept, for the attempts: its listed headers and its trace. Its body is still to come.
pub(super) fn input(operation: &Operation, head: &Parts) -> Result<Input, LimitError> {
    let headers = &head.headers;
    let mut lines = listed(headers, &operation.forward_headers);
    // The two headers of a trace go together or not at all, whatever the list says of one of them.
    lines.retain(|(name, _)| TRACEPARENT != name.as_str() && TRACESTATE != name.as_str());
    if Trace::of(headers).is_some() {
        lines.extend(listed(headers, &HeaderList::new([TRACEPARENT])));
        let state = trace::state_of(headers);
        lines.extend(state.map(|state| (TRACESTATE.as_str().to_owned(), state)));
    }
    let target = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    Input::new(
        head.method.as_str(),
        target,
        Headers::new(lines)?,
        Blob::new([]),
    )
}

/// The request of one attempt. The error says why the record's request has no form any more, for people: the
/// configuration has changed since.
pub(super) fn request(
    record: &Record,
    start: &AttemptStart,
    operation: &Operation,
    forward: &Forward,
    upstream: &Upstream,
) -> Result<Request<Vec<u8>>, &'static str> {
    let input = &record.origin().input;
    let target: PathAndQuery = input
        .target()
        .parse()
        .map_err(|_| "its target is no path")?;
    let path = match &forward.path {
        None => target.path().to_owned(),
        Some(template) => {
            let params = operation.route.find(target.path());
            template.fill(&params.ok_or("its path is not the operation's any more")?)
        }
    };
    let query = target
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    let uri = Uri::builder()
        .scheme(upstream.scheme.clone())
        .authority(upstream.authority.clone())
        .path_and_query(format!("{}{path}{query}", upstream.path_prefix))
        .build()
        .map_err(|_| "its path and the upstream's make no URL")?;
    let method: Method = input.method().parse().map_err(|_| "its method is none")?;
    let body = input.body().as_bytes().to_vec();
    let mut headers = HeaderMap::new();
    for (name, value) in lines(input.headers()) {
        headers.append(name, value);
    }
    let trace = trace::of_record(record);
    for (name, value) in &upstream.headers {
        headers.insert(name.clone(), value.clone());
    }
    let key =
        HeaderValue::try_from(start.upstream_key.to_string()).expect("our keys are visible ASCII");
    headers.insert(upstream.key_header.clone(), key);
    headers.insert(
        TRACEPARENT,
        trace.of_attempt(record.identity().id, start.attempt),
    );
    headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// What a call means for the operation.
pub(super) fn outcome(
    called: Called,
    operation: &Operation,
    forward: &Forward,
    events: impl FnOnce(&OperationResult) -> EventDrafts,
) -> Outcome {
    let on_lost = operation.policy.settings().on_lost_attempt;
    let answered = match called.end {
        Ok(answered) => answered,
        Err(error) => return failure(&error, on_lost),
    };
    let status = answered.status;
    if status.is_informational() {
        // The upstream speaks another protocol from here on, and nobody may be told to do so too.
        let detail = format!("the upstream answered {status} and nothing after it");
        return failure(&CallError::BrokenOff(detail), on_lost);
    }
    if may_succeed_later(status, forward) {
        let hint = answered.headers.get(RETRY_AFTER);
        let hint = hint.and_then(|value| parse_retry_after(value.to_str().ok()?, called.ended_at));
        let detail = format!("the upstream answered {status}");
        let error = AttemptError::new(ErrorKind::Status(status.as_u16()), &detail);
        return match on_lost {
            OnLostAttempt::Fail if is_ambiguous(status) => Outcome::Terminal { error },
            OnLostAttempt::Fail | OnLostAttempt::Retry => Outcome::Retryable { error, hint },
        };
    }
    let result = result(answered, operation);
    let events = events(&result);
    Outcome::Succeeded { result, events }
}

/// Whether another attempt may succeed after a response of this status. One beyond 599 is none that anybody could pass
/// on, and counts as a failure of the server (RFC 9110, section 15).
fn may_succeed_later(status: StatusCode, forward: &Forward) -> bool {
    status >= StatusCode::INTERNAL_SERVER_ERROR || forward.retry_statuses.contains(&status.as_u16())
}

/// Whether a status leaves open what was done before the failure: it comes from an upstream that broke down at work, or
/// from a gateway that lost sight of it. The others were refused before anything was done.
fn is_ambiguous(status: StatusCode) -> bool {
    status >= StatusCode::INTERNAL_SERVER_ERROR
        && !matches!(
            status,
            StatusCode::NOT_IMPLEMENTED
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::HTTP_VERSION_NOT_SUPPORTED
                | StatusCode::NETWORK_AUTHENTICATION_REQUIRED
        )
}

/// A call without a response. Where it is not known whether something was done, only an upstream that may be called
/// twice is called again.
fn failure(error: &CallError, on_lost: OnLostAttempt) -> Outcome {
    let is_ambiguous = match error {
        CallError::Unreachable(_) => false,
        CallError::BrokenOff(_) | CallError::TimedOut => true,
    };
    let error = error.of_attempt("the upstream did not answer in time");
    match on_lost {
        OnLostAttempt::Fail if is_ambiguous => Outcome::Terminal { error },
        OnLostAttempt::Fail | OnLostAttempt::Retry => Outcome::Retryable { error, hint: None },
    }
}

fn result(answered: Answered, operation: &Operation) -> OperationResult {
    let lines = listed(&answered.headers, &operation.replay_headers);
    let body = match answered.body {
        AnsweredBody::Whole(body) => {
            ResultBody::capture(Blob::new(body), operation.response_bytes_max)
        }
        AnsweredBody::TooLarge { length_bytes } => ResultBody::TooLarge { length_bytes },
    };
    OperationResult {
        status: answered.status.as_u16(),
        headers: Headers::new(fitting(lines)).expect("what does not fit was left out"),
        body,
    }
}

/// Kept header lines, as headers of a message again.
pub(super) fn lines(headers: &Headers) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let lines = headers.lines().iter();
    lines.filter_map(|(name, value)| Some((name.parse().ok()?, HeaderValue::try_from(value).ok()?)))
}

/// The header lines of a message that are on a list. A list has none of those that concern one connection; which others
/// a message's `Connection` names is not known here, because the platform takes that header off.
fn listed(headers: &HeaderMap, list: &HeaderList) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| list.has(name))
        .filter_map(|(name, value)| {
            let value = str::from_utf8(value.as_bytes()).ok()?;
            Some((name.as_str().to_owned(), value.to_owned()))
        })
        .collect()
}

/// The lines that a record can keep, in their order: one that is too large, or has characters that are not kept, is left
/// out, because the response as a whole must not be lost to it.
fn fitting(lines: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::new();
    let mut bytes = 0;
    for (name, value) in lines {
        let more = name.len() + value.len();
        let fits = kept.len() < limits::HEADERS_MAX && bytes + more <= limits::HEADERS_BYTES_MAX;
        if fits && is_field_value(&value) {
            bytes += more;
            kept.push((name, value));
        }
    }
    kept
}
