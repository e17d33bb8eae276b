//! What an operation's owner decides: how often, how long, and what for.
//!
//! Settings come from a configuration file. A [`Policy`] is made of settings that were checked, so the machine itself
//! never meets a combination that makes no sense.

use core::fmt;

use super::backoff::Backoff;
use super::budget::BudgetPolicy;
use super::draft::EventDraft;
use super::limits;
use super::seed::Seed;
use super::state::WaitReason;
use super::time::{Millis, Timestamp};

/// Settings that make sense together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy(PolicySettings);

/// The settings of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySettings {
    /// How long after its submission an operation may start; zero starts it at once.
    pub start_delay_ms: Millis,
    /// How one cycle of attempts goes.
    pub attempts: AttemptPolicy,
    /// Cycles of one fresh start; each one after the first follows a lost attempt.
    pub max_cycles: u32,
    /// What to do when an attempt is lost.
    pub on_lost_attempt: OnLostAttempt,
    /// The time for the whole operation from its submission. `None` sets no bound; zero leaves no time at all.
    pub total_deadline_ms: Option<Millis>,
    /// The budget that retries are paid from; `None` where they are free.
    pub retry_budget: Option<BudgetPolicy>,
    /// How long a finished record is kept, from its end.
    pub retention_ms: Millis,
    /// Events to send when the operation fails.
    pub events_on_failed: Vec<EventDraft>,
    /// Events to send when the operation is cancelled.
    pub events_on_cancelled: Vec<EventDraft>,
    /// How each event is delivered.
    pub delivery: AttemptPolicy,
}

/// How often and how long something is attempted: calls to an upstream, or deliveries to a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptPolicy {
    /// Attempts in one cycle, the first one included.
    pub max_attempts: u32,
    /// The waits between them.
    pub backoff: Backoff,
    /// The longest wait that the other side may ask for.
    pub hint_cap_ms: Millis,
    /// The time of one attempt.
    pub timeout_ms: Millis,
    /// How long its holder may go unheard: longer than the time-out, so that its outcome can be written, and better
    /// longer than the clocks of two instances may differ, or a holder at work is given up for lost.
    pub lease_ms: Millis,
}

/// What to do with an operation whose attempt was lost, and which may or may not have taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLostAttempt {
    /// Start a new cycle: right where the upstream knows a repeated call by its key.
    Retry,
    /// End as failed: right where a second call could act a second time.
    Fail,
}

/// A wait before a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// How long it is.
    pub delay_ms: Millis,
    /// What set its length.
    pub reason: WaitReason,
}

impl Policy {
    /// Checks `settings`, or names the first one that makes no sense.
    pub fn new(settings: PolicySettings) -> Result<Self, PolicyError> {
        settings.check()?;
        Ok(Self(settings))
    }

    /// The checked settings.
    pub fn settings(&self) -> &PolicySettings {
        &self.0
    }

    /// The total deadline of an operation whose time starts at `now`.
    pub(super) fn deadline_from(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.total_deadline_ms.map(|total_ms| now.after(total_ms))
    }
}

impl AttemptPolicy {
    /// The wait after the `failures`-th failure of a cycle. The other side's hint is a floor under our own backoff,
    /// up to a cap of its own.
    pub(super) fn wait(&self, failures: u32, hint: Option<Millis>, entropy: Seed) -> Wait {
        let own = self
            .backoff
            .delay(failures, entropy)
            .max(limits::RETRY_DELAY_MIN);
        match hint.map(|hint| hint.min(self.hint_cap_ms)) {
            Some(hinted) if hinted > own => Wait {
                delay_ms: hinted,
                reason: WaitReason::ServerHint,
            },
            Some(_) | None => Wait {
                delay_ms: own,
                reason: WaitReason::Backoff,
            },
        }
    }

    /// The longest wait that can come out.
    pub(super) fn longest_wait(&self) -> Millis {
        self.backoff.longest().max(self.hint_cap_ms)
    }
}

/// A setting that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The group of settings: the operation itself, its attempts, its deliveries or its budget.
    pub group: &'static str,
    /// What is wrong with which setting.
    pub problem: &'static str,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.group, self.problem)
    }
}

impl core::error::Error for PolicyError {}

impl PolicySettings {
    fn check(&self) -> Result<(), PolicyError> {
        let complain = |group| move |problem| Err(PolicyError { group, problem });
        self.problem().map_or(Ok(()), complain("operation"))?;
        self.attempts
            .problem()
            .map_or(Ok(()), complain("attempts"))?;
        self.delivery
            .problem()
            .map_or(Ok(()), complain("delivery"))?;
        self.retry_budget
            .as_ref()
            .and_then(BudgetPolicy::problem)
            .map_or(Ok(()), complain("retry_budget"))
    }

    fn problem(&self) -> Option<&'static str> {
        if self.max_cycles == 0 || self.max_cycles > limits::CYCLES_MAX {
            return Some("max_cycles is zero or too large");
        }
        if self.retention_ms == Millis::ZERO || self.retention_ms > limits::RETENTION_MAX {
            return Some("retention_ms is zero or too long");
        }
        if self.start_delay_ms > limits::RETRY_DELAY_MAX {
            return Some("start_delay_ms is too long");
        }
        if let Some(total_ms) = self.total_deadline_ms {
            if total_ms > limits::TOTAL_DEADLINE_MAX {
                return Some("total_deadline_ms is too long");
            }
            if self.start_delay_ms > total_ms {
                return Some(
                    "start_delay_ms is beyond total_deadline_ms, so nothing would ever start",
                );
            }
        }
        let most_events = self
            .events_on_failed
            .len()
            .max(self.events_on_cancelled.len());
        (most_events > limits::EVENTS_PER_TRANSITION_MAX)
            .then_some("too many events for one transition")
    }
}

impl AttemptPolicy {
    /// What is wrong with these numbers, if anything; it begins with the name of the first setting that is wrong.
    pub fn problem(&self) -> Option<&'static str> {
        if self.max_attempts == 0 || self.max_attempts > limits::ATTEMPTS_PER_CYCLE_MAX {
            return Some("max_attempts is zero or too large");
        }
        if self.timeout_ms == Millis::ZERO {
            return Some("timeout_ms is zero");
        }
        if self.lease_ms <= self.timeout_ms {
            return Some(
                "lease_ms is not longer than timeout_ms, so a slow outcome would come too late",
            );
        }
        if self.lease_ms > limits::LEASE_MAX {
            return Some("lease_ms is too long");
        }
        if self.hint_cap_ms > limits::RETRY_DELAY_MAX {
            return Some("hint_cap_ms is too long");
        }
        self.backoff.problem()
    }
}
