//! Further sentences about attempts: their time, their key, their history, and what an operator starts.

use reprise::machine::{
    AttemptEnd, Backoff, DueReason, Effect, EndReason, Millis, OnLostAttempt, OperationEvent,
    Outcome, Policy, Verdict, WaitReason,
};

use crate::support::{
    DELAY, HINT_CAP, LEASE, TIMEOUT, World, at, error, finished, paid_policy, policy_with,
    retryable, retryable_after, submitted, success, terminal,
};

#[test]
fn an_attempt_ends_with_its_timeout_or_with_the_total_deadline() {
    for (total, ends, reason) in [
        (TIMEOUT - 1, TIMEOUT - 1, DueReason::TotalDeadline),
        (TIMEOUT, TIMEOUT, DueReason::AttemptTimeout),
        (TIMEOUT + 1, TIMEOUT, DueReason::AttemptTimeout),
    ] {
        let policy = policy_with(|settings| settings.total_deadline_ms = Some(Millis::new(total)));
        let Effect::Start(start) = World::new(&policy).tell(submitted()) else {
            panic!("it starts")
        };
        assert_eq!((start.until.at, start.until.reason), (at(ends), reason));
    }
}

#[test]
fn every_attempt_calls_the_upstream_under_the_same_key() {
    let mut world = World::new(&policy_with(|_| {}));
    let mut keys = Vec::new();
    let mut effect = world.tell(submitted());
    for _ in 0..10 {
        let Effect::Start(start) = effect else { break };
        keys.push(start.upstream_key.to_string());
        // Every other attempt is lost instead of failing.
        if keys.len() % 2 == 0 {
            world.finish(retryable("busy"));
        }
        effect = world.until_due().tell(OperationEvent::Woken);
    }
    assert_eq!(
        keys.len(),
        3,
        "one attempt in the first cycle, two in the second"
    );
    assert!(
        keys.iter()
            .all(|key| key == "reprise-0199a1b2-c3d4-7e5f-8a6b-7c8d9eafb0c1"),
        "{keys:?}"
    );
}

#[test]
fn a_lost_attempt_ends_the_operation_where_a_second_call_could_act_twice() {
    let mut world = World::running(&policy_with(|settings| {
        settings.on_lost_attempt = OnLostAttempt::Fail;
    }));
    world.until_due().tell(OperationEvent::Woken);
    assert_eq!(
        (world.end_reason(), world.started),
        (EndReason::AttemptLost, 1)
    );
}

#[test]
fn the_history_tells_start_end_outcome_and_delay_and_forgets_the_oldest() {
    let mut world = World::running(&policy_with(|settings| settings.attempts.max_attempts = 20));
    for _ in 1..20 {
        world.finish(retryable("busy"));
        world.until_due().tell(OperationEvent::Woken);
    }
    world.finish(success());
    let entries = world.record.history().entries();
    let numbers: Vec<u32> = entries.iter().map(|entry| entry.attempt).collect();
    assert_eq!(numbers, (5..=20).collect::<Vec<u32>>());
    let first = &entries[0];
    assert_eq!(
        (first.started_at, first.ended_at),
        (at(4 * DELAY), at(4 * DELAY))
    );
    assert_eq!(
        first.outcome,
        AttemptEnd::Retrying {
            error: error("busy"),
            delay_ms: Millis::new(DELAY),
            reason: Some(WaitReason::Backoff),
        }
    );
    assert_eq!(entries[15].outcome, AttemptEnd::Succeeded);
    assert_eq!(world.record.history().dropped(), 4);
    assert_eq!(world.record.progress().attempts, 20);
}

