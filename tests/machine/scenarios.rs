//! Faults of systems of this kind, each with the right value. The numbers are those of the project's list.

use reprise::machine::{
    AttemptEnd, DueReason, Effect, EndReason, Millis, OnLostAttempt, OperationEvent, Outcome,
    Refusal, State, WaitReason, parse_retry_after, stored,
};

use crate::support::{
    DELAY, HINT_CAP, LEASE, RETENTION, START, TIMEOUT, World, at, error, finished, policy_with,
    retryable, retryable_after, submitted, submitted_with_other_content, success, terminal,
};

/// Scenario 1: claim, crash, repeat. The lease frees the operation, long before the retention would.
#[test]
fn s01_a_crash_blocks_its_operation_for_one_lease_only() {
    let mut world = World::running(&policy_with(|_| {}));
    assert!(matches!(
        world.set_clock(LEASE - 1).tell(submitted()),
        Effect::Idle(_)
    ));
    assert!(matches!(
        world.set_clock(LEASE).tell(submitted()),
        Effect::Start(_)
    ));
    const { assert!(LEASE < RETENTION) };
}

/// Scenario 2: no time left is a deadline that is now, not the lack of one.
#[test]
fn s02_a_remaining_time_of_zero_is_a_value() {
    let mut none = World::new(&policy_with(|_| {}));
    assert_eq!(none.record.deadline(), None);
    assert!(matches!(none.tell(submitted()), Effect::Start(_)));

    let mut zero = World::new(&policy_with(|settings| {
        settings.total_deadline_ms = Some(Millis::ZERO);
    }));
    assert_eq!(zero.record.deadline(), Some(START));
    assert!(matches!(zero.tell(submitted()), Effect::Idle(_)));
    assert_eq!(
        (zero.end_reason(), zero.started),
        (EndReason::DeadlinePassed, 0)
    );
}

/// Scenario 3: a running record whose lease is not written down belongs to somebody who may be at work.
#[test]
fn s03_a_running_record_without_a_lease_is_not_an_orphan() {
    let mut world = World::running(&policy_with(|_| {}));
    let written = String::from_utf8(stored::encode(&world.record)).expect("JSON is text");
    let without = written.replace(&format!(",\"lease_until\":{}", at(LEASE).as_unix_ms()), "");
    assert_ne!(without, written, "the lease is in the stored form");
    world.record = stored::decode(without.as_bytes()).expect("an older form is still read");

    let longest = 15 * 60 * 1_000;
    assert!(matches!(
        world.set_clock(longest - 1).tell(OperationEvent::Woken),
        Effect::Idle(_)
    ));
    assert!(
        matches!(
            world.set_clock(longest).tell(OperationEvent::Woken),
            Effect::Start(_)
        ),
        "nor is it stuck"
    );
}

/// Scenarios 5 and 7: whatever happens, who asked for what stays as it was.
#[test]
fn s05_s07_nothing_changes_the_identity() {
    let mut world = World::running(&policy_with(|_| {}));
    let origin = world.record.origin().clone();
    for event in [
        finished(1, retryable("busy")),
        OperationEvent::Woken,
        OperationEvent::CancelAsked,
    ] {
        world.until_due().tell(event);
        assert_eq!(*world.record.origin(), origin);
    }
    assert_eq!(world.state_name(), "cancelled");
}

/// Scenarios 6 and 10: a key with other content is told so in every state, and before "in progress".
#[test]
fn s06_s10_other_content_is_a_mismatch_in_every_state() {
    let mut world = World::new(&policy_with(|_| {}));
    let mismatch = Effect::Refuse(Refusal::Mismatch);
    assert_eq!(world.tell(submitted_with_other_content()), mismatch);
    for event in [
        submitted(),
        finished(1, retryable("busy")),
        OperationEvent::Woken,
        finished(2, success()),
    ] {
        world.until_due().tell(event);
        world.set_clock(0);
        assert_eq!(
            world.tell(submitted_with_other_content()),
            mismatch,
            "{}",
            world.state_name()
        );
    }
    assert_eq!(world.state_name(), "done");
}

