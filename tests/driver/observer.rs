//! The observer looks at the store itself, after each call that may have written: what one record became of another.

use std::collections::BTreeMap;

use reprise::machine::{AttemptEnd, Delivery, Record, State, stored};

use crate::model::Model;
use crate::setting::Kind;
use crate::upstream::Outside;

/// Where a node's payload begins; see the store's `node` module.
const NODE_HEAD_BYTES: usize = 112;

/// The records as they were last seen, by the key of their node.
#[derive(Debug, Default)]
pub struct Observer {
    seen: BTreeMap<String, (Vec<u8>, Record)>,
    /// Retries that were scheduled or that followed a lost attempt.
    pub retries: u64,
    /// Those of them that followed a lost attempt.
    pub takeovers: u64,
    pub changes: u64,
}

impl Observer {
    /// Looks at a node that may have been written. Says what is wrong with the change, if anything.
    pub fn look(&mut self, model: &Model, key: &str, outside: &Outside) -> Result<(), String> {
        let Some(bytes) = model.data.get(key) else {
            self.seen.remove(key);
            return Ok(());
        };
        let payload = &bytes[NODE_HEAD_BYTES..];
        if self.seen.get(key).is_some_and(|(old, _)| old == payload) {
            return Ok(());
        }
        if payload.starts_with(br#"{"v":1,"next":"#) {
            // The walk's own document, which is no record.
            return Ok(());
        }
        let after = stored::decode(payload).map_err(|error| format!("{key}: {error}"))?;
        if let Some((_, before)) = self.seen.get(key) {
            self.changes += 1;
            let is_retry = is_retry(before, &after);
            self.retries += u64::from(is_retry);
            self.takeovers += u64::from(is_retry && matches!(after.state(), State::Running(_)));
            follows(before, &after)
                .map_err(|rule| format!("broken: {rule}\n{before:#?}\n{after:#?}"))?;
        }
        is_true(&after, outside).map_err(|rule| format!("broken: {rule}\n{after:#?}"))?;
        self.seen.insert(key.to_owned(), (payload.to_vec(), after));
        Ok(())
    }

    /// The records that are there.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.seen.values().map(|(_, record)| record)
    }
}

/// Whether a change schedules a retry, or starts one after a lost attempt.
fn is_retry(before: &Record, after: &Record) -> bool {
    let was_running = matches!(before.state(), State::Running(_));
    let is_new = before.state() != after.state();
    was_running && is_new && matches!(after.state(), State::Waiting { .. } | State::Running(_))
}

/// Whether the last attempt that has ended did so as the record says.
fn is_true(record: &Record, outside: &Outside) -> Result<(), &'static str> {
    let Some(last) = record.history().entries().last() else {
        return Ok(());
    };
    let said = outside
        .answers
        .get(&(record.identity().id, last.attempt))
        .copied();
    let is_true = match last.outcome {
        AttemptEnd::Succeeded => said == Some(true),
        AttemptEnd::Retrying { .. } | AttemptEnd::Failed { .. } => said == Some(false),
        AttemptEnd::Lost | AttemptEnd::Abandoned => true,
    };
    // A pure attempt that failed may have run before its record was there, and again for another client.
    if is_true || outside.kind == Kind::Pure {
        Ok(())
    } else {
        Err("an outcome is that of the attempt it is told of")
    }
}

/// What one swap may make of a record.
fn follows(before: &Record, after: &Record) -> Result<(), &'static str> {
    if before.origin() != after.origin() {
        return Err("the origin never changes");
    }
    let more = after
        .progress()
        .attempts
        .checked_sub(before.progress().attempts);
    if !matches!(more, Some(0 | 1)) {
        return Err("attempts are counted one by one");
    }
    let is_lost =
        |old: &&Delivery| after.outbox().find(old.seq).is_none() && old.state.due().is_some();
    if before.outbox().deliveries().iter().any(|old| is_lost(&old)) {
        return Err("no event is lost before it is settled");
    }
    match (before.state(), after.state()) {
        // An operator asked for it.
        (State::Failed { .. }, State::Running(_)) if more == Some(1) => Ok(()),
        (State::Done { .. } | State::Failed { .. } | State::Cancelled { .. }, state)
            if state != before.state() =>
        {
            Err("a state that is terminal absorbs")
        }
        (State::Running(old), State::Running(new))
            if old != new && new.started_at < old.lease_until =>
        {
            Err("nobody takes over before the lease is over by his clock")
        }
        (State::Queued { .. } | State::Waiting { .. }, State::Done { .. }) => {
            Err("an outcome counts from a running attempt alone")
        }
        (_, State::Running(new)) if more == Some(1) && new.attempt != after.progress().attempts => {
            Err("the attempt that runs is the one that was counted")
        }
        (_, state) if more == Some(1) && !matches!(state, State::Running(_)) => {
            Err("an attempt is counted where it starts")
        }
        _ => Ok(()),
    }
}
