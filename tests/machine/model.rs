//! A second opinion: a small model of an operation, written apart from the machine and held against it over random
//! histories. A history that tells them apart shrinks to its shortest form.

use proptest::prelude::*;
use reprise::machine::Verdict;

use crate::commands::{Command, Numbers, apply, commands, numbers};
use crate::support::{START, World, effect_name};

/// An operation as a list of plain numbers. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug)]
struct Model {
    numbers: Numbers,
    state: &'static str,
    /// The state's own deadline: start, lease, retry or expiry.
    due: u64,
    attempts: u32,
    cycle: u32,
    attempts_in_cycle: u32,
    deadline: Option<u64>,
    has_error: bool,
}

impl Model {
    fn new(numbers: &Numbers) -> Self {
        let now = START.as_unix_ms();
        Self {
            numbers: numbers.clone(),
            state: "queued",
            due: now + numbers.start_delay,
            attempts: 0,
            cycle: 1,
            attempts_in_cycle: 0,
            deadline: numbers.total.map(|total| now + total),
            has_error: false,
        }
    }

    fn has_ended(&self) -> bool {
        ["done", "failed", "cancelled"].contains(&self.state)
    }

    fn is_too_late(&self, at: u64) -> bool {
        self.deadline.is_some_and(|deadline| at >= deadline)
    }

    fn end(&mut self, state: &'static str, now: u64) -> &'static str {
        self.state = state;
        self.due = now + self.numbers.retention;
        "idle"
    }

    fn run(&mut self, now: u64) -> &'static str {
        self.attempts += 1;
        self.attempts_in_cycle += 1;
        self.state = "running";
        self.due = now + self.numbers.lease;
        "start"
    }

    /// Does `command` and returns the name of the effect that is left.
    fn step(&mut self, command: &Command, verdict: Verdict, now: u64) -> &'static str {
        if self.has_ended() && now >= self.due {
            return "expired";
        }
        match command {
            Command::Pass(_) | Command::StepBack(_) => {
                unreachable!("time is not the model's business")
            }
            Command::SubmitOtherContent => "mismatch",
            Command::Submit | Command::Wake => self.wake(verdict, now),
            Command::Succeed { distance } => self.report(*distance, |model| {
                model.end("done", now);
                if model.numbers.is_paid {
                    "deposit"
                } else {
                    "idle"
                }
            }),
            Command::FailTerminally { distance } => self.report(*distance, |model| {
                model.has_error = true;
                model.end("failed", now)
            }),
            Command::FailRetryably { distance, hint } => self.report(*distance, |model| {
                model.has_error = true;
                model.retry(*hint, verdict, now)
            }),
            Command::Cancel if self.state == "cancelled" => "idle",
            Command::Cancel if self.has_ended() => "already-ended",
            Command::Cancel => self.end("cancelled", now),
            Command::AskForRetry if self.state == "failed" => {
                (self.cycle, self.attempts_in_cycle) = (1, 0);
                self.deadline = self.numbers.total.map(|total| now + total);
                self.run(now)
            }
            Command::AskForRetry if self.state == "waiting" && self.is_too_late(now) => {
                self.end("failed", now)
            }
            Command::AskForRetry if self.state == "waiting" => self.run(now),
            Command::AskForRetry => "not-to-retry",
        }
    }

    fn wake(&mut self, verdict: Verdict, now: u64) -> &'static str {
        if self.has_ended() || now < self.due {
            return "idle";
        }
        if self.state != "running" {
            return if self.is_too_late(now) {
                self.end("failed", now)
            } else {
                self.run(now)
            };
        }
        let may_go_on = self.numbers.is_lost_retried
            && self.cycle < self.numbers.max_cycles
            && !self.is_too_late(now)
            && self.is_affordable(verdict);
        if !may_go_on {
            return self.end("failed", now);
        }
        self.cycle += 1;
        self.attempts_in_cycle = 0;
        self.run(now)
    }

    fn report(
        &mut self,
        distance: u32,
        accept: impl FnOnce(&mut Self) -> &'static str,
    ) -> &'static str {
        // Attempt 0 never existed, so a distance beyond the first attempt names nothing either.
        if self.state == "running" && distance == 0 {
            accept(self)
        } else {
            "stale"
        }
    }

    fn retry(&mut self, hint: Option<u64>, verdict: Verdict, now: u64) -> &'static str {
        let hint = hint.unwrap_or(0).min(self.numbers.hint_cap);
        let retry_at = now + self.numbers.delay.max(1).max(hint);
        let may_go_on = self.attempts_in_cycle < self.numbers.max_attempts
            && !self.is_too_late(retry_at)
            && self.is_affordable(verdict);
        if !may_go_on {
            return self.end("failed", now);
        }
        (self.state, self.due) = ("waiting", retry_at);
        "idle"
    }

    fn is_affordable(&self, verdict: Verdict) -> bool {
        !self.numbers.is_paid || verdict == Verdict::Granted
    }
}

/// What both can be asked.
fn view(world: &World) -> (&'static str, u64, u32, u32, u32, Option<u64>, bool) {
    let record = &world.record;
    let progress = record.progress();
    (
        world.state_name(),
        record.state().due().at.as_unix_ms(),
        progress.attempts,
        progress.cycle,
        progress.attempts_in_cycle,
        record
            .deadline()
            .map(reprise::machine::Timestamp::as_unix_ms),
        record.last_error().is_some(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn the_machine_and_the_model_agree(numbers in numbers(), commands in commands()) {
        let mut world = World::new(&numbers.policy());
        let mut model = Model::new(&numbers);
        for (command, verdict) in &commands {
            if let Some(effect) = apply(&mut world, command, *verdict) {
                let expected = model.step(command, *verdict, world.now.as_unix_ms());
                prop_assert_eq!(effect_name(&effect), expected, "after {:?} on {:?}", command, model);
            }
            let expected = (
                model.state, model.due, model.attempts, model.cycle, model.attempts_in_cycle, model.deadline,
                model.has_error,
            );
            prop_assert_eq!(view(&world), expected, "after {:?}", command);
        }
    }
}
