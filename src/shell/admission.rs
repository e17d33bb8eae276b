//! Admission: what a request asks for, settled from its head alone, before a byte of its body is read.
//!
//! Whose request it is, what it names and under which key is read here, once. Nothing later in the request can change it.

use super::app::Setup;
use super::dead_letters::{self, Fate, Letter};
use super::idempotency_key::{self, IdempotencyKey};
use super::problem::Problem;
use super::query::Query;
use super::{
    console, cors, inbox, metrics, operations, operators, overview, request, sinks, tenant,
};
use crate::config::{Inbox, KeyRule, Operation};
use crate::driver::store::Place;
use crate::machine::{Digest, Name};
use http::Method;
use http::header::HeaderMap;
use http::request::Parts;
use uuid::Uuid;

/// What a request asks for.
#[derive(Debug)]
pub(super) enum Asked<'a> {
    /// Whether the component runs.
    Health,
    /// The description of the interface.
    OpenApi,
    /// A file of the operators' page.
    Console(console::File),
    /// What may be asked of a path, which these methods may.
    Options {
        /// The methods, as the header Allow lists them.
        allow: String,
    },
    /// An operation.
    Submit(Submit<'a>),
    /// A record, as it stands.
    Show(Item),
    /// A record to be called off.
    Cancel(Item),
    /// An event for an inbox.
    Receive(&'a Inbox),
    /// What came of an inbox's events.
    Projection(&'a Inbox),
    /// An operator's tick.
    Tick,
    /// The metrics.
    Metrics,
    /// The dead letters from this place on.
    DeadLetters(Place),
    /// What is to become of a dead letter.
    DeadLetter(Letter, Fate),
    /// What operators ask about operations.
    Overview(overview::Ask),
    /// All sinks.
    Sinks,
    /// A sink that is to be taken up again.
    EnableSink(&'a Name),
}

/// A client's request for an operation.
#[derive(Debug)]
pub(super) struct Submit<'a> {
    pub(super) operation: &'a Operation,
    pub(super) tenant: Digest,
    pub(super) key: Option<IdempotencyKey>,
}

/// A record that a client names.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: Uuid,
    pub(super) tenant: Digest,
}

/// Settles what a request asks for.
pub(super) fn admit<'a>(setup: &'a Setup, head: &Parts) -> Result<Asked<'a>, Problem> {
    let path = head.uri.path();
    match path {
        operators::HEALTH_PATH => return read_only(head, || Ok(Asked::Health)),
        operators::OPENAPI_PATH => return read_only(head, || Ok(Asked::OpenApi)),
        operators::TICK_PATH => {
            operators::authorize(&setup.config, &head.headers)?;
            return match head.method {
                Method::POST => Ok(Asked::Tick),
                _ => not_allowed(head, "POST"),
            };
        }
        metrics::METRICS_PATH => {
            operators::authorize(&setup.config, &head.headers)?;
            return read_only(head, || Ok(Asked::Metrics));
        }
        _ => {}
    }
    if let Some(rest) = path.strip_prefix(console::CONSOLE_PATH) {
        return console::ask(&setup.config, rest, head);
    }
    if let Some(rest) = path.strip_prefix(dead_letters::LETTERS_PATH) {
        operators::authorize(&setup.config, &head.headers)?;
        return dead_letters_of(rest, head);
    }
    if let Some(rest) = path.strip_prefix(sinks::SINKS_PATH) {
        operators::authorize(&setup.config, &head.headers)?;
        return sinks_of(setup, rest, head);
    }
    if let Some(rest) = path.strip_prefix(overview::OPERATIONS_PATH) {
        operators::authorize(&setup.config, &head.headers)?;
        return overview::ask_of_operations(rest, head);
    }
    if let Some(rest) = path.strip_prefix(overview::KEYS_PATH) {
        operators::authorize(&setup.config, &head.headers)?;
        return overview::ask_of_keys(rest, head);
    }
    if let Some(name) = path.strip_prefix(inbox::PREFIX) {
        return inbox_of(setup, name, head);
    }
    operation_or_record(setup, head)
}

