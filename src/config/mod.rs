//! The configuration: what the owner of a service has decided, read from `reprise.toml` once per instance.
//!
//! Everything here is checked: a value that exists makes sense, by itself and beside the others. A file that does not is
//! one [`ConfigError`] that names the line and the field, and the service then answers nothing but that.
//!
//! This module never reads a file, a variable or a request.

mod draft;
mod error;
mod file;
mod headers;
mod operation;
mod route;
mod upstream;

pub use draft::Draft;
pub use error::ConfigError;
pub use headers::{HOP_BY_HOP, HeaderList, NEVER_FORWARDED, NEVER_REPLAYED};
pub use operation::{
    EventRule, FingerprintRule, Forward, Handler, KeyRule, Operation, WhenFinished, WhileUnfinished,
};
pub use route::{Params, Route, RouteTemplate};
pub use upstream::{Delivery, Inbox, Secret, Sink, Upstream};

use crate::machine::Name;
use crate::sorted::Sorted;
use http::HeaderValue;
use http::header::HeaderName;

/// A whole configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The store's own settings.
    pub store: StoreSettings,
    /// The operators' token. Without one their routes do not exist.
    pub admin_token: Option<Secret>,
    /// The header that names the tenant. Without one it is the Authorization.
    pub tenant_header: Option<HeaderName>,
    /// What is written to the log.
    pub log_level: LogLevel,
    /// Which web pages of other origins may call; `None` lets none.
    pub cors: Option<Cors>,
    /// How events are delivered.
    pub delivery: Delivery,
    /// The upstreams, by name.
    pub upstreams: Sorted<Name, Upstream>,
    /// Where events go, by name.
    pub sinks: Sorted<Name, Sink>,
    /// Where events come in, by name.
    pub inboxes: Sorted<Name, Inbox>,
    /// The operations. No request matches two of them.
    pub operations: Vec<Operation>,
}

impl Config {
    /// The operation of this name; `None` when there is none any more.
    #[must_use]
    pub fn operation(&self, name: &Name) -> Option<&Operation> {
        self.operations.iter().find(|one| one.name == *name)
    }
}

/// The store's own settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreSettings {
    /// How many leading bits choose a bucket, in a store that is not laid out yet.
    pub bucket_bits: u8,
    /// How long after its expiry a record is purged, in milliseconds.
    pub purge_grace_ms: u64,
}

/// What is written to the log: of these levels the chosen one and those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What somebody has to look at: failed operations, dead letters, a store that fails.
    Error,
    /// Each change of an operation and of its deliveries.
    Info,
    /// Repeats, too.
    Debug,
}

impl LogLevel {
    /// The level's name, in the configuration and in the log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// Cross-origin requests (the CORS protocol of the Fetch standard). Credentials are never allowed: a key and a token are
/// headers that a page sets itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// The origins that may call.
    pub origins: Origins,
    /// How long a browser may keep the answer to a preflight, in seconds.
    pub max_age_s: u64,
}

/// The origins that may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Every origin.
    Any,
    /// These, compared byte for byte as browsers send them.
    Listed(Vec<HeaderValue>),
}
