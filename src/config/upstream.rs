//! The other services: upstreams that do the work, sinks that hear of it, inboxes that listen.

use crate::machine::{AttemptPolicy, BudgetPolicy, Name};
use crate::webhook::{Mode, Receiver, Secrets};
use http::header::{HeaderName, HeaderValue};
use http::uri::{Authority, Scheme};
use std::fmt;

/// A service that operations are forwarded to.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Its name. Everything that calls it shares one retry budget of this name.
    pub name: Name,
    /// `http` or `https`.
    pub scheme: Scheme,
    /// Host and port.
    pub authority: Authority,
    /// What comes before every path there, without a slash at its end; empty for none.
    pub path_prefix: String,
    /// Headers that every call carries, secrets among them. They are never stored.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The header that carries the upstream's Idempotency-Key.
    pub key_header: HeaderName,
    /// What retries are paid from; `None` where they are free.
    pub retry_budget: Option<BudgetPolicy>,
}

/// A receiver of events.
#[derive(Clone)]
pub struct Sink {
    /// Its name.
    pub name: Name,
    /// Where events are sent to: an absolute `http` or `https` URL.
    pub url: http::Uri,
    /// What deliveries are signed with: several while they are rotated.
    pub secrets: Secrets,
    /// How an event is put into a request.
    pub mode: Mode,
}

impl fmt::Debug for Sink {
    /// Leaves the path and the query of the URL out: with some receivers they are the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink")
            .field("name", &self.name)
            .field("authority", &self.url.authority())
            .field("secrets", &self.secrets)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// A consumer of events.
#[derive(Debug, Clone)]
pub struct Inbox {
    /// Its name, the last part of its path.
    pub name: Name,
    /// Whose events are taken.
    pub receiver: Receiver,
}

/// How events are delivered, wherever they go.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Attempts and waits, part of every operation's policy.
    pub policy: AttemptPolicy,
    /// What events name as their source: a URI reference (CloudEvents 1.0).
    pub source: String,
    /// Whether whoever answers the request that brought an event about delivers it right afterwards. It saves a timer;
    /// a delivery that is lost with its instance then waits for the walk.
    pub is_after_answer: bool,
}

/// A value that is never shown, and never compared: what is sent is held against it in constant time, or not at all.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Keeps a secret.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The secret itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