/// What the newest entry says of the way on: what set the wait, or why there is no further attempt.
#[test]
fn the_history_says_what_set_a_wait_and_why_no_attempt_followed() {
    let free = || policy_with(|_| {});
    let one_attempt = policy_with(|settings| settings.attempts.max_attempts = 1);
    let short = policy_with(|settings| settings.total_deadline_ms = Some(Millis::new(DELAY)));
    let wait = |delay_ms, reason| AttemptEnd::Retrying {
        error: error("busy"),
        delay_ms: Millis::new(delay_ms),
        reason: Some(reason),
    };
    let end = |reason| AttemptEnd::Failed {
        error: error("busy"),
        reason: Some(reason),
    };
    let busy = || retryable("busy");
    let granted = Verdict::Granted;
    let table: &[(Policy, Outcome, Verdict, AttemptEnd)] = &[
        (free(), busy(), granted, wait(DELAY, WaitReason::Backoff)),
        (
            free(),
            retryable_after(DELAY - 1),
            granted,
            wait(DELAY, WaitReason::Backoff),
        ),
        (
            free(),
            retryable_after(DELAY + 1),
            granted,
            wait(DELAY + 1, WaitReason::ServerHint),
        ),
        (
            paid_policy(),
            busy(),
            granted,
            wait(DELAY, WaitReason::Backoff),
        ),
        (
            paid_policy(),
            busy(),
            Verdict::Refused,
            end(EndReason::BudgetEmpty),
        ),
        (
            one_attempt,
            busy(),
            granted,
            end(EndReason::AttemptsExhausted),
        ),
        (short, busy(), granted, end(EndReason::DeadlinePassed)),
        (
            free(),
            terminal("busy"),
            granted,
            end(EndReason::NotRetryable),
        ),
        (free(), success(), granted, AttemptEnd::Succeeded),
    ];
    for (policy, outcome, verdict, expected) in table {
        let mut world = World::running(policy);
        world.tell_with_budget(finished(1, outcome.clone()), *verdict);
        let entries = world.record.history().entries();
        assert_eq!(entries.len(), 1, "{outcome:?}");
        assert_eq!(entries[0].outcome, *expected, "{outcome:?}");
    }
}

/// An operator ends a wait: the attempt is the next one of the same cycle, and the wait that was begun stays in the history.
#[test]
fn an_operator_can_end_a_wait() {
    let mut world = World::running(&paid_policy());
    world.tell_with_budget(finished(1, retryable_after(HINT_CAP)), Verdict::Granted);
    world.set_clock(5).tell(OperationEvent::RetryAsked);
    let progress = world.record.progress();
    assert_eq!((world.state_name(), world.started), ("running", 2));
    assert_eq!((progress.cycle, progress.attempts_in_cycle), (1, 2));
    world.finish(success());
    let outcomes: Vec<_> = world
        .record
        .history()
        .entries()
        .iter()
        .map(|entry| &entry.outcome)
        .collect();
    assert_eq!(outcomes.len(), 2);
    assert!(
        matches!(outcomes[0], AttemptEnd::Retrying { delay_ms, .. } if delay_ms.get() == HINT_CAP)
    );
}

#[test]
fn an_operation_that_starts_later_is_left_alone_until_then() {
    let mut world = World::new(&policy_with(|settings| {
        settings.start_delay_ms = Millis::new(DELAY);
    }));
    for ms in [0, DELAY - 1] {
        assert!(
            matches!(world.set_clock(ms).tell(submitted()), Effect::Idle(due) if due.reason == DueReason::Start)
        );
    }
    assert!(matches!(
        world.set_clock(DELAY).tell(OperationEvent::Woken),
        Effect::Start(_)
    ));
}

#[test]
fn a_retry_is_never_scheduled_for_now() {
    let mut world = World::running(&policy_with(|settings| {
        settings.attempts.backoff = Backoff::Constant {
            delay_ms: Millis::ZERO,
        };
    }));
    world.finish(retryable("busy"));
    assert_eq!(world.record.due().at, at(1));
}

#[test]
fn an_operator_retry_has_a_new_total_deadline_and_new_cycles() {
    let policy = policy_with(|settings| settings.total_deadline_ms = Some(Millis::new(2 * LEASE)));
    let mut world = World::running(&policy);
    world.until_due().tell(OperationEvent::Woken);
    world.until_due().tell(OperationEvent::Woken);
    assert_eq!(world.end_reason(), EndReason::CyclesExhausted);
    world.set_clock(1_000_000).tell(OperationEvent::RetryAsked);
    assert_eq!(world.record.deadline(), Some(at(1_000_000 + 2 * LEASE)));
    assert!(
        matches!(
            world.until_due().tell(OperationEvent::Woken),
            Effect::Start(_)
        ),
        "a lost attempt has its retry"
    );
    assert_eq!(world.record.progress().attempts, 4);
}
