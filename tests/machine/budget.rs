//! The retry budget's arithmetic, and when the machine asks for it.

use reprise::machine::budget::{deposit_success, tokens, withdraw};
use reprise::machine::{
    BudgetPolicy, Effect, EndReason, Millis, OperationEvent, State, Verdict, Withdrawal,
};

use crate::support::{World, at, paid_policy, retryable, small_budget, success};

/// One token a minute, a tenth for each success, two at most.
fn policy() -> BudgetPolicy {
    small_budget()
}

const MINUTE: u64 = 60_000;

/// The word after a withdrawal that must be granted.
#[track_caller]
fn granted(word: u64, ms: u64) -> u64 {
    match withdraw(word, at(ms), &policy()) {
        Withdrawal::Granted { word } => word,
        refused @ Withdrawal::Refused { .. } => panic!("{refused:?}"),
    }
}

#[track_caller]
fn assert_refused(word: u64, ms: u64) {
    assert_eq!(
        withdraw(word, at(ms), &policy()),
        Withdrawal::Refused { repair: None }
    );
}

#[test]
fn a_bucket_that_was_never_used_is_full_and_an_empty_one_refuses() {
    let word = granted(granted(0, 0), 0);
    assert_eq!(tokens(0, at(0), &policy()), 2);
    assert_eq!(tokens(word, at(0), &policy()), 0);
    assert_refused(word, 0);
}

#[test]
fn time_deposits_to_the_millisecond_and_never_beyond_the_capacity() {
    let empty = granted(granted(0, 0), 0);
    assert_refused(empty, MINUTE - 1);
    let paid = granted(empty, MINUTE);
    assert_refused(paid, 2 * MINUTE - 1);
    granted(paid, 2 * MINUTE);
    assert_eq!(tokens(empty, at(1_000 * MINUTE), &policy()), 2);
    assert_refused(
        granted(granted(empty, 1_000 * MINUTE), 1_000 * MINUTE),
        1_000 * MINUTE,
    );
}

#[test]
fn frequent_use_neither_loses_nor_mints_time() {
    // Thirds of a token: each success's deposit rewrites the word in the middle of a millisecond's worth of time.
    let thirds = BudgetPolicy {
        capacity_tokens: 4_000,
        deposit_every_ms: Millis::new(3_333),
        deposit_per_success_millitokens: 0,
    };
    let mut word = 0;
    for _ in 0..4_000 {
        match withdraw(word, at(0), &thirds) {
            Withdrawal::Granted { word: next } => word = next,
            Withdrawal::Refused { .. } => panic!("a full bucket pays four thousand retries"),
        }
    }
    for ms in 1..=100_000 {
        word = deposit_success(word, at(ms), &thirds).expect("the bucket is far from full");
    }
    // 100,000 ms are 30.003 tokens.
    assert_eq!(tokens(word, at(100_000), &thirds), 30);
    let mut withdrawn = 0;
    while let Withdrawal::Granted { word: next } = withdraw(word, at(100_000), &thirds) {
        word = next;
        withdrawn += 1;
    }
    assert_eq!(withdrawn, 30);
}

#[test]
fn successes_deposit_and_a_full_bucket_writes_nothing() {
    assert_eq!(deposit_success(0, at(0), &policy()), None);
    let mut word = granted(granted(0, 0), 0);
    for _ in 0..9 {
        word = deposit_success(word, at(0), &policy()).expect("the bucket is not full");
        assert_refused(word, 0);
    }
    word = deposit_success(word, at(0), &policy()).expect("the bucket is not full");
    assert_eq!(tokens(word, at(0), &policy()), 1);
    for _ in 0..10 {
        word = deposit_success(word, at(0), &policy()).expect("the bucket is not full");
    }
    assert_eq!(deposit_success(word, at(0), &policy()), None);
    // Time fills it as well.
    assert_eq!(deposit_success(granted(0, 0), at(MINUTE), &policy()), None);
}

#[test]
fn a_deposit_stops_at_the_capacity() {
    let generous = BudgetPolicy {
        deposit_per_success_millitokens: u32::MAX,
        ..policy()
    };
    let word = deposit_success(granted(0, 0), at(0), &generous).expect("the bucket is not full");
    assert_eq!(tokens(word, at(0), &generous), 2);
}

#[test]
fn a_clock_that_steps_back_neither_mints_nor_loses_tokens() {
    let empty = granted(granted(0, 5 * MINUTE), 5 * MINUTE);
    // Two clocks, five minutes apart, take turns: no time has passed for the bucket.
    for _ in 0..10 {
        assert_refused(empty, 0);
        assert_refused(empty, 5 * MINUTE);
    }
    let touched = deposit_success(empty, at(0), &policy()).expect("the bucket is not full");
    assert_refused(touched, 5 * MINUTE);
    granted(touched, 6 * MINUTE);
}

