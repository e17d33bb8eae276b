//! Text tasks: `POST /tasks` with `{"text": …}`, and `GET /tasks/{id}`.
//!
//! A key binds a task to the raw text, as it was before trimming. The analysis is pure, so the first attempt runs before
//! the record is created, and the record is created with its result in it.

use super::app::StoreAccess;
use super::idempotency_key;
use super::problem::Problem;
use super::reply::{self, Reply};
use super::request::{Invocation, RequestBody, json_bytes};
use super::settings::Settings;
use super::tenant;
use crate::driver::kv::Kv;
use crate::driver::store::{Identity as StoreIdentity, Node};
use crate::driver::{Attempted, Operations, Settled, Timers, Upstream};
use crate::handler::analyze::{analyze, trimmed};
use crate::machine::{
    AttemptError, AttemptStart, Blob, Digest, Effect, ErrorKind, EventDrafts, Headers, Identity,
    Input, Name, OperationResult, Origin, Outcome, Record, Refusal, ResultBody, State, Timestamp,
    stored,
};
use http::header::{HeaderName, HeaderValue, LOCATION};
use http::{Request, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};
use uuid::Uuid;

/// The path of the collection.
pub const PATH: &str = "/tasks";
/// The operation's name, part of what a key is bound to.
const OPERATION: &str = "tasks";
/// Says that a reply is that of an earlier request.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The request body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTask {
    text: String,
}

/// The parts of a result that a task shows, as they were stored.
#[derive(Deserialize)]
struct TaskResult<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
    #[serde(borrow)]
    analysis: &'a RawValue,
}

/// A task as clients see it.
#[derive(Serialize)]
struct Task<'a> {
    id: Uuid,
    status: &'static str,
    attempts: u32,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<&'a RawValue>,
}

/// `POST /tasks`
pub(super) async fn submit<K: Kv>(
    settings: &Settings,
    store: StoreAccess<'_, K>,
    request: &Request<RequestBody>,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let tenant = tenant::of(request.headers(), settings.tenant_header.as_ref())
        .map_err(Problem::InvalidTenant)?;
    let key = idempotency_key::parse(request.headers()).map_err(Problem::InvalidKey)?;
    let body = json_bytes(request.headers(), request.body())?;
    let NewTask { text } = parse(body)?;
    trimmed(&text).map_err(|_| Problem::InvalidBody("the text is blank".to_owned()))?;

    let now = invocation.now;
    let id = invocation.entropy.next_uuid(now.as_unix_ms());
    let store_identity = match &key {
        Some(key) => StoreIdentity::of_key(tenant.as_bytes(), OPERATION, key.as_str()),
        None => StoreIdentity::of_id(id),
    };
    let origin = Origin {
        identity: Identity {
            id,
            operation: Name::new(OPERATION).expect("the name is within the limits"),
            tenant,
            key: key.map(|key| digest(key.as_str().as_bytes())),
            fingerprint: digest(text.as_bytes()),
        },
        input: Input::new("POST", PATH, Headers::default(), Blob::new(body))
            .expect("the shell's body limit is below the machine's"),
        trace: None,
        created_at: now,
    };
    let store = store.open(settings, &mut invocation.entropy).await?;
    let tasks = Operations {
        store: &store,
        upstream: &Analyzer { now },
        policy: &settings.tasks,
        budget_name: OPERATION,
        timers: Timers::All,
    };
    let submission = tasks
        .submit(store_identity, origin, now, &mut invocation.entropy)
        .await?;
    match submission.settled {
        Settled::At {
            effect: Effect::Refuse(Refusal::Mismatch),
            ..
        } => Err(Problem::KeyReused),
        Settled::At { record, .. } if submission.is_new => shown(&record, StatusCode::CREATED),
        Settled::At { record, .. } => {
            let mut reply = shown(&record, StatusCode::OK)?;
            reply
                .headers_mut()
                .insert(REPLAYED, HeaderValue::from_static("true"));
            Ok(reply)
        }
        // The record expired between two looks at it: the next request with its key begins anew.
        Settled::Gone => Err(Problem::StoreUnavailable(
            "the record has just expired".to_owned(),
        )),
    }
}

/// `GET /tasks/{id}`
pub(super) async fn show<K: Kv>(
    settings: &Settings,
    store: StoreAccess<'_, K>,
    request: &Request<RequestBody>,
    id: &str,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    const NO_TASK: Problem = Problem::NotFound("no task has this id");
    let tenant = tenant::of(request.headers(), settings.tenant_header.as_ref())
        .map_err(Problem::InvalidTenant)?;
    let id = parse_id(id).ok_or(NO_TASK)?;
    let store = store.open(settings, &mut invocation.entropy).await?;
    let node = store
        .load(id, invocation.now.as_unix_ms())
        .await?
        .ok_or(NO_TASK)?;
    let record = decode(&node)?;
    let identity = record.identity();
    if identity.tenant != tenant || identity.operation.as_str() != OPERATION {
        // Whether another tenant has a task of this id is nobody's business.
        return Err(NO_TASK);
    }
    shown(&record, StatusCode::OK)
}

