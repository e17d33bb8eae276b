//! The one function that moves a record.
//!
//! [`decide`] is a table: each pair of a state and an event has its line. What a line means in detail is in `attempt`
//! for attempts and in `relay` for the outbox. All arguments are values, so the same arguments give the same decision.
//!
//! Nothing here asks who may do what. Whoever passes an event on has checked that.

use super::decision::{Decision, Effect, Refusal};
use super::event::{Event, OperationEvent};
use super::history::AttemptEnd;
use super::policy::{Policy, PolicySettings};
use super::record::{Progress, Record};
use super::relay;
use super::seed::Seed;
use super::state::{Running, State};
use super::time::Timestamp;

/// Decides what `event` means for `record` at `now`.
///
/// `entropy` is drawn anew for each call. `policy` is that of the record's operation; a record that was created under
/// an older policy goes on under the current one, except for its total deadline, which was fixed when its time began.
pub fn decide(
    record: &Record,
    event: Event,
    now: Timestamp,
    entropy: Seed,
    policy: &Policy,
) -> Decision {
    if record.is_expired(now) {
        return Decision::keep(Effect::Expired);
    }
    let step = Step {
        record,
        now,
        entropy,
        policy,
    };
    match event {
        Event::Operation(event) => step.operation(event),
        Event::Outbox(event) => relay::decide(&step, event),
    }
}

/// One call of [`decide`]: what every line of the table may look at.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) record: &'a Record,
    pub(super) now: Timestamp,
    pub(super) entropy: Seed,
    policy: &'a Policy,
}

impl Step<'_> {
    /// The table of an operation.
    #[expect(
        clippy::match_same_arms,
        reason = "a table has one line for each case, also where two lines agree"
    )]
    fn operation(self, event: OperationEvent) -> Decision {
        use OperationEvent::{
            AttemptFinished, BudgetAnswered, CancelAsked, RetryAsked, Submitted, Woken,
        };
        use State::{Cancelled, Done, Failed, Queued, Running, Waiting};

        // A key that is used for other content is told so in every state, before anything else is looked at.
        if let Submitted { fingerprint } = &event
            && *fingerprint != self.record.identity().fingerprint
        {
            return Decision::refuse(Refusal::Mismatch);
        }
        match (&self.record.state, event) {
            (Queued { due }, Submitted { .. }) => self.start_when(*due),
            (Queued { due }, Woken) => self.start_when(*due),
            (Queued { .. }, AttemptFinished { .. }) => Decision::stale(),
            (Queued { .. }, BudgetAnswered(_)) => Decision::stale(),
            (Queued { .. }, CancelAsked) => self.cancel(),
            (Queued { .. }, RetryAsked) => Decision::refuse(Refusal::NotToRetry),

            (Running(running), Submitted { .. }) => self.check_lease(*running),
            (Running(running), Woken) => self.check_lease(*running),
            (Running(running), AttemptFinished { attempt, outcome }) => {
                self.finish(*running, attempt, outcome)
            }
            (Running(running), BudgetAnswered(answer)) => self.go_on_with_budget(*running, answer),
            (Running(running), CancelAsked) => self.cancel_running(*running),
            (Running(_), RetryAsked) => Decision::refuse(Refusal::NotToRetry),

            (Waiting { retry_at, .. }, Submitted { .. }) => self.start_when(*retry_at),
            (Waiting { retry_at, .. }, Woken) => self.start_when(*retry_at),
            (Waiting { .. }, AttemptFinished { .. }) => Decision::stale(),
            (Waiting { .. }, BudgetAnswered(_)) => Decision::stale(),
            (Waiting { .. }, CancelAsked) => self.cancel(),
            (Waiting { .. }, RetryAsked) => self.start_when(self.now),

            (Done { .. }, Submitted { .. }) => self.idle(),
            (Done { .. }, Woken) => self.idle(),
            (Done { .. }, AttemptFinished { .. }) => Decision::stale(),
            (Done { .. }, BudgetAnswered(_)) => Decision::stale(),
            (Done { .. }, CancelAsked) => Decision::refuse(Refusal::AlreadyEnded),
            (Done { .. }, RetryAsked) => Decision::refuse(Refusal::NotToRetry),

            (Failed { .. }, Submitted { .. }) => self.idle(),
            (Failed { .. }, Woken) => self.idle(),
            (Failed { .. }, AttemptFinished { .. }) => Decision::stale(),
            (Failed { .. }, BudgetAnswered(_)) => Decision::stale(),
            (Failed { .. }, CancelAsked) => Decision::refuse(Refusal::AlreadyEnded),
            (Failed { .. }, RetryAsked) => self.take_up_again(),

            (Cancelled { .. }, Submitted { .. }) => self.idle(),
            (Cancelled { .. }, Woken) => self.idle(),
            (Cancelled { .. }, AttemptFinished { .. }) => Decision::stale(),
            (Cancelled { .. }, BudgetAnswered(_)) => Decision::stale(),
            // What was asked for is so already.
            (Cancelled { .. }, CancelAsked) => self.idle(),
            (Cancelled { .. }, RetryAsked) => Decision::refuse(Refusal::NotToRetry),
        }
    }

    pub(super) fn settings(&self) -> &PolicySettings {
        self.policy.settings()
    }

    pub(super) fn idle(&self) -> Decision {
        Decision::keep(Effect::Idle(self.record.due()))
    }

    /// Calls the operation off while no attempt runs. No attempt is spent.
    fn cancel(&self) -> Decision {
        self.cancelled(self.record.clone())
    }

    /// Calls the operation off under a running attempt, whose outcome will then be stale. Whether it took effect is
    /// not known, and the history says so.
    fn cancel_running(&self, running: Running) -> Decision {
        self.cancelled(self.record.close(running, self.now, AttemptEnd::Abandoned))
    }

    fn cancelled(&self, mut next: Record) -> Decision {
        next.state = State::Cancelled {
            expires_at: self.expires_at(),
        };
        next.outbox
            .add(&self.settings().events_on_cancelled, self.now);
        Decision::write_and_wait(next)
    }

    /// A fresh start for a failed operation: new cycles and a new total deadline, while `attempts` goes on counting.
    /// A person asked for it, so the budget is not charged, and the attempt starts at once.
    fn take_up_again(&self) -> Decision {
        let outbox = self.record.outbox.without_settled();
        if !outbox.has_room() {
            return Decision::refuse(Refusal::OutboxFull);
        }
        let mut next = self.record.clone();
        next.outbox = outbox;
        next.deadline = self.policy.deadline_from(self.now);
        self.start(next, Progress::fresh(self.record.progress.attempts))
    }

    /// When a record that ends now may be forgotten.
    pub(super) fn expires_at(&self) -> Timestamp {
        self.now.after(self.settings().retention_ms)
    }
}
