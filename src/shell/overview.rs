//! The overview, for operators: which operations there are, where one stands, and what can be done about it.
//!
//! `GET /-/operations` shows those that match, page by page; `GET /-/operations/{id}` one of them, which a look does not
//! move on; `POST …/cancel` and `POST …/retry` act on it; `GET /-/keys` says what a key is bound to.
//!
//! Everything here is behind the operators' token, which is checked before any of it is reached: whether there is an
//! operation of some id or key is told to nobody else.

use super::admission::{not_allowed, read_only};
use super::app::{Access, Open, record_in};
use super::idempotency_key::IdempotencyKey;
use super::operation_view::{detail, summary};
use super::operations::{NO_RECORD, with_events};
use super::outgoing::Outgoing;
use super::problem::Problem;
use super::query::{Binding, Selection};
use super::reply::{self, Reply};
use super::request::Invocation;
use super::{admission, page_limits};
use crate::driver::Found;
use crate::driver::inbox::is_done_event;
use crate::driver::kv::Kv;
use crate::driver::store::{Identity, Node, Walk};
use crate::json::raw::{self, Object};
use crate::machine::{Digest, OperationEvent, Record, Timestamp, stored};
use http::Method;
use http::request::Parts;
use uuid::Uuid;

/// The path of all operations.
pub(super) const OPERATIONS_PATH: &str = "/-/operations";
/// The path of the keys.
pub(super) const KEYS_PATH: &str = "/-/keys";

/// What an operator asks for.
#[derive(Debug)]
pub(super) enum Ask {
    /// The operations that match.
    List(Selection),
    /// One operation.
    Show(Uuid),
    /// Something to be done about one.
    Tell(Uuid, OperationEvent),
    /// What a key is bound to.
    Key(Binding),
}

/// Settles what is asked below [`OPERATIONS_PATH`].
pub(super) fn ask_of_operations<'a>(
    rest: &str,
    head: &Parts,
) -> Result<admission::Asked<'a>, Problem> {
    if rest.is_empty() {
        return read_only(head, || {
            Ok(admission::Asked::Overview(Ask::List(Selection::parse(
                head.uri.query(),
            )?)))
        });
    }
    let no_route = || Problem::NotFound("no route has this path");
    let rest = rest.strip_prefix('/').ok_or_else(no_route)?;
    let (id, act) = match rest.split_once('/') {
        None => (rest, None),
        Some((id, "cancel")) => (id, Some(OperationEvent::CancelAsked)),
        Some((id, "retry")) => (id, Some(OperationEvent::RetryAsked)),
        Some(_) => return Err(no_route()),
    };
    let id = admission::parse_id(id).ok_or(NO_RECORD)?;
    match (act, &head.method) {
        (None, _) => read_only(head, || Ok(admission::Asked::Overview(Ask::Show(id)))),
        (Some(event), &Method::POST) => Ok(admission::Asked::Overview(Ask::Tell(id, event))),
        (Some(_), _) => not_allowed(head, "POST"),
    }
}

/// Settles what is asked at [`KEYS_PATH`].
pub(super) fn ask_of_keys<'a>(rest: &str, head: &Parts) -> Result<admission::Asked<'a>, Problem> {
    if !rest.is_empty() {
        return Err(Problem::NotFound("no route has this path"));
    }
    read_only(head, || {
        Ok(admission::Asked::Overview(Ask::Key(Binding::parse(
            head.uri.query(),
        )?)))
    })
}

/// Answers an operator.
pub(super) async fn answer<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    ask: Ask,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let open = access.open(&mut invocation.entropy).await?;
    match ask {
        Ask::List(selection) => page(&open, &selection, invocation.now).await,
        Ask::Show(id) => {
            let (_, record) = open.find(id, invocation.now).await?.ok_or(NO_RECORD)?;
            Ok(shown(&open, &record))
        }
        Ask::Tell(id, event) => tell(&open, id, event, invocation).await,
        Ask::Key(binding) => {
            let Binding {
                operation,
                key,
                tenant,
            } = &binding;
            let found = match tenant {
                Some(tenant) => bound(&open, operation, key, tenant, invocation.now).await?,
                None => None,
            };
            let record = found.ok_or(Problem::NotFound("the key is bound to no operation"))?;
            Ok(reply::object(summary(&record)))
        }
    }
}

