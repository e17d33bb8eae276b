//! Random histories: policies and commands that proptest draws and shrinks.

use proptest::prelude::*;
use reprise::machine::{
    Backoff, Effect, Millis, OnLostAttempt, OperationEvent, Outcome, Policy, Timestamp, Verdict,
};

use crate::support::{
    World, finished, policy_with, retryable, retryable_after, small_budget, submitted,
    submitted_with_other_content, success, terminal,
};

/// The numbers of a policy, small enough for deadlines to meet each other. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) start_delay: u64,
    pub(crate) max_attempts: u32,
    pub(crate) max_cycles: u32,
    pub(crate) delay: u64,
    pub(crate) hint_cap: u64,
    pub(crate) lease: u64,
    pub(crate) total: Option<u64>,
    pub(crate) retention: u64,
    pub(crate) is_paid: bool,
    pub(crate) is_lost_retried: bool,
}

impl Numbers {
    pub(crate) fn policy(&self) -> Policy {
        policy_with(|settings| {
            settings.start_delay_ms = Millis::new(self.start_delay);
            settings.attempts.max_attempts = self.max_attempts;
            settings.max_cycles = self.max_cycles;
            settings.attempts.backoff = Backoff::Constant {
                delay_ms: Millis::new(self.delay),
            };
            settings.attempts.hint_cap_ms = Millis::new(self.hint_cap);
            settings.attempts.timeout_ms = Millis::new(self.lease - 1);
            settings.attempts.lease_ms = Millis::new(self.lease);
            settings.total_deadline_ms = self.total.map(Millis::new);
            settings.retention_ms = Millis::new(self.retention);
            settings.retry_budget = self.is_paid.then(small_budget);
            settings.on_lost_attempt = if self.is_lost_retried {
                OnLostAttempt::Retry
            } else {
                OnLostAttempt::Fail
            };
        })
    }
}

/// What happens next. Attempts are named by their distance from the last one that was started.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Pass(u64),
    StepBack(u64),
    Submit,
    SubmitOtherContent,
    Wake,
    Succeed { distance: u32 },
    FailRetryably { distance: u32, hint: Option<u64> },
    FailTerminally { distance: u32 },
    Cancel,
    AskForRetry,
}

pub(crate) fn numbers() -> impl Strategy<Value = Numbers> {
    let counts = (1..=3_u32, 1..=3_u32);
    let times = (
        0..=3_u64,
        0..=4_u64,
        0..=9_u64,
        2..=5_u64,
        proptest::option::of(3..=30_u64),
        5..=40_u64,
    );
    (counts, times, any::<bool>(), any::<bool>()).prop_map(
        |(counts, times, is_paid, is_lost_retried)| {
            let (max_attempts, max_cycles) = counts;
            let (start_delay, delay, hint_cap, lease, total, retention) = times;
            Numbers {
                start_delay,
                max_attempts,
                max_cycles,
                delay,
                hint_cap,
                lease,
                total,
                retention,
                is_paid,
                is_lost_retried,
            }
        },
    )
}

/// Commands with the budget's word, should one of them lead to a question.
pub(crate) fn commands() -> impl Strategy<Value = Vec<(Command, Verdict)>> {
    let distance = prop_oneof![8 => Just(0_u32), 1 => Just(1), 1 => Just(2)];
    let hint = proptest::option::of(0..=12_u64);
    let command = prop_oneof![
        6 => (0..=6_u64).prop_map(Command::Pass),
        1 => (1..=20_u64).prop_map(Command::StepBack),
        2 => Just(Command::Submit),
        1 => Just(Command::SubmitOtherContent),
        6 => Just(Command::Wake),
        1 => distance.clone().prop_map(|distance| Command::Succeed { distance }),
        6 => (distance.clone(), hint).prop_map(|(distance, hint)| Command::FailRetryably { distance, hint }),
        1 => distance.prop_map(|distance| Command::FailTerminally { distance }),
        1 => Just(Command::Cancel),
        2 => Just(Command::AskForRetry),
    ];
    let verdict = prop_oneof![3 => Just(Verdict::Granted), 1 => Just(Verdict::Refused)];
    proptest::collection::vec((command, verdict), 0..60)
}

/// Lets `command` happen and answers a question at once. Returns what is left to do; `None` when only time passed.
pub(crate) fn apply(world: &mut World, command: &Command, verdict: Verdict) -> Option<Effect> {
    let report = |world: &World, distance: &u32, outcome: Outcome| {
        finished(
            world.record.progress().attempts.saturating_sub(*distance),
            outcome,
        )
    };
    let event = match command {
        Command::Pass(ms) => {
            world.now = world.now.after(Millis::new(*ms));
            return None;
        }
        Command::StepBack(ms) => {
            world.now = Timestamp::from_unix_ms(world.now.as_unix_ms() - ms);
            return None;
        }
        Command::Submit => submitted(),
        Command::SubmitOtherContent => submitted_with_other_content(),
        Command::Wake => OperationEvent::Woken,
        Command::Succeed { distance } => report(world, distance, success()),
        Command::FailRetryably {
            distance,
            hint: None,
        } => report(world, distance, retryable("busy")),
        Command::FailRetryably {
            distance,
            hint: Some(ms),
        } => report(world, distance, retryable_after(*ms)),
        Command::FailTerminally { distance } => report(world, distance, terminal("no")),
        Command::Cancel => OperationEvent::CancelAsked,
        Command::AskForRetry => OperationEvent::RetryAsked,
    };
    Some(world.tell_with_budget(event, verdict))
}