/// Scenario 12: a takeover depends on the lease that the holder stored, not on the caller's policy.
#[test]
fn s12_the_stored_lease_decides_about_a_takeover() {
    let mut world = World::running(&policy_with(|_| {}));
    world.policy = policy_with(|settings| {
        settings.attempts.timeout_ms = Millis::new(1);
        settings.attempts.lease_ms = Millis::new(2);
    });
    assert!(matches!(
        world.set_clock(LEASE - 1).tell(OperationEvent::Woken),
        Effect::Idle(_)
    ));
    assert!(matches!(
        world.set_clock(LEASE).tell(OperationEvent::Woken),
        Effect::Start(_)
    ));
}

/// Scenario 15: who comes late changes nothing, whatever it brings.
#[test]
fn s15_a_late_finisher_changes_nothing() {
    let mut cancelled = World::running(&policy_with(|_| {}));
    cancelled.tell(OperationEvent::CancelAsked);
    let mut taken_over = World::running(&policy_with(|_| {}));
    taken_over.until_due().tell(OperationEvent::Woken);
    let mut done = taken_over.clone();
    done.tell(finished(2, success()));
    for world in [&cancelled, &taken_over, &done] {
        for outcome in [success(), retryable("late"), terminal("late")] {
            let decision = world.ask(finished(1, outcome), 1);
            assert_eq!(
                (decision.write, decision.effect),
                (None, Effect::Stale),
                "{}",
                world.state_name()
            );
        }
    }
    let [entry] = cancelled.record.history().entries() else {
        panic!("one attempt")
    };
    assert_eq!(
        entry.outcome,
        AttemptEnd::Abandoned,
        "whether it took effect is not known, and that is written down"
    );
}

/// Scenario 22: Retry-After as upstreams write it, and the wait that comes of it. Our own delay is one second; the
/// cap on hints is five minutes. The beginning of the tests is 15 January 2027.
#[test]
fn s22_retry_after_in_every_spelling() {
    let table: &[(&str, u64, WaitReason)] = &[
        ("Fri, 15 Jan 2027 07:59:00 GMT", DELAY, WaitReason::Backoff),
        ("-5", DELAY, WaitReason::Backoff),
        ("soon", DELAY, WaitReason::Backoff),
        ("9999999999", HINT_CAP, WaitReason::ServerHint),
        ("1e3", DELAY, WaitReason::Backoff),
        (
            "Wed, 04 Nov 2099 08:00:00 GMT",
            HINT_CAP,
            WaitReason::ServerHint,
        ),
        ("0", DELAY, WaitReason::Backoff),
        ("1", DELAY, WaitReason::Backoff),
        ("2", 2_000, WaitReason::ServerHint),
        (
            "Fri, 15 Jan 2027 08:00:10 GMT",
            10_000,
            WaitReason::ServerHint,
        ),
        (
            "Friday, 15-Jan-27 08:00:10 GMT",
            10_000,
            WaitReason::ServerHint,
        ),
        ("Fri Jan 15 08:00:10 2027", 10_000, WaitReason::ServerHint),
    ];
    for (value, wait_ms, wanted) in table {
        let mut world = World::running(&policy_with(|_| {}));
        let hint = parse_retry_after(value, world.now);
        world.finish(Outcome::Retryable {
            error: error("busy"),
            hint,
        });
        let State::Waiting { retry_at, reason } = *world.record.state() else {
            panic!("{:?}", world.record)
        };
        assert_eq!(
            (retry_at, reason),
            (at(*wait_ms), *wanted),
            "Retry-After: {value}"
        );
    }
}

/// Scenario 23: a hint above the cap of our own delays is honoured up to its own cap.
#[test]
fn s23_a_hint_has_its_own_cap() {
    let minute = 60_000;
    let policy = policy_with(|settings| {
        settings.attempts.backoff = reprise::machine::Backoff::Exponential {
            base_ms: Millis::new(minute),
            cap_ms: Millis::new(minute),
        };
    });
    for (hint, wait) in [
        (5 * minute, 5 * minute),
        (5 * minute + 1, 5 * minute),
        (minute - 1, minute),
    ] {
        let mut world = World::running(&policy);
        world.finish(retryable_after(hint));
        assert_eq!(world.record.due().at, at(wait), "hint of {hint}");
    }
}

