//! The life of an attempt: start, outcome, loss, and whether there is another one.
//!
//! The order of the questions is the same everywhere: is there a further attempt by count, is there time for it, is
//! there budget for it. The budget comes last because asking it spends.

use super::decide::Step;
use super::decision::{AttemptStart, Decision, Effect};
use super::draft::EventDrafts;
use super::event::{Answer, Outcome, Question, RetryCause, Verdict};
use super::failure::{AttemptError, EndReason};
use super::history::AttemptEnd;
use super::message::OperationResult;
use super::policy::{OnLostAttempt, Wait};
use super::record::{Progress, Record};
use super::state::{Running, State};
use super::time::{Due, DueReason, Millis, Timestamp};

impl Step<'_> {
    /// Starts the next attempt of the cycle if its time has come. A wait that is still on costs nothing, however
    /// often somebody comes by.
    pub(super) fn start_when(&self, due: Timestamp) -> Decision {
        if !due.is_reached(self.now) {
            return self.idle();
        }
        if self.has_deadline_passed(self.now) {
            return self.fail(self.record.clone(), EndReason::DeadlinePassed);
        }
        self.start(self.record.clone(), self.record.progress)
    }

    /// Looks whether the holder of the running attempt is given up.
    pub(super) fn check_lease(&self, running: Running) -> Decision {
        if !running.lease_until.is_reached(self.now) {
            return self.idle();
        }
        let lost = || self.record.close(running, self.now, AttemptEnd::Lost);
        match self.settings().on_lost_attempt {
            OnLostAttempt::Fail => self.fail(lost(), EndReason::AttemptLost),
            OnLostAttempt::Retry if self.record.progress.cycle >= self.settings().max_cycles => {
                self.fail(lost(), EndReason::CyclesExhausted)
            }
            OnLostAttempt::Retry if self.has_deadline_passed(self.now) => {
                self.fail(lost(), EndReason::DeadlinePassed)
            }
            OnLostAttempt::Retry => self.retry(running, RetryCause::Lost),
        }
    }

    /// Takes an attempt's outcome, if the attempt is still the record's. That its lease has run out does not matter
    /// as long as nobody took over: the outcome is true.
    pub(super) fn finish(&self, running: Running, attempt: u32, outcome: Outcome) -> Decision {
        if attempt != running.attempt {
            return Decision::stale();
        }
        match outcome {
            Outcome::Succeeded { result, events } => self.succeed(running, result, &events),
            Outcome::Terminal { error } => self.fail_with(running, error, EndReason::NotRetryable),
            Outcome::Retryable { error, hint } => self.retry_or_fail(running, error, hint),
        }
    }

    /// Goes on where the budget had to be asked first.
    pub(super) fn go_on_with_budget(&self, running: Running, answer: Answer) -> Decision {
        let Answer {
            question: Question { attempt, cause },
            verdict,
        } = answer;
        if attempt != running.attempt {
            return Decision::stale();
        }
        if cause == RetryCause::Lost && !running.lease_until.is_reached(self.now) {
            // By this clock the holder is still at work, whatever the clock was that asked.
            return self.idle();
        }
        match (cause, verdict) {
            (RetryCause::Failed { error, .. }, Verdict::Refused) => {
                self.fail_with(running, error, EndReason::BudgetEmpty)
            }
            (RetryCause::Lost, Verdict::Refused) => self.fail(
                self.record.close(running, self.now, AttemptEnd::Lost),
                EndReason::BudgetEmpty,
            ),
            (cause, Verdict::Granted) => self.schedule(running, cause),
        }
    }

    fn succeed(&self, running: Running, result: OperationResult, events: &EventDrafts) -> Decision {
        let mut next = self.record.close(running, self.now, AttemptEnd::Succeeded);
        next.state = State::Done {
            result: result.bounded(),
            expires_at: self.expires_at(),
        };
        next.outbox.add(events.as_slice(), self.now);
        if self.settings().retry_budget.is_some() {
            return Decision::write(next, Effect::Deposit);
        }
        Decision::write_and_wait(next)
    }

    fn retry_or_fail(
        &self,
        running: Running,
        error: AttemptError,
        hint: Option<Millis>,
    ) -> Decision {
        let policy = &self.settings().attempts;
        let failures = self.record.progress.attempts_in_cycle;
        if failures >= policy.max_attempts {
            return self.fail_with(running, error, EndReason::AttemptsExhausted);
        }
        let wait = policy.wait(failures, hint, self.entropy);
        if self.has_deadline_passed(self.now.after(wait.delay_ms)) {
            return self.fail_with(running, error, EndReason::DeadlinePassed);
        }
        self.retry(running, RetryCause::Failed { error, wait })
    }

    /// A retry that count and time allow: now the budget has to pay for it, where there is one.
    fn retry(&self, running: Running, cause: RetryCause) -> Decision {
        if self.settings().retry_budget.is_some() {
            return Decision::keep(Effect::Withdraw(Question {
                attempt: running.attempt,
                cause,
            }));
        }
        self.schedule(running, cause)
    }

    /// A retry that is paid for. Time may have passed since the question, so the deadline is looked at once more.
    fn schedule(&self, running: Running, cause: RetryCause) -> Decision {
        match cause {
            RetryCause::Failed { error, wait } => self.wait(running, error, wait),
            RetryCause::Lost => {
                let next = self.record.close(running, self.now, AttemptEnd::Lost);
                if self.has_deadline_passed(self.now) {
                    return self.fail(next, EndReason::DeadlinePassed);
                }
                self.start(next, self.record.progress.next_cycle())
            }
        }
    }

    fn wait(&self, running: Running, error: AttemptError, wait: Wait) -> Decision {
        let retry_at = self.now.after(wait.delay_ms);
        if self.has_deadline_passed(retry_at) {
            return self.fail_with(running, error, EndReason::DeadlinePassed);
        }
        let outcome = AttemptEnd::Retrying {
            error,
            delay_ms: wait.delay_ms,
            reason: Some(wait.reason),
        };
        let mut next = self.record.close(running, self.now, outcome);
        next.state = State::Waiting {
            retry_at,
            reason: wait.reason,
        };
        Decision::write_and_wait(next)
    }

    /// Starts an attempt: the one place where attempts are counted.
    pub(super) fn start(&self, mut next: Record, progress: Progress) -> Decision {
        let policy = &self.settings().attempts;
        next.progress = progress.next_attempt();
        let attempt = next.progress.attempts;
        let lease_until = self.now.after(policy.lease_ms);
        next.state = State::Running(Running {
            attempt,
            started_at: self.now,
            lease_until,
        });
        let timeout = Due::new(self.now.after(policy.timeout_ms), DueReason::AttemptTimeout);
        let until = match next.deadline {
            Some(deadline) => timeout.earlier(Due::new(deadline, DueReason::TotalDeadline)),
            None => timeout,
        };
        let upstream_key = next.upstream_key();
        Decision::write(
            next,
            Effect::Start(AttemptStart {
                attempt,
                upstream_key,
                until,
            }),
        )
    }

    /// Ends the operation because of its attempt's error, which is kept whatever the reason.
    fn fail_with(&self, running: Running, error: AttemptError, reason: EndReason) -> Decision {
        let outcome = AttemptEnd::Failed {
            error,
            reason: Some(reason),
        };
        self.fail(self.record.close(running, self.now, outcome), reason)
    }

    fn fail(&self, mut next: Record, reason: EndReason) -> Decision {
        next.state = State::Failed {
            error: reason,
            expires_at: self.expires_at(),
        };
        next.outbox.add(&self.settings().events_on_failed, self.now);
        Decision::write_and_wait(next)
    }

    fn has_deadline_passed(&self, at: Timestamp) -> bool {
        self.record
            .deadline
            .is_some_and(|deadline| deadline.is_reached(at))
    }
}
