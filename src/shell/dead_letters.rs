//! Dead letters, for operators: events that were given up, until somebody has them delivered after all, or forgets them.
//!
//! `GET /-/dead-letters` shows them page by page: a page looks at a bounded part of the store, so it may be empty and
//! still not the last. `POST /-/dead-letters/{id}/{seq}/replay` has one delivered again, `DELETE /-/dead-letters/{id}/{seq}`
//! drops it.

use super::app::{Access, Undelivered};
use super::operation_view::time;
use super::outgoing::Outgoing;
use super::overview::PAGE_LIMITS;
use super::problem::Problem;
use super::record_view::LastError;
use super::reply::{self, Reply};
use super::request::Invocation;
use super::worker::Worker;
use crate::driver::Settled;
use crate::driver::inbox::is_done_event;
use crate::driver::kv::Kv;
use crate::driver::store::{Node, Place, Walk};
use crate::json::raw::{self, Object};
use crate::machine::{Delivery, DeliveryEvent, DeliveryState, Effect, Record, Refusal, stored};
use uuid::Uuid;

/// The path of all of them.
pub(super) const LETTERS_PATH: &str = "/-/dead-letters";
/// Letters on one page, unless the last record has more: each takes half a kilobyte.
const PAGE_LETTERS: usize = 200;

/// One dead letter, by its record and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) id: Uuid,
    pub(super) seq: u32,
}

/// What is to become of a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Replay,
    Drop,
}

impl Letter {
    /// Reads what stands behind [`LETTERS_PATH`]: `/{id}/{seq}`, and whether `/replay` follows.
    pub(super) fn parse(rest: &str) -> Option<(Self, bool)> {
        let rest = rest.strip_prefix('/')?;
        let (rest, is_replay) = match rest.strip_suffix("/replay") {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let (id, seq) = rest.split_once('/')?;
        let id = Uuid::try_parse(id).ok()?;
        let seq = seq.parse().ok()?;
        Some((Self { id, seq }, is_replay))
    }
}

/// `GET /-/dead-letters?from=…`
pub(super) async fn list<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    from: Place,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    let open = access.open(&mut invocation.entropy).await?;
    let now_ms = invocation.now.as_unix_ms();
    let mut dead_letters: Vec<Object> = Vec::new();
    let mut show = |node: &Node| {
        if node.is_live(now_ms) && !is_done_event(node) {
            // A record that cannot be read is a tick's to count.
            if let Ok(record) = stored::decode(node.payload()) {
                let deliveries = record.outbox().deliveries().iter();
                let dead = deliveries.filter(|one| matches!(one.state, DeliveryState::Dead { .. }));
                dead_letters.extend(dead.map(|delivery| shown(&record, delivery)));
            }
        }
        if dead_letters.len() < PAGE_LETTERS {
            Walk::On
        } else {
            Walk::Stop
        }
    };
    let page = open
        .store
        .page(from, PAGE_LIMITS, now_ms, &mut show)
        .await?;
    let next = page.next.map(|place| place.to_string());
    // Where the next page begins; none behind the last one.
    let mut view = Object::default();
    view.add_raw("dead_letters", &raw::list(dead_letters));
    view.add("next", &next);
    Ok(reply::object(view))
}

/// Decides on a dead letter.
pub(super) async fn decide<K: Kv, O: Outgoing>(
    access: Access<'_, K, O>,
    letter: Letter,
    fate: Fate,
    mut invocation: Invocation,
) -> Result<Reply, Problem> {
    const NONE: Problem = Problem::NotFound("there is no such event");
    let open = access.open(&mut invocation.entropy).await?;
    let now = invocation.now;
    let (_, record) = open.find(letter.id, now).await?.ok_or(NONE)?;
    let operation = open.config.operation(&record.identity().operation);
    let operation =
        operation.ok_or(Problem::NotFound("the configuration has no such operation"))?;
    let worker = Worker::new(&open, operation, now);
    let event = match fate {
        Fate::Replay => DeliveryEvent::ReplayAsked,
        Fate::Drop => DeliveryEvent::DropAsked,
    };
    let operations = open.operations(operation, &worker);
    let told = operations.tell_delivery(letter.id, letter.seq, event, now, &mut invocation.entropy);
    let Settled::At { record, effect, .. } = told.await? else {
        return Err(NONE);
    };
    match effect {
        Effect::Refuse(Refusal::NoSuchEvent) => return Err(NONE),
        Effect::Refuse(_) => return Err(Problem::NotDead),
        Effect::Idle(_)
        | Effect::Start(_)
        | Effect::Withdraw(_)
        | Effect::Deposit
        | Effect::Deliver(_)
        | Effect::Stale
        | Effect::Expired => {}
    }
    let delivery = record.outbox().find(letter.seq).ok_or(NONE)?;
    let mut reply = reply::object(shown(&record, delivery));
    if fate == Fate::Replay && open.config.delivery.is_after_answer {
        reply.extensions_mut().insert(Undelivered(letter.id));
    }
    Ok(reply)
}

/// An event as operators see it.
pub(super) fn shown(record: &Record, delivery: &Delivery) -> Object {
    let (status, error, expires_at) = match &delivery.state {
        DeliveryState::Pending { error, .. } => ("pending", error.as_ref(), None),
        DeliveryState::Delivering { .. } => ("delivering", None, None),
        DeliveryState::Delivered { .. } => ("delivered", None, None),
        DeliveryState::Dead { error, expires_at } => ("dead", error.as_ref(), Some(*expires_at)),
        DeliveryState::Dropped { .. } => ("dropped", None, None),
    };
    let id = record.identity().id;
    let mut view = Object::default();
    view.add("record", &id);
    view.add("seq", &delivery.seq);
    view.add("event_id", &delivery.event_id(id));
    view.add("operation", &record.identity().operation);
    view.add("type", delivery.event.kind());
    view.add("sink", delivery.event.sink());
    view.add("status", &status);
    view.add("attempts", &delivery.attempts);
    view.add("occurred_at", &time(delivery.occurred_at));
    if let Some(due) = delivery.state.due() {
        view.add("due_at", &time(due.at));
    }
    if let Some(at) = expires_at {
        view.add("expires_at", &time(at));
    }
    if let Some(error) = error {
        view.add("last_error", &LastError::of(error));
    }
    view
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_named_by_its_record_and_its_number() {
        const ID: &str = "01a228f0-9844-7adf-b4ef-2ac6a86d4a79";
        let letter = Letter {
            id: Uuid::try_parse(ID).expect("an id"),
            seq: 3,
        };
        let parse = |rest: String| Letter::parse(&rest);
        assert_eq!(parse(format!("/{ID}/3")), Some((letter, false)));
        assert_eq!(parse(format!("/{ID}/3/replay")), Some((letter, true)));
        for rest in [
            String::new(),
            "/".to_owned(),
            format!("/{ID}"),
            format!("/{ID}/"),
            format!("/{ID}/x"),
            format!("/{ID}/-1"),
            format!("/{ID}/4294967296"),
            format!("/{ID}/3/again"),
            "/x/3".to_owned(),
        ] {
            assert_eq!(parse(rest.clone()), None, "{rest}");
        }
    }
}