/// What a path means that is the configuration's: an operation's, a record's, or both at once. Their methods differ.
fn operation_or_record<'a>(setup: &'a Setup, head: &Parts) -> Result<Asked<'a>, Problem> {
    const OF_RECORD: [&str; 3] = ["GET", "HEAD", "DELETE"];
    let path = head.uri.path();
    let all = &setup.config.operations;
    let here = || all.iter().filter(|one| one.route.find(path).is_some());
    if let Some(operation) = here().find(|one| one.method == head.method) {
        return submit(setup, operation, head);
    }
    let mut methods: Vec<&str> = here().map(|one| one.method.as_str()).collect();
    let last = all.iter().find_map(|one| one.route.find_item(path));
    match last.map(parse_id) {
        Some(Some(id)) => {
            let tenant = || tenant_of(setup, &head.headers);
            match head.method {
                Method::GET | Method::HEAD => {
                    return Ok(Asked::Show(Item {
                        id,
                        tenant: tenant()?,
                    }));
                }
                Method::DELETE => {
                    return Ok(Asked::Cancel(Item {
                        id,
                        tenant: tenant()?,
                    }));
                }
                _ => methods.extend(OF_RECORD),
            }
        }
        // Below a collection there is nothing but records: what cannot be one has no methods either.
        Some(None) if methods.is_empty() => return Err(operations::NO_RECORD),
        None if methods.is_empty() => return Err(Problem::NotFound("no route has this path")),
        Some(None) | None => {}
    }
    not_allowed(head, &methods.join(", "))
}

fn submit<'a>(
    setup: &'a Setup,
    operation: &'a Operation,
    head: &Parts,
) -> Result<Asked<'a>, Problem> {
    let tenant = tenant_of(setup, &head.headers)?;
    let key = idempotency_key::parse(&head.headers).map_err(Problem::InvalidKey)?;
    if key.is_none() && operation.key == KeyRule::Required {
        return Err(Problem::KeyMissing);
    }
    request::check_media_type(operation, &head.headers)?;
    check_length(head, operation.request_bytes_max)?;
    Ok(Asked::Submit(Submit {
        operation,
        tenant,
        key,
    }))
}

/// One id has one spelling: that of RFC 9562, in either case.
pub(super) fn parse_id(id: &str) -> Option<Uuid> {
    const HYPHENATED_CHARS: usize = 36;
    Uuid::try_parse(id)
        .ok()
        .filter(|_| id.len() == HYPHENATED_CHARS)
}

/// `/inbox/{name}` and what is behind it.
fn inbox_of<'a>(setup: &'a Setup, name: &str, head: &Parts) -> Result<Asked<'a>, Problem> {
    let find = |name: &str| {
        let inboxes = &setup.config.inboxes;
        let inbox = inboxes.values().find(|inbox| inbox.name.as_str() == name);
        inbox.ok_or(Problem::NotFound("there is no inbox of this name"))
    };
    if let Some(name) = name.strip_suffix(inbox::PROJECTION) {
        let inbox = find(name)?;
        return read_only(head, || Ok(Asked::Projection(inbox)));
    }
    let inbox = find(name)?;
    match head.method {
        Method::POST => {
            check_length(head, inbox::EVENT_BYTES_MAX)?;
            Ok(Asked::Receive(inbox))
        }
        _ => not_allowed(head, "POST"),
    }
}

