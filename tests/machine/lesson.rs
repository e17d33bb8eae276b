//! The text-task lesson: what an attempt costs, and what costs none.

use reprise::machine::{Effect, EndReason, OperationEvent, State};

use crate::support::{DELAY, LEASE, World, finished, policy_with, retryable, success, terminal};

/// Reports `outcomes` one after the other, waiting out each delay; returns the world at its end.
fn run(outcomes: impl IntoIterator<Item = reprise::machine::Outcome>) -> World {
    let mut world = World::running(&policy_with(|_| {}));
    for outcome in outcomes {
        world.finish(outcome);
        if matches!(world.record.state(), State::Waiting { .. }) {
            world.until_due().tell(OperationEvent::Woken);
        }
    }
    world
}

#[test]
fn twice_retryable_then_success_is_done_after_three_attempts() {
    let world = run([retryable("one"), retryable("two"), success()]);
    assert_eq!(world.state_name(), "done");
    assert_eq!((world.record.progress().attempts, world.started), (3, 3));
}

#[test]
fn always_retryable_with_three_attempts_is_failed_after_three() {
    let world = run([retryable("one"), retryable("two"), retryable("three")]);
    assert_eq!(world.end_reason(), EndReason::AttemptsExhausted);
    assert_eq!((world.record.progress().attempts, world.started), (3, 3));
    assert_eq!(world.last_error(), Some("three"));
}

#[test]
fn an_ordinary_error_is_failed_after_one_attempt() {
    let world = run([terminal("no such card")]);
    assert_eq!(world.end_reason(), EndReason::NotRetryable);
    assert_eq!((world.record.progress().attempts, world.started), (1, 1));
    assert_eq!(world.last_error(), Some("no such card"));
}

#[test]
fn cancel_during_the_delay_ends_it_without_another_attempt() {
    let mut world = run([]);
    world.finish(retryable("busy"));
    world.set_clock(DELAY / 2).tell(OperationEvent::CancelAsked);
    assert_eq!(world.state_name(), "cancelled");
    for ms in [DELAY / 2, DELAY, 10 * DELAY] {
        assert!(matches!(
            world.set_clock(ms).tell(OperationEvent::Woken),
            Effect::Idle(_)
        ));
    }
    assert_eq!((world.record.progress().attempts, world.started), (1, 1));
}

#[test]
fn crash_during_the_delay_spends_no_attempt() {
    let mut world = run([]);
    world.finish(retryable("busy"));
    let waiting = world.record.clone();
    // Whoever holds the record may come and go: only the stored delay counts.
    for ms in [0, 1, DELAY - 1] {
        assert!(matches!(
            world.set_clock(ms).tell(OperationEvent::Woken),
            Effect::Idle(_)
        ));
        assert_eq!(world.record, waiting);
    }
    assert!(matches!(
        world.set_clock(DELAY).tell(OperationEvent::Woken),
        Effect::Start(_)
    ));
    assert_eq!((world.record.progress().attempts, world.started), (2, 2));
}

#[test]
fn crash_during_an_attempt_starts_a_new_cycle_and_attempts_may_pass_three() {
    let mut world = run([retryable("one"), retryable("two")]);
    assert_eq!(
        world.started, 3,
        "the third attempt of the first cycle runs, and its holder dies"
    );
    assert!(matches!(
        world.until_due().tell(OperationEvent::Woken),
        Effect::Start(_)
    ));
    let progress = world.record.progress();
    assert_eq!(
        (
            progress.attempts,
            progress.cycle,
            progress.attempts_in_cycle
        ),
        (4, 2, 1)
    );
    // The new cycle has its own three attempts.
    for _ in 0..2 {
        world.finish(retryable("again"));
        world.until_due().tell(OperationEvent::Woken);
    }
    world.finish(retryable("again"));
    assert_eq!(world.end_reason(), EndReason::AttemptsExhausted);
    assert_eq!((world.record.progress().attempts, world.started), (6, 6));
}

#[test]
fn a_loop_of_crashes_ends_with_the_last_cycle() {
    let mut world = run([retryable("the only real error")]);
    for _ in 0..2 {
        world.until_due().tell(OperationEvent::Woken);
    }
    assert_eq!(world.end_reason(), EndReason::CyclesExhausted);
    assert_eq!(
        world.started, 3,
        "two attempts in the first cycle and one in the second"
    );
    assert_eq!(world.last_error(), Some("the only real error"));
}

#[test]
fn an_operator_takes_a_failed_operation_up_again_and_attempts_go_on_counting() {
    let mut world = run([terminal("no such card")]);
    assert!(matches!(
        world.tell(OperationEvent::RetryAsked),
        Effect::Start(_)
    ));
    let progress = world.record.progress();
    assert_eq!(
        (
            progress.attempts,
            progress.cycle,
            progress.attempts_in_cycle
        ),
        (2, 1, 1)
    );
    world.finish(success());
    assert_eq!(world.state_name(), "done");
}

#[test]
fn a_late_outcome_counts_while_nobody_took_over_and_not_afterwards() {
    let mut world = run([]);
    let mut taken_over = world.clone();
    world.set_clock(10 * LEASE).finish(success());
    assert_eq!(
        world.state_name(),
        "done",
        "the outcome is true, however late"
    );

    taken_over.until_due().tell(OperationEvent::Woken);
    assert_eq!(taken_over.tell(finished(1, success())), Effect::Stale);
    assert_eq!(taken_over.state_name(), "running");
}
