//! Inboxes over HTTP: `POST /inbox/{name}` takes a signed event, `GET /inbox/{name}/projection` shows what came of all.
//!
//! An event is acknowledged with a 2xx only once its effect is durable. One that is refused for good is a 4xx other than
//! 410, which senders take for "never again".

use super::app::Access;
use super::outgoing::Outgoing;
use super::problem::Problem;
use super::reply::{self, Reply};
use super::request::{self, Invocation, RequestBody};
use crate::config::Inbox as InboxSettings;
use crate::driver::inbox::{Inbox, InboxError, InboxPolicy, Received, Rejection, Totals};
use crate::driver::kv::Kv;
use crate::driver::store::Store;
use crate::sorted::Sorted;
use crate::webhook::{OpenError, open};
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;

/// What comes before an inbox's name.
pub(super) const PREFIX: &str = "/inbox/";
/// What comes behind it, where its read model is.
pub(super) const PROJECTION: &str = "/projection";
/// The largest event, in bytes: several times what an outbox holds.
pub(super) const EVENT_BYTES_MAX: usize = 64 * 1_024;

/// What became of an event.
#[derive(Serialize)]
struct Acknowledged {
    status: &'static str,
}

/// The read model of orders.
#[derive(Serialize)]
struct Products {
    products: Sorted<u64, Totals>,
}

/// `POST /inbox/{name}`
pub(super) async fn receive<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    settings: &InboxSettings,
    head: &Parts,
    body: RequestBody,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let (body, ending) = request::taken(body, EVENT_BYTES_MAX)?;
    ending.check().await?;
    let now = invocation.now;
    let event = open(&settings.receiver, &head.headers, &body, now)?;
    let world = access.open(&mut invocation.entropy).await?;
    let inbox = inbox(&world.store, settings);
    let status = match inbox.receive(&event, now, &mut invocation.entropy).await? {
        Received::Applied => "applied",
        Received::Duplicate => "duplicate",
        Received::Ignored => "ignored",
    };
    Ok(reply::json(StatusCode::OK, &Acknowledged { status }))
}

/// `GET /inbox/{name}/projection`
pub(super) async fn projection<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    settings: &InboxSettings,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let world = access.open(&mut invocation.entropy).await?;
    let projection = inbox(&world.store, settings).projection().await?;
    let products = projection.products;
    Ok(reply::json(StatusCode::OK, &Products { products }))
}

fn inbox<'a, K>(store: &'a Store<K>, settings: &'a InboxSettings) -> Inbox<'a, K> {
    Inbox {
        store,
        name: settings.name.as_str(),
        policy: InboxPolicy::default(),
    }
}

impl From<OpenError> for Problem {
    fn from(error: OpenError) -> Self {
        match &error {
            OpenError::Unsigned(_)
            | OpenError::OtherId
            | OpenError::OtherSource
            | OpenError::UnknownSource => Self::EventNotTrusted(error.to_string()),
            OpenError::Binding(_) => Self::InvalidEvent(error.to_string()),
        }
    }
}

impl From<InboxError> for Problem {
    fn from(error: InboxError) -> Self {
        match &error {
            InboxError::Rejected(Rejection::Malformed { .. }) => {
                Self::InvalidEvent(error.to_string())
            }
            InboxError::Rejected(Rejection::NoTime | Rejection::TooOld | Rejection::TooNew) => {
                Self::EventNotTaken(error.to_string())
            }
            InboxError::Store(_) | InboxError::Contended => {
                Self::StoreUnavailable(error.to_string())
            }
            InboxError::Full | InboxError::Corrupt(_) => Self::StoreRefused(error.to_string()),
        }
    }
}
