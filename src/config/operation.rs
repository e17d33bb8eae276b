//! One operation: what a client may ask for, and what is promised about it.

use super::{HeaderList, Route, RouteTemplate};
use crate::machine::{Name, Policy};
use http::{Method, StatusCode};

/// One operation, fully described.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its name, part of what a key is bound to.
    pub name: Name,
    /// The path that starts it. Behind it, `/{id}` is a record.
    pub route: Route,
    /// The method that starts it: POST, PUT or PATCH.
    pub method: Method,
    /// What it does.
    pub handler: Handler,
    /// Whether a client must name the operation.
    pub key: KeyRule,
    /// The status that tells a client that its key belongs to other content: 409 or 422.
    pub mismatch_status: StatusCode,
    /// What a repeat is told before the end.
    pub while_unfinished: WhileUnfinished,
    /// What a repeat is told after the end.
    pub when_finished: WhenFinished,
    /// What of a request makes it the same request.
    pub fingerprint: FingerprintRule,
    /// Attempts, waits and deadlines.
    pub policy: Policy,
    /// The largest request body, in bytes.
    pub request_bytes_max: usize,
    /// The largest response body that is kept, in bytes.
    pub response_bytes_max: usize,
    /// The request headers that are kept and sent to the upstream.
    pub forward_headers: HeaderList,
    /// The response headers that are kept and replayed.
    pub replay_headers: HeaderList,
    /// Events that tell of its success. Those of a failure and a cancellation are in the policy.
    pub events_on_done: Vec<EventRule>,
}

/// What an operation does.
#[derive(Debug, Clone)]
pub enum Handler {
    /// Analyses a text.
    Analyze,
    /// Takes an order.
    Order {
        /// The largest quantity of one order.
        quantity_max: u64,
    },
    /// Calls an upstream.
    Forward(Forward),
}

/// A call of an upstream.
#[derive(Debug, Clone)]
pub struct Forward {
    /// The upstream's name, which is one of the configuration's.
    pub upstream: Name,
    /// The path there, with the parameters of the route; without one it is the request's own. The query is the
    /// request's own in any case.
    pub path: Option<RouteTemplate>,
    /// Statuses below 500 that say that nothing was done and another attempt may succeed. Every one from 500 does,
    /// unless a lost attempt is the end: then those do not that leave open what was done.
    pub retry_statuses: Vec<u16>,
}

/// Whether a client must name the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRule {
    /// A request without a key is refused.
    Required,
    /// A request without a key is an operation of its own.
    Optional,
}

/// What a repeat is told while the operation has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileUnfinished {
    /// That it is in progress: 409 with Retry-After.
    Conflict,
    /// The record as it stands: 200.
    Record,
}

/// What a client is told of an operation that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFinished {
    /// The operation's own result: status, headers and body.
    Original,
    /// The record: 201 when it is new, 200 on a repeat.
    Record,
}

/// What of a request makes it the same request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FingerprintRule {
    /// Every byte of the body.
    Raw,
    /// The JSON value of the body: member order, white space and spelling do not count (RFC 8785).
    CanonicalJson,
    /// The JSON values at these pointers (RFC 6901); an absent one is unlike any value. At least one.
    Pointers(Vec<String>),
}

/// An event that an operation sends at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRule {
    /// Its type, such as `order.created`.
    pub kind: Name,
    /// The sink that it goes to, which is one of the configuration's.
    pub sink: Name,
}