fn shown<K: Kv, O: Outgoing>(open: &Open<'_, K, O>, record: &Record) -> Reply {
    let operation = open.config.operation(&record.identity().operation);
    reply::object(detail(record, operation.map(|operation| &operation.policy)))
}

/// The operation that a key is bound to.
async fn bound<K: Kv, O: Outgoing>(
    open: &Open<'_, K, O>,
    operation: &str,
    key: &IdempotencyKey,
    tenant: &Digest,
    now: Timestamp,
) -> Result<Option<Record>, Problem> {
    let identity = Identity::of_key(tenant.as_bytes(), operation, key.as_str());
    let node = open.store.find(&identity, now.as_unix_ms()).await?;
    node.as_ref().map(record_in).transpose()
}

/// `GET /-/operations`
async fn page<K: Kv, O: Outgoing>(
    open: &Open<'_, K, O>,
    selection: &Selection,
    now: Timestamp,
) -> Result<Reply, Problem> {
    let total = open.store.layout().buckets();
    let filter = &selection.filter;
    let mut seen = Seen::default();
    // Where all of a key is known, one look at one bucket is enough.
    let known = match (&filter.operation, &filter.key, &filter.tenants[..]) {
        (Some(operation), Some(key), [tenant, ..]) => Some((operation, key, tenant)),
        _ => None,
    };
    let (next, buckets) = if let Some((operation, key, tenant)) = known {
        let record = bound(open, operation, key, tenant, now).await?;
        seen.operations = u32::from(record.is_some());
        let record = record.filter(|record| filter.matches(record));
        seen.matching.extend(record.map(|record| summary(&record)));
        (None, 1)
    } else {
        let mut visit = |node: &Node| {
            seen.look(node, selection, now);
            if seen.matching.len() < selection.limit {
                Walk::On
            } else {
                Walk::Stop
            }
        };
        let now_ms = now.as_unix_ms();
        let page = open
            .store
            .page(selection.from, page_limits::READS, now_ms, &mut visit);
        let page = page.await?;
        seen.unreadable += page.failed;
        (page.next, page.buckets)
    };
    let next = next.map(|place| format!("{OPERATIONS_PATH}?{}from={place}", selection.rest));
    let mut looked_at = Object::default();
    looked_at.add("buckets", &buckets);
    looked_at.add("of", &total);
    looked_at.add("operations", &seen.operations);
    looked_at.add("unreadable", &seen.unreadable);
    let mut view = Object::default();
    view.add_raw("operations", &raw::list(seen.matching));
    view.add("next", &next);
    view.add_raw("looked_at", &looked_at.end());
    Ok(reply::object(view))
}

/// What a page has come by.
#[derive(Default)]
struct Seen {
    matching: Vec<Object>,
    operations: u32,
    unreadable: u32,
}

impl Seen {
    fn look(&mut self, node: &Node, selection: &Selection, now: Timestamp) {
        if !node.is_live(now.as_unix_ms()) || is_done_event(node) {
            return;
        }
        self.operations += 1;
        match stored::decode(node.payload()) {
            Ok(record) if selection.filter.matches(&record) => self.matching.push(summary(&record)),
            Ok(_) => {}
            Err(_) => self.unreadable += 1,
        }
    }
}

/// `POST /-/operations/{id}/cancel` and `…/retry`
async fn tell<K: Kv, O: Outgoing>(
    open: &Open<'_, K, O>,
    id: Uuid,
    event: OperationEvent,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let now = invocation.now;
    let (node, record) = open.find(id, now).await?.ok_or(NO_RECORD)?;
    let operation = open.config.operation(&record.identity().operation);
    let operation =
        operation.ok_or(Problem::NotFound("the configuration has no such operation"))?;
    let found = Found::read(node, record);
    let (record, has_due_event) = open
        .tell(operation, found, event, now, &mut invocation.entropy)
        .await?;
    Ok(with_events(
        shown(open, &record),
        &record,
        open.config,
        has_due_event,
    ))
}
