//! The one durable record of an operation.

use std::sync::Arc;

use serde::Serialize;

use super::decision::UpstreamKey;
use super::failure::AttemptError;
use super::history::{AttemptEnd, AttemptEntry, History};
use super::origin::{Identity, Origin};
use super::outbox::Outbox;
use super::policy::Policy;
use super::state::{Running, State};
use super::time::{Due, DueReason, Timestamp};
use reprise_json::cursor::from_object;

/// What is known of one operation. Only [`super::decide()`] makes a changed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    origin: Arc<Origin>,
    pub(super) state: State,
    pub(super) progress: Progress,
    /// When the operation as a whole has had its time. `None` is no deadline; an instant that has come is one.
    pub(super) deadline: Option<Timestamp>,
    /// The last error that an attempt ended with. A lost attempt has none and leaves it as it was.
    pub(super) last_error: Option<AttemptError>,
    pub(super) history: History,
    pub(super) outbox: Outbox,
}

/// How much work has gone into an operation. Attempts are counted where they start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Attempts that were started, over all cycles and restarts.
    pub attempts: u32,
    /// The cycle since the last fresh start, from 1. A lost attempt starts the next one.
    pub cycle: u32,
    /// Attempts that were started in this cycle.
    pub attempts_in_cycle: u32,
}

impl Progress {
    /// Nothing done since a fresh start.
    pub(super) fn fresh(attempts: u32) -> Self {
        Self {
            attempts,
            cycle: 1,
            attempts_in_cycle: 0,
        }
    }

    /// One more attempt in the same cycle.
    pub(super) fn next_attempt(self) -> Self {
        Self {
            attempts: self.attempts.saturating_add(1),
            attempts_in_cycle: self.attempts_in_cycle.saturating_add(1),
            ..self
        }
    }

    /// A new cycle without an attempt.
    pub(super) fn next_cycle(self) -> Self {
        Self {
            cycle: self.cycle.saturating_add(1),
            attempts_in_cycle: 0,
            ..self
        }
    }
}

impl Record {
    /// The record of an operation that was just submitted. It takes effect when it is created in the store.
    pub fn new(origin: Origin, policy: &Policy) -> Self {
        let now = origin.created_at;
        Self {
            state: State::Queued {
                due: now.after(policy.settings().start_delay_ms),
            },
            progress: Progress::fresh(0),
            deadline: policy.deadline_from(now),
            last_error: None,
            history: History::default(),
            outbox: Outbox::default(),
            origin: Arc::new(origin),
        }
    }

    /// Who asked for what. Nothing changes it.
    pub fn identity(&self) -> &Identity {
        &self.origin.identity
    }

    /// What was fixed at submission. Nothing changes it.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Where the operation stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How much work has gone into it.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// When the operation as a whole has had its time; `None` when it has no such bound.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// The last error that an attempt ended with.
    pub fn last_error(&self) -> Option<&AttemptError> {
        self.last_error.as_ref()
    }

    /// The last attempts.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The events to deliver.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// The Idempotency-Key for the upstream, the same on every attempt.
    pub fn upstream_key(&self) -> UpstreamKey {
        UpstreamKey(self.identity().id)
    }

    /// When something is to be done next.
    pub fn due(&self) -> Due {
        match (self.outbox.due(), self.expires_at()) {
            // An event that is left holds the record beyond its own expiry.
            (Some(delivery), _) if self.state.is_terminal() => delivery,
            (Some(delivery), _) => self.state.due().earlier(delivery),
            (None, Some(at)) => Due::new(at, DueReason::Expiry),
            (None, None) => self.state.due(),
        }
    }

    /// From when on the record is as good as absent. `None` while it still has work: an operation that has not ended,
    /// or an event that has not been delivered, keeps its record beyond the retention. A dead letter is kept for a
    /// retention of its own.
    pub fn expires_at(&self) -> Option<Timestamp> {
        if !self.state.is_terminal() || self.outbox.due().is_some() {
            return None;
        }
        let own = self.state.due().at;
        Some(
            self.outbox
                .dead_letters_until()
                .map_or(own, |dead| dead.max(own)),
        )
    }

    /// Whether the record is to be treated as absent.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|at| at.is_reached(now))
    }

    /// What to tell a client that asks when to come back: seconds, rounded up, at least 1; `None` when the operation
    /// has ended. Another instance's clock may be ahead, so what it wrote is never trusted beyond what the policy allows.
    pub fn retry_after_s(&self, now: Timestamp, policy: &Policy) -> Option<u64> {
        let settings = policy.settings();
        let (at, longest) = match &self.state {
            State::Queued { due } => (*due, settings.start_delay_ms),
            State::Running(running) => (running.lease_until, settings.attempts.lease_ms),
            State::Waiting { retry_at, .. } => (*retry_at, settings.attempts.longest_wait()),
            State::Done { .. } | State::Failed { .. } | State::Cancelled { .. } => return None,
        };
        Some(at.since(now).min(longest).as_secs_rounded_up().max(1))
    }

    /// The record with its running attempt closed: one more entry in the history.
    pub(super) fn close(&self, running: Running, now: Timestamp, outcome: AttemptEnd) -> Self {
        let mut next = self.clone();
        match &outcome {
            AttemptEnd::Retrying { error, .. } | AttemptEnd::Failed { error, .. } => {
                next.last_error = Some(error.clone());
            }
            AttemptEnd::Succeeded | AttemptEnd::Lost | AttemptEnd::Abandoned => {}
        }
        let Running {
            attempt,
            started_at,
            ..
        } = running;
        next.history.push(AttemptEntry {
            attempt,
            started_at,
            ended_at: now,
            outcome,
        });
        next
    }

    /// What is wrong with a record that was read from a store, if anything.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let Progress {
            attempts,
            cycle,
            attempts_in_cycle,
        } = self.progress;
        if self.origin.input.check().is_err() {
            return Some("the input is over its limits");
        }
        if attempts_in_cycle > attempts || cycle == 0 {
            return Some("attempts and cycles do not add up");
        }
        if let State::Running(running) = &self.state
            && (running.attempt != attempts || attempts_in_cycle == 0)
        {
            return Some("the running attempt is not the last one that was started");
        }
        if self
            .last_error
            .as_ref()
            .is_some_and(|error| !error.is_bounded())
        {
            return Some("an error's detail is too large");
        }
        self.history
            .problem(attempts)
            .or_else(|| self.outbox.problem())
    }
}

from_object!(Record {
    origin,
    state,
    progress,
    deadline,
    last_error,
    history,
    outbox
});

from_object!(Progress {
    attempts,
    cycle,
    attempts_in_cycle
});
