//! The second machine: it moves the deliveries of a record's outbox, whatever the operation itself is doing.
//!
//! ```text
//!            ┌────────────── retryable ──────────────┐
//!            ▼                                       │
//! add ──▶ Pending ── woken, due ──▶ Delivering ──────┤
//!            ▲                       │   ▲  │        ├── accepted ──▶ Delivered
//!            │                       └───┘  │        │
//!            │              woken, lease over        └── rejected, or attempts exhausted
//!            │                                                      │
//!            └──────────── replay ──────────── Dead ◀───────────────┘
//!                                               └── drop ──▶ Dropped
//! ```
//!
//! Delivery is at least once: the mark is written after the receiver's word, so a crash in between repeats the
//! delivery under the same event id.

use super::decide::Step;
use super::decision::{Decision, DeliveryStart, Effect, Refusal};
use super::event::{DeliveryEvent, DeliveryOutcome, OutboxEvent};
use super::failure::AttemptError;
use super::outbox::{Delivery, DeliveryState};
use super::time::{Due, DueReason, Millis};

/// Decides what `event` means for the outbox.
pub(super) fn decide(step: &Step<'_>, event: OutboxEvent) -> Decision {
    match event {
        OutboxEvent::Woken => step.start_delivery(),
        OutboxEvent::Delivery { seq, event } => step.one_delivery(seq, event),
    }
}

/// What one delivery comes to.
enum Move {
    /// It takes this state.
    To(DeliveryState),
    /// The report came from a delivery that is no longer the event's.
    Stale,
    /// What was asked for is not possible.
    Refuse(Refusal),
}

impl Step<'_> {
    /// Starts the delivery that has been due for longest. One at a time, so that its lease begins when it does; the
    /// relay comes by again for the next one. One that was lost too often becomes a dead letter instead.
    fn start_delivery(&self) -> Decision {
        let mut next = self.record.clone();
        let Some(delivery) = next.outbox.longest_due(self.now) else {
            return self.idle();
        };
        let policy = &self.settings().delivery;
        if delivery.attempts_in_cycle >= policy.max_attempts {
            delivery.state = self.dead(None);
            return Decision::write_and_wait(next);
        }
        delivery.attempts = delivery.attempts.saturating_add(1);
        delivery.attempts_in_cycle = delivery.attempts_in_cycle.saturating_add(1);
        let (seq, attempt) = (delivery.seq, delivery.attempts);
        delivery.state = DeliveryState::Delivering {
            attempt,
            lease_until: self.now.after(policy.lease_ms),
        };
        let until = Due::new(self.now.after(policy.timeout_ms), DueReason::AttemptTimeout);
        Decision::write(
            next,
            Effect::Deliver(DeliveryStart {
                seq,
                attempt,
                until,
            }),
        )
    }

    fn one_delivery(&self, seq: u32, event: DeliveryEvent) -> Decision {
        let mut next = self.record.clone();
        let Some(delivery) = next.outbox.find_mut(seq) else {
            return Decision::refuse(Refusal::NoSuchEvent);
        };
        let is_replay = event == DeliveryEvent::ReplayAsked;
        match self.moved(delivery, event) {
            Move::To(state) => delivery.state = state,
            Move::Stale => return Decision::stale(),
            Move::Refuse(refusal) => return Decision::refuse(refusal),
        }
        if is_replay {
            delivery.attempts_in_cycle = 0;
        }
        Decision::write_and_wait(next)
    }

    /// The table of one delivery.
    #[expect(
        clippy::match_same_arms,
        reason = "a table has one line for each case, also where two lines agree"
    )]
    fn moved(&self, delivery: &Delivery, event: DeliveryEvent) -> Move {
        use DeliveryEvent::{DropAsked, Finished, ReplayAsked};
        use DeliveryState::{Dead, Delivered, Delivering, Dropped, Pending};

        match (&delivery.state, event) {
            (Pending { .. }, Finished { .. }) => Move::Stale,
            (Pending { .. }, ReplayAsked) => Move::Refuse(Refusal::NotDead),
            (Pending { .. }, DropAsked) => Move::Refuse(Refusal::NotDead),

            (Delivering { .. }, Finished { attempt, outcome }) => {
                self.finish_delivery(delivery, attempt, outcome)
            }
            (Delivering { .. }, ReplayAsked) => Move::Refuse(Refusal::NotDead),
            (Delivering { .. }, DropAsked) => Move::Refuse(Refusal::NotDead),

            (Delivered { .. }, Finished { .. }) => Move::Stale,
            (Delivered { .. }, ReplayAsked) => Move::Refuse(Refusal::NotDead),
            (Delivered { .. }, DropAsked) => Move::Refuse(Refusal::NotDead),

            (Dead { .. }, Finished { .. }) => Move::Stale,
            (Dead { error, .. }, ReplayAsked) => Move::To(Pending {
                due: self.now,
                error: error.clone(),
            }),
            (Dead { .. }, DropAsked) => Move::To(Dropped { at: self.now }),

            (Dropped { .. }, Finished { .. }) => Move::Stale,
            (Dropped { .. }, ReplayAsked) => Move::Refuse(Refusal::NotDead),
            (Dropped { .. }, DropAsked) => Move::Refuse(Refusal::NotDead),
        }
    }

    /// Takes a delivery's outcome, if the delivery is still the one that runs, which is the last one started.
    fn finish_delivery(&self, delivery: &Delivery, attempt: u32, outcome: DeliveryOutcome) -> Move {
        if attempt != delivery.attempts {
            return Move::Stale;
        }
        Move::To(match outcome {
            DeliveryOutcome::Accepted => DeliveryState::Delivered { at: self.now },
            DeliveryOutcome::Rejected { error } => self.dead(Some(error)),
            DeliveryOutcome::Retryable { error, hint } => self.deliver_again(delivery, error, hint),
        })
    }

    fn deliver_again(
        &self,
        delivery: &Delivery,
        error: AttemptError,
        hint: Option<Millis>,
    ) -> DeliveryState {
        let policy = &self.settings().delivery;
        let failures = delivery.attempts_in_cycle;
        if failures >= policy.max_attempts {
            return self.dead(Some(error));
        }
        let wait = policy.wait(failures, hint, self.entropy);
        DeliveryState::Pending {
            due: self.now.after(wait.delay_ms),
            error: Some(error),
        }
    }

    fn dead(&self, error: Option<AttemptError>) -> DeliveryState {
        DeliveryState::Dead {
            error,
            expires_at: self.expires_at(),
        }
    }
}