/// `/-/dead-letters` and what is behind it.
fn dead_letters_of<'a>(rest: &str, head: &Parts) -> Result<Asked<'a>, Problem> {
    if rest.is_empty() {
        return read_only(head, || {
            let place = Query::parse(head.uri.query(), &["from"])?.place()?;
            Ok(Asked::DeadLetters(place))
        });
    }
    let Some((letter, is_replay)) = Letter::parse(rest) else {
        return Err(Problem::NotFound("no route has this path"));
    };
    match (is_replay, &head.method) {
        (true, &Method::POST) => Ok(Asked::DeadLetter(letter, Fate::Replay)),
        (true, _) => not_allowed(head, "POST"),
        (false, &Method::DELETE) => Ok(Asked::DeadLetter(letter, Fate::Drop)),
        (false, _) => not_allowed(head, "DELETE"),
    }
}

/// `/-/sinks` and what is behind it.
fn sinks_of<'a>(setup: &'a Setup, rest: &str, head: &Parts) -> Result<Asked<'a>, Problem> {
    if rest.is_empty() {
        return read_only(head, || Ok(Asked::Sinks));
    }
    let name = rest
        .strip_prefix('/')
        .and_then(|rest| rest.strip_suffix("/enable"));
    let names = || setup.config.sinks.keys();
    let sink = name.and_then(|name| names().find(|one| one.as_str() == name));
    let sink = sink.ok_or(Problem::NotFound(
        "no route has this path, or no sink this name",
    ))?;
    match head.method {
        Method::POST => Ok(Asked::EnableSink(sink)),
        _ => not_allowed(head, "POST"),
    }
}

/// Refuses a body that says that it is too large.
fn check_length(head: &Parts, max: usize) -> Result<(), Problem> {
    let announced = request::length_bytes(&head.headers);
    if announced.is_some_and(|length| length > max as u64) {
        return Err(Problem::BodyTooLarge { max });
    }
    Ok(())
}

fn tenant_of(setup: &Setup, headers: &HeaderMap) -> Result<Digest, Problem> {
    tenant::of(headers, setup.config.tenant_header.as_ref()).map_err(Problem::InvalidTenant)
}

/// What is asked by a method that changes nothing.
pub(super) fn read_only<'a>(
    head: &Parts,
    asked: impl FnOnce() -> Result<Asked<'a>, Problem>,
) -> Result<Asked<'a>, Problem> {
    match head.method {
        Method::GET | Method::HEAD => asked(),
        _ => not_allowed(head, "GET, HEAD"),
    }
}

/// A method that the path does not know; or a question for those that it does.
pub(super) fn not_allowed<'a>(head: &Parts, methods: &str) -> Result<Asked<'a>, Problem> {
    let allow = format!("{methods}, OPTIONS");
    if head.method == Method::OPTIONS {
        Ok(Asked::Options { allow })
    } else {
        Err(Problem::MethodNotAllowed(allow))
    }
}

impl<'a> Asked<'a> {
    /// How much of the body is to be read, in bytes.
    pub(super) fn body_bytes_max(&self) -> usize {
        match self {
            Self::Submit(submit) => submit.operation.request_bytes_max,
            Self::Receive(_) => inbox::EVENT_BYTES_MAX,
            Self::Health
            | Self::OpenApi
            | Self::Console(_)
            | Self::Options { .. }
            | Self::Show(_)
            | Self::Cancel(_)
            | Self::Projection(_)
            | Self::DeadLetters(_)
            | Self::Overview(_)
            | Self::DeadLetter(..)
            | Self::Sinks
            | Self::EnableSink(_)
            | Self::Metrics
            | Self::Tick => 0,
        }
    }

    /// The operation that the request is for, where it is for one.
    pub(super) const fn operation(&self) -> Option<&'a Operation> {
        if let Self::Submit(submit) = self {
            Some(submit.operation)
        } else {
            None
        }
    }

    /// The methods of the route, when the request is a browser's question for them.
    pub(super) fn preflight(&self, headers: &HeaderMap) -> Option<&str> {
        if let Self::Options { allow } = self
            && cors::is_preflight(headers)
        {
            Some(allow)
        } else {
            None
        }
    }
}
