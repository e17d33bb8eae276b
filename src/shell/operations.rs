//! Operations over HTTP: a request starts one or repeats it, a record is shown or called off.
//!
//! Whoever comes by moves an operation on whose next step is due: a repeat, and a look at the record alike. Nobody waits
//! here: what is not due is answered with the time at which it will be.

use super::admission::{Item, Submit};
use super::app::{Access, Open, Undelivered};
use super::outgoing::Outgoing;
use super::postman::Postman;
use super::problem::{Failure, Problem};
use super::query::key_hash;
use super::record_view::{location, location_value, shown};
use super::reply::{Reply, ReplyBody};
use super::request::{self, Invocation, RequestBody};
use super::trace::Trace;
use super::worker::Worker;
use super::{forward, local};
use crate::config::{Config, FingerprintRule, Handler, Operation, WhenFinished, WhileUnfinished};
use crate::content::{Content, fingerprint};
use crate::driver::Found;
use crate::driver::entropy::Entropy;
use crate::driver::kv::Kv;
use crate::driver::store::{Identity as StoreIdentity, Sought, Vacancy};
use crate::driver::{Operations, Settled, Submission, Timers};
use crate::machine::{
    Blob, Digest, Effect, Identity, OperationEvent, OperationResult, Origin, Record, Refusal,
    ResultBody, State, Timestamp,
};
use http::header::{
    CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Response, StatusCode};
use uuid::Uuid;

/// Says that a reply is that of an earlier request.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Where the record of an operation is, on replies that are not the record themselves.
pub const OPERATION_LOCATION: HeaderName = HeaderName::from_static("operation-location");

/// The answer to who names a record that is not there, or not theirs.
pub(super) const NO_RECORD: Problem = Problem::NotFound("no record has this id");

/// A request that starts an operation or repeats it.
pub(super) async fn submit<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    submit: Submit<'_>,
    head: &Parts,
    body: RequestBody,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let Submit {
        operation,
        tenant,
        key,
    } = submit;
    let (body, ending) = request::taken(body, operation.request_bytes_max)?;
    let content = Content::new(&body);
    local::check(&operation.handler, &content).map_err(Problem::InvalidBody)?;
    let input = forward::input(operation, head).map_err(Problem::NotKept)?;
    let fingerprint = fingerprint_of(operation, head, &content)?;
    let now = invocation.now;
    let entropy = &mut invocation.entropy;
    let open = access.open(entropy).await?;
    let worker = Worker::new(&open, operation, now);
    let operations = open.operations(operation, &worker);
    let of_key = key
        .as_ref()
        .map(|key| StoreIdentity::of_key(tenant.as_bytes(), operation.name.as_str(), key.as_str()));
    let sought = match &of_key {
        Some(identity) => {
            let repeated = operations.repeat_of(identity, fingerprint, now, entropy);
            repeated.await?
        }
        None => Sought::Nothing(Vacancy::default()),
    };
    let submission = match sought {
        Sought::There(submission) => submission,
        Sought::Nothing(vacancy) => {
            ending.check().await?;
            let id = entropy.next_uuid(now.as_unix_ms());
            let input = input.with_body(Blob::new(content.bytes()));
            let origin = Origin {
                identity: Identity {
                    id,
                    operation: operation.name.clone(),
                    tenant,
                    key: key.as_ref().map(key_hash),
                    fingerprint,
                },
                input: input.map_err(Problem::NotKept)?,
                trace: Some(Trace::of(&head.headers).unwrap_or(Trace::started_by(id)).id),
                created_at: now,
            };
            let identity = of_key.unwrap_or_else(|| StoreIdentity::of_id(id));
            operations
                .create(identity, vacancy, origin, now, entropy)
                .await?
        }
    };
    reply_to(submission, &open, operation, &worker, now)
}

/// The answer to a request for an operation that is there now, whether this request created it or repeats it.
fn reply_to<K: Kv, O: Outgoing>(
    submission: Submission,
    open: &Open<'_, K, O>,
    operation: &Operation,
    worker: &Worker<'_, O>,
    now: Timestamp,
) -> Result<Reply, Problem> {
    let has_due_event = submission.settled.has_due_event();
    let Settled::At { record, effect, .. } = submission.settled else {
        // The record expired between two looks at it: the next request with its key begins anew.
        return Err(Problem::StoreUnavailable(
            "the record has just expired".to_owned(),
        ));
    };
    let repeat = |family| open.observer.repeat(family, &record, now);
    if matches!(effect, Effect::Refuse(Refusal::Mismatch)) {
        repeat("mismatches");
        return Err(Problem::KeyReused(operation.mismatch_status));
    }
    let turn = if submission.is_new {
        Turn::First
    } else if worker.has_worked_on(&record) {
        Turn::RepeatThatWorked
    } else {
        Turn::Repeat
    };
    let told_at = match turn {
        Turn::Repeat => now,
        // An attempt may have taken its time.
        Turn::First | Turn::RepeatThatWorked => (open.clock)(),
    };
    let reply = answer(&record, operation, turn, told_at)?;
    if reply.headers().contains_key(REPLAYED) {
        repeat("replays");
    } else if turn != Turn::First && !record.state().is_terminal() {
        repeat("conflicts");
    }
    Ok(with_events(reply, &record, open.config, has_due_event))
}