/// Scenario 25: a retry at or after the total deadline is never scheduled. The end comes now, with its reason, and the
/// error of the attempt is kept.
#[test]
fn s25_the_end_comes_now_when_the_next_attempt_would_come_too_late() {
    for (total, ends) in [(DELAY - 1, true), (DELAY, true), (DELAY + 1, false)] {
        let policy = policy_with(|settings| settings.total_deadline_ms = Some(Millis::new(total)));
        let mut world = World::running(&policy);
        world.finish(retryable("the real error"));
        assert_eq!(
            world.state_name(),
            if ends { "failed" } else { "waiting" },
            "total {total}"
        );
        assert_eq!(world.last_error(), Some("the real error"));
        if ends {
            assert_eq!(world.end_reason(), EndReason::DeadlinePassed);
        }
    }
}

#[test]
fn s25_no_token_is_asked_for_a_retry_that_the_deadline_forbids() {
    let mut world = World::running(&policy_with(|settings| {
        settings.total_deadline_ms = Some(Millis::new(DELAY));
        settings.retry_budget = Some(crate::support::small_budget());
    }));
    assert!(matches!(world.finish(retryable("busy")), Effect::Idle(_)));
    assert_eq!(world.end_reason(), EndReason::DeadlinePassed);
}

#[test]
fn s25_a_retry_that_is_woken_too_late_does_not_start() {
    let policy = policy_with(|settings| settings.total_deadline_ms = Some(Millis::new(2 * DELAY)));
    let mut world = World::running(&policy);
    world.finish(retryable("the real error"));
    world.set_clock(2 * DELAY).tell(OperationEvent::Woken);
    assert_eq!(
        (world.end_reason(), world.started),
        (EndReason::DeadlinePassed, 1)
    );
    assert_eq!(world.last_error(), Some("the real error"));
}

#[test]
fn s25_a_lost_attempt_is_not_followed_by_another_after_the_deadline() {
    let policy = policy_with(|settings| settings.total_deadline_ms = Some(Millis::new(LEASE)));
    let mut world = World::running(&policy);
    world.until_due().tell(OperationEvent::Woken);
    assert_eq!(
        (world.end_reason(), world.started),
        (EndReason::DeadlinePassed, 1)
    );
}

/// Scenario 26: clients are told to come back within a second and the lease, whatever the holder's clock says.
#[test]
fn s26_retry_after_stays_within_a_second_and_the_lease() {
    let policy = policy_with(|_| {});
    let running = World::running(&policy);
    let seconds = |ms| running.record.retry_after_s(at(ms), &policy);
    assert_eq!(seconds(0), Some(5));
    assert_eq!(seconds(LEASE - 1), Some(1), "rounded up");
    assert_eq!(seconds(LEASE - 1_001), Some(2), "rounded up");
    assert_eq!(seconds(LEASE), Some(1), "at least a second");
    assert_eq!(seconds(LEASE + 1_000_000), Some(1), "at least a second");
    // The holder's clock is five minutes ahead of this one.
    let behind = reprise::machine::Timestamp::from_unix_ms(START.as_unix_ms() - 300_000);
    assert_eq!(
        running.record.retry_after_s(behind, &policy),
        Some(5),
        "at most the lease"
    );
}

#[test]
fn s26_every_other_state_is_bounded_too() {
    let policy = policy_with(|settings| settings.start_delay_ms = Millis::new(2_500));
    let behind = reprise::machine::Timestamp::from_unix_ms(START.as_unix_ms() - 3_600_000);
    let mut world = World::new(&policy);
    assert_eq!(world.record.retry_after_s(START, &policy), Some(3));
    assert_eq!(world.record.retry_after_s(behind, &policy), Some(3));
    world.until_due().tell(submitted());
    world.finish(retryable_after(200_000));
    assert_eq!(world.record.retry_after_s(world.now, &policy), Some(200));
    assert_eq!(
        world.record.retry_after_s(behind, &policy),
        Some(HINT_CAP / 1_000)
    );
    world.tell(OperationEvent::CancelAsked);
    assert_eq!(world.record.retry_after_s(START, &policy), None);
}

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
    while let Effect::Start(start) = effect {
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
            delay_ms: Millis::new(DELAY)
        }
    );
    assert_eq!(entries[15].outcome, AttemptEnd::Succeeded);
    assert_eq!(world.record.progress().attempts, 20);
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
        settings.attempts.backoff = reprise::machine::Backoff::Constant {
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
    world.tell(OperationEvent::Woken);
    assert!(
        matches!(
            world.until_due().tell(OperationEvent::Woken),
            Effect::Start(_)
        ),
        "a lost attempt has its retry"
    );
    assert_eq!(world.record.progress().attempts, 4);
}