/// Reads the body. The derived reader would also take an array of the members' values.
fn parse(body: &[u8]) -> Result<NewTask, Problem> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::InvalidBody(
            "the body is not a JSON object".to_owned(),
        ));
    }
    serde_json::from_slice(body).map_err(|error| Problem::InvalidBody(error.to_string()))
}

/// One id has one spelling: that of RFC 9562, in either case.
fn parse_id(id: &str) -> Option<Uuid> {
    const HYPHENATED_CHARS: usize = 36;
    Uuid::try_parse(id)
        .ok()
        .filter(|_| id.len() == HYPHENATED_CHARS)
}

/// Does the work of a task. The analysis takes no time that a deadline could see.
struct Analyzer {
    now: Timestamp,
}

impl Upstream for Analyzer {
    async fn attempt(&self, record: &Record, _: &AttemptStart) -> Attempted {
        let task = parse(record.origin().input.body().as_bytes());
        let outcome = match task.as_ref().map(|task| analyze(&task.text)) {
            Ok(Ok(analysis)) => Outcome::Succeeded {
                result: OperationResult {
                    status: StatusCode::CREATED.as_u16(),
                    headers: Headers::default(),
                    body: ResultBody::Kept(Blob::new(
                        serde_json::to_vec(&analysis).expect("an analysis has a JSON form"),
                    )),
                },
                events: EventDrafts::default(),
            },
            // A body is checked before it becomes an input, so this is one that another version took.
            Ok(Err(_)) | Err(_) => Outcome::Terminal {
                error: AttemptError::new(ErrorKind::Handler, "the input is not a task"),
            },
        };
        Attempted {
            outcome,
            ended_at: self.now,
        }
    }

    fn is_pure(&self) -> bool {
        true
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

/// Reads a stored record. One that this version cannot read is left alone.
fn decode(node: &Node) -> Result<Record, Problem> {
    stored::decode(node.payload())
        .map_err(|error| Problem::StoreRefused(format!("the record {}: {error}", node.id())))
}

fn shown(record: &Record, status: StatusCode) -> Result<Reply, Problem> {
    let id = record.identity().id;
    let result = match record.state() {
        State::Done {
            result:
                OperationResult {
                    body: ResultBody::Kept(body),
                    ..
                },
            ..
        } => {
            let result = serde_json::from_slice::<TaskResult<'_>>(body.as_bytes());
            Some(result.map_err(|error| {
                Problem::StoreRefused(format!("the result of the task {id}: {error}"))
            })?)
        }
        State::Done {
            result:
                OperationResult {
                    body: ResultBody::TooLarge { .. },
                    ..
                },
            ..
        }
        | State::Queued { .. }
        | State::Running(_)
        | State::Waiting { .. }
        | State::Failed { .. }
        | State::Cancelled { .. } => None,
    };
    let task = Task {
        id,
        status: record.state().name(),
        attempts: record.progress().attempts,
        created_at: rfc_3339(record.origin().created_at)?,
        expires_at: record.expires_at().map(rfc_3339).transpose()?,
        text: result.as_ref().map(|result| result.text),
        analysis: result.as_ref().map(|result| result.analysis),
    };
    let mut reply = reply::json(status, &task);
    let location = HeaderValue::try_from(format!("{PATH}/{id}")).expect("an id is visible ASCII");
    reply.headers_mut().insert(LOCATION, location);
    Ok(reply)
}

/// A time as clients read it. A stored one may lie beyond what the format can say.
fn rfc_3339(at: Timestamp) -> Result<String, Problem> {
    let mut text = String::new();
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(at.as_unix_ms()));
    let written = time.map(|time| write!(text, "{}", humantime::format_rfc3339_millis(time)));
    match written {
        Some(Ok(())) => Ok(text),
        Some(Err(_)) | None => Err(Problem::StoreRefused(format!(
            "{at:?} is no time of a record"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_or_refused() {
        let written = rfc_3339(Timestamp::from_unix_ms(1_790_000_000_123));
        assert_eq!(written.as_deref(), Ok("2026-09-21T14:13:20.123Z"));
        for ms in [300_000_000_000_000, u64::MAX] {
            assert!(rfc_3339(Timestamp::from_unix_ms(ms)).is_err(), "{ms}");
        }
    }
}