/// Notes with a reply that its record has events to deliver now, where that is done after the answer.
pub(super) fn with_events(
    mut reply: Reply,
    record: &Record,
    config: &Config,
    has_due_event: bool,
) -> Reply {
    if config.delivery.is_after_answer && has_due_event {
        let undelivered = Undelivered(record.identity().id);
        reply.extensions_mut().insert(undelivered);
    }
    reply
}

/// Delivers what is due of a record's events.
pub(super) async fn deliver<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    id: Uuid,
    mut invocation: Invocation,
) -> Result<(), Problem> {
    let now = invocation.now;
    let open = access.open(&mut invocation.entropy).await?;
    let (_, record) = open.find(id, now).await?.ok_or(NO_RECORD)?;
    let operation = open.config.operation(&record.identity().operation);
    let operation = operation.ok_or(NO_RECORD)?;
    let worker = Worker::new(&open, operation, now);
    let operations = open.operations(operation, &worker);
    operations
        .relay(id, &open.postman(), now, &mut invocation.entropy)
        .await?;
    Ok(())
}

/// Tells a client's record that somebody looks at it, which moves it on if its next step is due, or that it is to be called
/// off; and shows it as it then is.
///
/// A record of another tenant, or at another path, is none: whether there is one of this id is nobody else's business.
pub(super) async fn tell<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    item: Item,
    head: &Parts,
    event: OperationEvent,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let now = invocation.now;
    let open = access.open(&mut invocation.entropy).await?;
    let (node, record) = open.find(item.id, now).await?.ok_or(NO_RECORD)?;
    let identity = record.identity();
    let collection = head.uri.path().rsplit_once('/');
    let is_here = identity.tenant == item.tenant
        && collection.is_some_and(|(path, _)| path == local::path_of(&record.origin().input));
    let operation = open.config.operation(&identity.operation);
    let operation = operation.filter(|_| is_here).ok_or(NO_RECORD)?;
    let found = Found::read(node, record);
    let (record, has_due_event) = open
        .tell(operation, found, event, now, &mut invocation.entropy)
        .await?;
    // An attempt may have taken its time.
    let reply = shown(&record, operation, StatusCode::OK, (open.clock)())?;
    Ok(with_events(reply, &record, open.config, has_due_event))
}

impl<K: Kv, O: Outgoing> Open<'_, K, O> {
    /// Who delivers events.
    pub(super) const fn postman(&self) -> Postman<'_, K, O> {
        Postman {
            store: &self.store,
            config: self.config,
            outgoing: &self.outgoing,
            clock: self.clock,
        }
    }

    /// Tells the record of an operation what has happened to it, which moves it on if its next step is due. Gives it as it
    /// then is, and whether it has an event to deliver at once; or why that is refused.
    pub(super) async fn tell(
        &self,
        operation: &Operation,
        found: Found,
        event: OperationEvent,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<(Record, bool), Problem> {
        let worker = Worker::new(self, operation, now);
        let operations = self.operations(operation, &worker);
        let settled = operations.tell(found, event, now, entropy).await?;
        let has_due_event = settled.has_due_event();
        let Settled::At { record, effect, .. } = settled else {
            return Err(NO_RECORD);
        };
        match effect {
            Effect::Refuse(Refusal::AlreadyEnded) => {
                return Err(Problem::AlreadyEnded(record.state().name()));
            }
            Effect::Refuse(Refusal::NotToRetry) => {
                return Err(Problem::NotToRetry(record.state().name()));
            }
            Effect::Refuse(Refusal::OutboxFull) => {
                return Err(Problem::NotToRetry(
                    "held up by its events, too many of which nobody has settled",
                ));
            }
            Effect::Refuse(Refusal::Mismatch | Refusal::NoSuchEvent | Refusal::NotDead)
            | Effect::Idle(_)
            | Effect::Start(_)
            | Effect::Withdraw(_)
            | Effect::Deposit
            | Effect::Deliver(_)
            | Effect::Stale
            | Effect::Expired => {}
        }
        Ok((*record, has_due_event))
    }

    /// The driver's view of one operation.
    pub(super) fn operations<'b>(
        &'b self,
        operation: &'b Operation,
        worker: &'b Worker<'b, O>,
    ) -> Operations<'b, K, Worker<'b, O>> {
        Operations {
            store: &self.store,
            upstream: worker,
            policy: &operation.policy,
            budget_name: worker.budget_name(),
            timers: if self.config.delivery.is_after_answer {
                Timers::CallerRelays
            } else {
                Timers::All
            },
            witness: &self.observer,
        }
    }
}