#[test]
fn the_stamp_of_a_broken_clock_is_repaired() {
    let century = 100 * 365 * 24 * 60 * MINUTE;
    let broken = granted(granted(0, century), century);
    let Withdrawal::Refused {
        repair: Some(repaired),
    } = withdraw(broken, at(0), &policy())
    else {
        panic!("an empty bucket with an impossible stamp is repaired")
    };
    assert_refused(repaired, MINUTE - 1);
    granted(repaired, MINUTE);
    // Ten minutes ahead is a clock that is off, not one that is broken.
    let ahead = granted(granted(0, 10 * MINUTE), 10 * MINUTE);
    assert_refused(ahead, 0);
    let beyond = granted(granted(0, 10 * MINUTE + 1), 10 * MINUTE + 1);
    assert!(matches!(
        withdraw(beyond, at(0), &policy()),
        Withdrawal::Refused { repair: Some(_) }
    ));
}

#[test]
fn any_word_at_any_time_is_a_bucket() {
    let words = [
        0,
        1,
        u64::MAX,
        u64::MAX >> 1,
        1 << 22,
        (1 << 22) - 1,
        i64::MIN.cast_unsigned(),
    ];
    let times = [0, 1, 1 << 41, (1 << 42) - 1, 1 << 42, u64::MAX];
    let policies = [
        policy(),
        BudgetPolicy {
            capacity_tokens: 4_000,
            deposit_every_ms: Millis::new(u64::MAX),
            deposit_per_success_millitokens: 0,
        },
        BudgetPolicy {
            capacity_tokens: 1,
            deposit_every_ms: Millis::new(1),
            deposit_per_success_millitokens: 1,
        },
    ];
    for word in words {
        for now in times.map(reprise::machine::Timestamp::from_unix_ms) {
            for policy in &policies {
                let held = tokens(word, now, policy);
                assert!(held <= u64::from(policy.capacity_tokens));
                match withdraw(word, now, policy) {
                    Withdrawal::Granted { word } => {
                        assert!(held >= 1 && word != 0);
                        assert_eq!(tokens(word, now, policy), held - 1);
                    }
                    Withdrawal::Refused { .. } => assert_eq!(held, 0),
                }
            }
        }
    }
}

/// Scenario 24: a hundred operations fail at once, each with a long delay, and the budget holds two retries.
#[test]
fn the_budget_is_charged_when_a_retry_is_scheduled() {
    let policy = paid_policy();
    let budget = small_budget();
    let mut word = 0;
    let mut waiting = 0;
    for _ in 0..100 {
        let mut operation = World::running(&policy);
        let Effect::Withdraw(question) = operation.finish(retryable("down")) else {
            panic!("a retry asks the budget")
        };
        assert_eq!(
            operation.state_name(),
            "running",
            "nothing is scheduled before the budget has answered"
        );
        let verdict = match withdraw(word, operation.now, &budget) {
            Withdrawal::Granted { word: next } => {
                word = next;
                Verdict::Granted
            }
            Withdrawal::Refused { .. } => Verdict::Refused,
        };
        operation.tell(question.answered(verdict));
        match operation.record.state() {
            State::Waiting { .. } => {
                waiting += 1;
                // When its time comes it starts without asking again.
                assert!(matches!(
                    operation.until_due().tell(OperationEvent::Woken),
                    Effect::Start(_)
                ));
            }
            State::Failed { error, .. } => {
                assert_eq!(*error, EndReason::BudgetEmpty);
                assert_eq!(operation.last_error(), Some("down"));
            }
            state @ (State::Queued { .. }
            | State::Running(_)
            | State::Done { .. }
            | State::Cancelled { .. }) => panic!("neither scheduled nor ended: {state:?}"),
        }
    }
    assert_eq!(waiting, 2);
}

#[test]
fn first_attempts_are_free_and_successes_deposit() {
    let mut world = World::running(&paid_policy());
    assert_eq!(world.finish(success()), Effect::Deposit);
}

#[test]
fn a_question_put_again_after_a_lost_swap_needs_no_second_charge() {
    let mut world = World::running(&paid_policy());
    let Effect::Withdraw(question) = world.finish(retryable("down")) else {
        panic!("a retry asks the budget")
    };
    let answer = question.answered(Verdict::Granted);
    let lost = world.ask(answer.clone(), 1);
    let again = world.ask(answer, 2);
    assert_eq!(
        lost, again,
        "the wait was drawn with the question, so new entropy changes nothing"
    );
    assert!(again.write.is_some());
}
