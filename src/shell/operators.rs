//! Routes for operators, under `/-/`. All but the health check need the token, and do not exist where none is set.

use super::app::Access;
use super::outgoing::Outgoing;
use super::problem::Problem;
use super::reply::{self, Reply};
use super::request::Invocation;
use crate::config::Config;
use crate::driver::kv::Kv;
use crate::driver::store::{PurgeLimits, Purged};
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Whether the component runs. It says nothing of the store, so a broken store does not make a platform restart us.
pub const HEALTH_PATH: &str = "/-/healthz";
/// The description of the interface.
pub const OPENAPI_PATH: &str = "/-/openapi.yaml";
/// The media type of the description (RFC 9512).
pub const YAML: &str = "application/yaml";
/// Moves the walk over the buckets on.
pub const TICK_PATH: &str = "/-/tick";

/// Buckets that one tick visits. Each can take a swap, and what Spin keeps of a swap, on Redis a connection, it keeps
/// until the instance ends.
const TICK_BUCKETS: u32 = 64;
/// Buckets that are taken at a time, so that a tick which stops early skips few.
const TICK_STEP: u32 = 16;
/// Records that one tick deletes, give or take a bucket. Each is a write, and a tick should end within seconds.
const TICK_DELETES: usize = 256;

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

/// What a tick did.
#[derive(Serialize)]
struct Tick {
    /// Buckets that were visited, of all that there are.
    buckets_visited: u32,
    buckets_total: u32,
    /// Buckets that could not be purged because their values are not what they should be.
    buckets_failed: u32,
    /// Expired records that were deleted.
    records_purged: usize,
}

/// `GET /-/healthz`
pub(super) fn health() -> Reply {
    reply::json(StatusCode::OK, &Health { status: "ok" })
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
    let store = &open.store;
    let total = store.layout().buckets();
    let mut done = Purged::default();
    while done.buckets < TICK_BUCKETS.min(total) && done.deleted < TICK_DELETES {
        let buckets = store
            .take_buckets(TICK_STEP, &mut invocation.entropy)
            .await?;
        let limits = PurgeLimits {
            nodes: TICK_DELETES - done.deleted,
            grace_ms: open.config.store.purge_grace_ms,
        };
        done += store
            .purge(buckets, limits, invocation.now.as_unix_ms())
            .await?;
    }
    let tick = Tick {
        buckets_visited: done.buckets,
        buckets_total: total,
        buckets_failed: done.failed,
        records_purged: done.deleted,
    };
    Ok(reply::json(StatusCode::OK, &tick))
}
