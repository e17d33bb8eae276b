//! Carrying out an effect: attempts, and the retry budget.

use super::entropy::Entropy;
use super::error::DriverError;
use super::kv::Kv;
use super::operation::Operations;
use super::witness::Fact;
use crate::machine::{
    AttemptStart, BudgetPolicy, Effect, OperationEvent, Outcome, Record, Seed, Timestamp, Verdict,
    Withdrawal, budget,
};

/// Who does the work of an operation.
#[expect(
    async_fn_in_trait,
    reason = "a component is single-threaded: no future here is ever sent to another thread"
)]
pub trait Upstream {
    /// Runs one attempt, to an end before `start.until`.
    async fn attempt(&self, record: &Record, start: &AttemptStart) -> Attempted;

    /// Whether an attempt leaves nothing behind but its outcome. Such a one may run before its record exists, which
    /// saves a write.
    fn is_pure(&self) -> bool;
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempted {
    /// Its outcome.
    pub outcome: Outcome,
    /// When it ended. This layer has no clock, and an attempt is the one thing here that takes long.
    pub ended_at: Timestamp,
}

/// A decision that is in force: the record as it now is, and what is to be done.
pub(super) struct Step {
    pub(super) record: Record,
    pub(super) effect: Effect,
    /// The record that was decided on, where it was another one.
    pub(super) before: Option<Box<Record>>,
    /// Whether the record is to be written, or was.
    pub(super) is_changed: bool,
    /// When it was decided.
    pub(super) now: Timestamp,
}

/// What came of carrying out an effect.
pub(super) enum Acted {
    /// Something happened, at this time, that the machine has to hear of.
    Happened(OperationEvent, Timestamp),
    /// Nothing more is to be done now.
    Settled(Effect),
}

impl<K: Kv, U: Upstream> Operations<'_, K, U> {
    /// Carries out the effect of a step.
    pub(super) async fn act(
        &self,
        step: &Step,
        entropy: &mut Entropy,
    ) -> Result<Acted, DriverError> {
        match &step.effect {
            Effect::Start(start) => {
                let Attempted { outcome, ended_at } =
                    self.upstream.attempt(&step.record, start).await;
                let event = OperationEvent::AttemptFinished {
                    attempt: start.attempt,
                    outcome,
                };
                Ok(Acted::Happened(event, ended_at))
            }
            Effect::Withdraw(question) => {
                let verdict = self.withdraw(step.now, entropy).await?;
                Ok(Acted::Happened(
                    question.clone().answered(verdict),
                    step.now,
                ))
            }
            Effect::Deposit => {
                self.deposit(step.now, entropy).await;
                Ok(Acted::Settled(Effect::Idle(step.record.due())))
            }
            left @ (Effect::Idle(_)
            | Effect::Deliver(_)
            | Effect::Stale
            | Effect::Refuse(_)
            | Effect::Expired) => Ok(Acted::Settled(left.clone())),
        }
    }

    async fn withdraw(
        &self,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Verdict, DriverError> {
        let policy = self.budget_policy();
        let mut verdict = Verdict::Refused;
        self.store
            .change_shared(self.budget_name, &mut |word| match budget::withdraw(
                word,
                now,
                Seed::new(entropy.next_u64()),
                policy,
            ) {
                Withdrawal::Granted { word } => {
                    verdict = Verdict::Granted;
                    Some(word)
                }
                Withdrawal::Refused { repair } => {
                    verdict = Verdict::Refused;
                    repair
                }
            })
            .await?;
        if verdict == Verdict::Refused {
            let budget = self.budget_name;
            self.witness.note(Fact::BudgetRefused { budget }, now);
        }
        Ok(verdict)
    }

    /// Deposits a success. The result is in the store already, so a failure here is no reason to withhold it: the
    /// budget is then a fraction of a token poorer. So it is where the store is too slow.
    async fn deposit(&self, now: Timestamp, entropy: &mut Entropy) {
        if self.store.check_pace().is_err() {
            return;
        }
        let policy = self.budget_policy();
        let mut deposit =
            |word| budget::deposit_success(word, now, Seed::new(entropy.next_u64()), policy);
        let deposited = self
            .store
            .change_shared(self.budget_name, &mut deposit)
            .await;
        if let Err(error) = deposited {
            self.witness.note(Fact::StoreFailed(&error), now);
        }
    }

    fn budget_policy(&self) -> &BudgetPolicy {
        let policy = self.policy.settings().retry_budget.as_ref();
        policy.expect("the machine speaks of a budget only where the policy has one")
    }
}
