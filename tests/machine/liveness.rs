//! Every record becomes terminal, and every event is settled, whatever came before.

use proptest::prelude::*;
use reprise::machine::{
    DeliveryOutcome, Effect, OperationEvent, OutboxEvent, Outcome, Policy, PolicySettings, Verdict,
};

use crate::commands::{Numbers, apply, commands, numbers};
use crate::support::{World, draft, finished, retryable, success_with};

/// Steps that the rest of any history may take: each attempt has a start and an end, each event a few deliveries.
const STEPS_MAX: u32 = 400;

/// Drives a world from deadline to deadline until nothing is left to do. An attempt comes to `outcome`, a lost one
/// to nothing.
fn drive(world: &mut World, outcome: &dyn Fn() -> Option<Outcome>, verdict: Verdict) -> u32 {
    for steps in 0..STEPS_MAX {
        if world.record.expires_at().is_some() {
            return steps;
        }
        world.now = world.now.max(world.record.due().at);
        step(world, outcome, verdict);
        while let Effect::Deliver(start) = world.tell(OutboxEvent::Woken) {
            world.finish_delivery(start.seq, DeliveryOutcome::Accepted);
        }
    }
    panic!("still not at its end: {:?}", world.record)
}

fn step(world: &mut World, outcome: &dyn Fn() -> Option<Outcome>, verdict: Verdict) {
    let effect = world.tell_with_budget(OperationEvent::Woken, verdict);
    if let (Effect::Start(start), Some(outcome)) = (effect, outcome()) {
        world.tell_with_budget(finished(start.attempt, outcome), verdict);
    }
}

fn policy(numbers: &Numbers) -> Policy {
    let settings = numbers.policy().settings().clone();
    let events_on_failed = vec![draft("order.failed")];
    Policy::new(PolicySettings {
        events_on_failed,
        ..settings
    })
    .expect("the numbers make sense")
}

/// A world after a random history.
fn after(numbers: &Numbers, commands: &[(crate::commands::Command, Verdict)]) -> World {
    let mut world = World::new(&policy(numbers));
    for (command, verdict) in commands {
        apply(&mut world, command, *verdict);
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn a_healthy_upstream_brings_every_record_to_its_end(numbers in numbers(), commands in commands()) {
        let mut world = after(&numbers, &commands);
        let had_ended = world.record.state().is_terminal();
        drive(&mut world, &|| Some(success_with(&["order.created"])), Verdict::Granted);
        prop_assert!(world.record.state().is_terminal());
        prop_assert_eq!(world.record.outbox().due(), None);
        // Without bounds of its own, the operation is not only at its end but done.
        let is_bounded = numbers.total.is_some() || !numbers.is_lost_retried;
        let is_crash_loop = world.record.progress().cycle >= numbers.max_cycles;
        prop_assert!(had_ended || is_bounded || is_crash_loop || world.state_name() == "done", "{:?}", world.record);
    }

    #[test]
    fn a_dead_upstream_does_so_too(numbers in numbers(), commands in commands(), is_budget_empty in any::<bool>()) {
        let mut world = after(&numbers, &commands);
        let verdict = if is_budget_empty { Verdict::Refused } else { Verdict::Granted };
        let attempts = world.record.progress().attempts;
        drive(&mut world, &|| Some(retryable("down")), verdict);
        prop_assert!(world.record.state().is_terminal());
        let more = world.record.progress().attempts - attempts;
        prop_assert!(more <= numbers.max_attempts * numbers.max_cycles);
    }

    #[test]
    fn so_does_a_loop_of_crashes(numbers in numbers(), commands in commands()) {
        let mut world = after(&numbers, &commands);
        let attempts = world.record.progress().attempts;
        drive(&mut world, &|| None, Verdict::Granted);
        prop_assert!(world.record.state().is_terminal());
        prop_assert!(world.record.progress().attempts - attempts <= numbers.max_cycles);
    }
}