/// Whose answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// That of the request which created the record.
    First,
    /// That of a repeat which ran an attempt itself.
    RepeatThatWorked,
    /// That of a repeat which found everything there.
    Repeat,
}

/// The answer to a request for an operation.
fn answer(
    record: &Record,
    operation: &Operation,
    turn: Turn,
    now: Timestamp,
) -> Result<Reply, Problem> {
    let mut reply = match (record.state(), operation.when_finished) {
        (State::Queued { .. } | State::Running(_) | State::Waiting { .. }, _) => {
            return unfinished(record, operation, turn, now);
        }
        (
            State::Done { .. } | State::Failed { .. } | State::Cancelled { .. },
            WhenFinished::Record,
        ) => {
            let status = match turn {
                Turn::First => StatusCode::CREATED,
                Turn::RepeatThatWorked | Turn::Repeat => StatusCode::OK,
            };
            shown(record, operation, status, now)?
        }
        (State::Done { result, .. }, WhenFinished::Original) => {
            original(record, operation, result, now)?
        }
        (State::Failed { error, .. }, WhenFinished::Original) => {
            let failure = Failure::new(*error, record.last_error(), record.progress().attempts);
            Problem::OperationFailed(failure).reply()
        }
        (State::Cancelled { .. }, WhenFinished::Original) => Problem::OperationCancelled.reply(),
    };
    if operation.when_finished == WhenFinished::Original {
        reply
            .headers_mut()
            .insert(OPERATION_LOCATION, location_value(record));
    }
    if turn == Turn::Repeat {
        mark_replayed(&mut reply);
    }
    Ok(reply)
}

fn mark_replayed(reply: &mut Reply) {
    let marker = HeaderValue::from_static("true");
    reply.headers_mut().insert(REPLAYED, marker);
}

/// The answer while an operation has not ended. It is never one that reads like success.
fn unfinished(
    record: &Record,
    operation: &Operation,
    turn: Turn,
    now: Timestamp,
) -> Result<Reply, Problem> {
    match (turn, operation.while_unfinished) {
        (Turn::First, _) => shown(record, operation, StatusCode::ACCEPTED, now),
        (Turn::RepeatThatWorked | Turn::Repeat, WhileUnfinished::Record) => {
            let mut reply = shown(record, operation, StatusCode::OK, now)?;
            mark_replayed(&mut reply);
            Ok(reply)
        }
        (Turn::RepeatThatWorked | Turn::Repeat, WhileUnfinished::Conflict) => {
            let retry_after_s = record.retry_after_s(now, &operation.policy);
            let retry_after_s =
                retry_after_s.expect("an operation that has not ended has a next step");
            let mut reply = Problem::InProgress {
                retry_after_s,
                location: location(record),
            }
            .reply();
            reply
                .headers_mut()
                .insert(OPERATION_LOCATION, location_value(record));
            Ok(reply)
        }
    }
}

/// The result of an operation: its status, the headers that were kept and its body, byte for byte.
///
/// A body that was too large to keep is told by the record instead, under the same status: it is no failure.
fn original(
    record: &Record,
    operation: &Operation,
    result: &OperationResult,
    now: Timestamp,
) -> Result<Reply, Problem> {
    let unknown = |_| Problem::StoreRefused(format!("{} is no status", result.status));
    let status = StatusCode::from_u16(result.status).map_err(unknown)?;
    let mut reply = match &result.body {
        ResultBody::Kept(body) => {
            let mut reply = Response::new(ReplyBody(body.as_bytes().to_vec()));
            *reply.status_mut() = status;
            reply
        }
        ResultBody::TooLarge { .. } => {
            let mut reply = shown(record, operation, status, now)?;
            reply.headers_mut().remove(LOCATION);
            reply
        }
    };
    let is_kept = matches!(result.body, ResultBody::Kept(_));
    for (name, value) in forward::lines(&result.headers) {
        // What describes the body that was not kept does not describe the one that is sent.
        if is_kept || ![CONTENT_TYPE, CONTENT_ENCODING, ETAG].contains(&name) {
            reply.headers_mut().append(name, value);
        }
    }
    reply.headers_mut().remove(RETRY_AFTER);
    Ok(reply)
}

/// What of this request makes it the same request. What an upstream is asked depends on the method and the path too.
fn fingerprint_of(
    operation: &Operation,
    head: &Parts,
    content: &Content<'_>,
) -> Result<Digest, Problem> {
    let target = match operation.handler {
        Handler::Forward(_) => Some((
            head.method.as_str(),
            head.uri.path_and_query().map_or("/", PathAndQuery::as_str),
        )),
        Handler::Analyze | Handler::Order { .. } => None,
    };
    let rule: &FingerprintRule = &operation.fingerprint;
    fingerprint::of(rule, target, content).map_err(|error| Problem::InvalidBody(error.to_string()))
}
