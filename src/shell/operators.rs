//! Routes for operators, under `/-/`. All but the health check need the token, and do not exist where none is set.

use super::app::{Access, Open};
use super::outgoing::Outgoing;
use super::problem::Problem;
use super::reply::{self, Reply};
use super::request::Invocation;
use super::worker::Worker;
use crate::config::{Config, Operation};
use crate::driver::kv::Kv;
use crate::driver::store::PurgeLimits;
use crate::driver::walk;
use crate::driver::{Directory, Parts, Tick, TickLimits};
use crate::machine::{Name, Timestamp};
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// What comes before each of these paths.
pub(super) const PREFIX: &str = "/-/";
/// Whether the component runs. It says nothing of the store, so a broken store does not make a platform restart us.
pub const HEALTH_PATH: &str = "/-/healthz";
/// The description of the interface.
pub const OPENAPI_PATH: &str = "/-/openapi.yaml";
/// Where the manifest mounts the description.
const OPENAPI: &str = "/openapi.yaml";
/// The media type of the description (RFC 9512).
const YAML: &str = "application/yaml";
/// Moves the walk over the buckets on.
pub const TICK_PATH: &str = "/-/tick";

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

/// What a tick did.
#[derive(Serialize)]
struct TickReport {
    /// Timers whose time had come, and those of them whose record had nothing to do any more.
    due: u32,
    stale: u32,
    /// Records that had something to do and no timer.
    found: u32,
    /// Records that were moved on.
    advanced: u32,
    /// Events that a receiver has taken.
    delivered: u32,
    /// Buckets that were visited, of all that there are.
    buckets_visited: u32,
    buckets_total: u32,
    /// Expired records that were deleted.
    records_purged: usize,
    /// Records and buckets that could not be read or moved.
    failed: u32,
    /// Records of operations that the configuration does not name.
    unknown: u32,
    /// How long the record that was due for longest had waited.
    lag_ms: u64,
    /// When to come again.
    come_back_ms: u64,
}

/// `GET /-/healthz`
pub(super) fn health() -> Reply {
    reply::json(StatusCode::OK, &Health { status: "ok" })
}

/// `GET /-/openapi.yaml`.
pub(super) fn openapi(read: fn(&str) -> Result<String, String>) -> Result<Reply, Problem> {
    let document = read(OPENAPI).map_err(Problem::Misconfigured)?;
    Ok(reply::text(YAML, document))
}

/// Lets an operator in. Without a token in the settings there is no such route.
pub(super) fn authorize(config: &Config, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(token) = &config.admin_token else {
        return Err(Problem::NotFound("no route has this path"));
    };
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let sent = match (lines.next(), lines.next()) {
        (Some(line), None) => line.as_bytes(),
        (None, _) | (Some(_), Some(_)) => b"",
    };
    let sent = sent
        .split_first_chunk::<7>()
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "));
    let sent = sent.map_or(&b""[..], |(_, token)| token);
    // Digests have one length, so the comparison takes one time, however much of the token is right.
    if Sha256::digest(sent)
        .ct_eq(&Sha256::digest(token.reveal()))
        .into()
    {
        Ok(())
    } else {
        Err(Problem::Unauthorized)
    }
}

/// `POST /-/tick`
pub(super) async fn tick<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let open = access.open(&mut invocation.entropy).await?;
    let defaults = TickLimits::default();
    let grace_ms = open.config.store.purge_grace_ms;
    let tick = Tick {
        store: &open.store,
        directory: &Workers::new(&open, invocation.now),
        sink: &open.postman(),
        clock: open.clock,
        limits: TickLimits {
            purge: PurgeLimits {
                grace_ms,
                ..defaults.purge
            },
            ..defaults
        },
        witness: &open.observer,
    };
    let ticked = tick.run(&mut invocation.entropy).await?;
    if open.observer.tally.has_news() {
        // What the tick has done after it moved the walk on. The next one may be another instance's.
        let flushed = walk::flush(
            &open.store,
            &open.observer,
            (open.clock)(),
            &mut invocation.entropy,
        );
        let _ = flushed.await;
    }
    let report = TickReport {
        due: ticked.due,
        stale: ticked.stale,
        found: ticked.found,
        advanced: ticked.advanced,
        delivered: ticked.delivered,
        buckets_visited: ticked.buckets,
        buckets_total: open.store.layout().buckets(),
        records_purged: ticked.purged,
        failed: ticked.failed,
        unknown: ticked.unknown,
        lag_ms: ticked.lag_ms,
        come_back_ms: ticked.come_back_ms,
    };
    Ok(reply::json(StatusCode::OK, &report))
}

/// Who works for each operation of the configuration.
struct Workers<'a, O>(Vec<(&'a Operation, Worker<'a, O>)>);

impl<'a, O: Outgoing> Workers<'a, O> {
    fn new<K>(open: &'a Open<'_, K, O>, now: Timestamp) -> Self {
        let worker = |operation| Worker::new(open, operation, now);
        let operations = open.config.operations.iter();
        Self(
            operations
                .map(|operation| (operation, worker(operation)))
                .collect(),
        )
    }
}

impl<'a, O: Outgoing> Directory for Workers<'a, O> {
    type Upstream = Worker<'a, O>;

    fn find(&self, name: &Name) -> Option<Parts<'_, Self::Upstream>> {
        let (operation, worker) = self
            .0
            .iter()
            .find(|(operation, _)| operation.name == *name)?;
        Some(Parts {
            upstream: worker,
            policy: &operation.policy,
            budget_name: worker.budget_name(),
        })
    }
}
