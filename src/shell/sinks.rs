//! Sinks, for operators: which receivers want no more events, and how to begin again.
//!
//! A receiver that answers 410 is sent nothing any more (Standard Webhooks, "disable the endpoint"): its events become
//! dead letters at once, without a request. `GET /-/sinks` shows which those are, `POST /-/sinks/{name}/enable` takes a
//! receiver up again; its dead letters are then replayed one by one.
//!
//! Whether a sink is enabled is a shared number of the store, odd when it is not. Its other bits are drawn anew for each
//! change, so that no value comes back.

use super::app::Access;
use super::outgoing::Outgoing;
use super::problem::Problem;
use super::reply::{self, Reply};
use super::request::Invocation;
use crate::driver::kv::Kv;
use crate::driver::store::{Store, StoreError};
use crate::machine::{DeliveryStart, Name};
use crate::sorted::Sorted;
use http::StatusCode;
use serde::Serialize;
use uuid::Uuid;

/// The path of all of them.
pub(super) const SINKS_PATH: &str = "/-/sinks";

/// All sinks of the configuration.
#[derive(Serialize)]
struct Sinks<'a> {
    sinks: Sorted<&'a str, State>,
}

/// One sink.
#[derive(Serialize)]
struct State {
    is_enabled: bool,
}

/// Whether events may be sent to this sink.
pub(super) async fn is_enabled<K: Kv>(store: &Store<K>, sink: &Name) -> Result<bool, StoreError> {
    Ok(store.read_shared(&name_of(sink)).await? & 1 == 0)
}

/// Sends no more events to this sink, on the word of a receiver that was sent the event of this record.
pub(super) async fn disable<K: Kv>(
    store: &Store<K>,
    sink: &Name,
    record: Uuid,
    delivery: &DeliveryStart,
) -> Result<(), StoreError> {
    // One attempt at one event has one outcome, so nobody else draws this.
    let attempt = u64::from(delivery.seq) << 32 | u64::from(delivery.attempt);
    let drawn = record.as_u64_pair().1.rotate_left(32) ^ attempt;
    change(store, sink, drawn << 1 | 1).await
}

/// `GET /-/sinks`
pub(super) async fn list<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let open = access.open(&mut invocation.entropy).await?;
    let mut sinks = Sorted::new();
    for name in open.config.sinks.keys() {
        let is_enabled = is_enabled(&open.store, name).await?;
        sinks.insert(name.as_str(), State { is_enabled });
    }
    Ok(reply::json(StatusCode::OK, &Sinks { sinks }))
}

/// `POST /-/sinks/{name}/enable`
pub(super) async fn enable<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    name: &Name,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let drawn = invocation.entropy.next_u64();
    let open = access.open(&mut invocation.entropy).await?;
    change(&open.store, name, drawn << 1).await?;
    Ok(reply::json(StatusCode::OK, &State { is_enabled: true }))
}

async fn change<K: Kv>(store: &Store<K>, sink: &Name, to: u64) -> Result<(), StoreError> {
    let mut change = |number: u64| (number & 1 != to & 1).then_some(to);
    store.change_shared(&name_of(sink), &mut change).await
}

fn name_of(sink: &Name) -> String {
    format!("sink/{sink}")
}
