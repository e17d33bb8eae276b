//! What can happen to a record.

use super::draft::EventDrafts;
use super::failure::AttemptError;
use super::hex::Digest;
use super::message::OperationResult;
use super::policy::Wait;
use super::time::Millis;

/// One thing that happened, to the operation or to an event of its outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// To the operation.
    Operation(OperationEvent),
    /// To its outbox.
    Outbox(OutboxEvent),
}

/// What can happen to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationEvent {
    /// A client asked for the operation under its key: the first time, or as a repeat.
    Submitted {
        /// The fingerprint of this very request.
        fingerprint: Digest,
    },
    /// Somebody came by: a poll, or a tick. It may be time for the next step.
    Woken,
    /// An attempt ended.
    AttemptFinished {
        /// The attempt's number.
        attempt: u32,
        /// What it came to.
        outcome: Outcome,
    },
    /// The retry budget answered a question that an earlier decision asked.
    BudgetAnswered(Answer),
    /// Somebody who may do so called the operation off.
    CancelAsked,
    /// An operator asked for an attempt now: of a failed operation, which is taken up again, or of one that waits.
    RetryAsked,
}

/// What an attempt came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has the operation's result.
    Succeeded {
        /// What every repeat gets.
        result: OperationResult,
        /// What the world is to be told.
        events: EventDrafts,
    },
    /// It failed before any effect, in a way that may pass.
    Retryable {
        /// What went wrong.
        error: AttemptError,
        /// When the upstream wants to be asked again, if it said so.
        hint: Option<Millis>,
    },
    /// It failed in a way that another attempt cannot help.
    Terminal {
        /// What went wrong.
        error: AttemptError,
    },
}

/// A retry that waits for the budget's word. Only [`super::decide()`] asks, so a retry is charged when it is scheduled
/// and at no other time. A question that was answered can be put again after a lost swap, without a second charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub(super) attempt: u32,
    pub(super) cause: RetryCause,
}

impl Question {
    /// The event that takes the budget's word back to the machine.
    pub fn answered(self, verdict: Verdict) -> OperationEvent {
        OperationEvent::BudgetAnswered(Answer {
            question: self,
            verdict,
        })
    }
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub(super) question: Question,
    pub(super) verdict: Verdict,
}

/// What the budget says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A token was withdrawn for this retry.
    Granted,
    /// There was none.
    Refused,
}

/// Why an operation wants a retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RetryCause {
    /// The attempt failed. The wait is drawn before the budget is asked, so that no token is spent on a retry that
    /// the total deadline forbids.
    Failed { error: AttemptError, wait: Wait },
    /// The attempt was lost.
    Lost,
}

/// What can happen to the events of an outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxEvent {
    /// The relay came by: deliveries may be due.
    Woken,
    /// Something happened to one event.
    Delivery {
        /// The event's number.
        seq: u32,
        /// What happened.
        event: DeliveryEvent,
    },
}

/// What can happen to one event of an outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryEvent {
    /// A delivery ended.
    Finished {
        /// The attempt's number.
        attempt: u32,
        /// What it came to.
        outcome: DeliveryOutcome,
    },
    /// An operator asked for a dead letter to be delivered after all.
    ReplayAsked,
    /// An operator asked for a dead letter to be forgotten.
    DropAsked,
}

/// What a delivery came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver said that it has the event.
    Accepted,
    /// It failed in a way that may pass.
    Retryable {
        /// What went wrong.
        error: AttemptError,
        /// When the receiver wants to be asked again, if it said so.
        hint: Option<Millis>,
    },
    /// The receiver will never take it.
    Rejected {
        /// What went wrong.
        error: AttemptError,
    },
}
