//! The retry budget's arithmetic, and when the machine asks for it.

use reprise::machine::budget::{self, tokens};
use reprise::machine::{
    BudgetPolicy, Effect, EndReason, Millis, OperationEvent, Seed, State, Verdict, Withdrawal,
};

use crate::support::{
    LEASE, World, at, paid_policy, policy_with, retryable, small_budget, success,
};

/// One token in fifty seconds, a tenth for each success, two at most.
fn policy() -> BudgetPolicy {
    small_budget()
}

/// The time that deposits one token.
const TOKEN_MS: u64 = 50_000;

fn withdraw(word: u64, ms: u64) -> Withdrawal {
    budget::withdraw(word, at(ms), Seed::new(ms), &policy())
}

fn deposit_success(word: u64, ms: u64) -> Option<u64> {
    budget::deposit_success(word, at(ms), Seed::new(ms), &policy())
}

/// The word after a withdrawal, if there was a token.
fn take(word: u64, ms: u64, policy: &BudgetPolicy) -> Option<u64> {
    match budget::withdraw(word, at(ms), Seed::new(word), policy) {
        Withdrawal::Granted { word } => Some(word),
        Withdrawal::Refused { .. } => None,
    }
}

/// The word after a withdrawal that must be granted.
#[track_caller]
fn granted(word: u64, ms: u64) -> u64 {
    take(word, ms, &policy()).expect("there is a token")
}

#[track_caller]
fn assert_refused(word: u64, ms: u64) {
    assert_eq!(withdraw(word, ms), Withdrawal::Refused { repair: None });
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
    assert_refused(empty, TOKEN_MS - 1);
    let paid = granted(empty, TOKEN_MS);
    assert_refused(paid, 2 * TOKEN_MS - 1);
    granted(paid, 2 * TOKEN_MS);
    assert_eq!(tokens(empty, at(1_000 * TOKEN_MS), &policy()), 2);
    assert_refused(
        granted(granted(empty, 1_000 * TOKEN_MS), 1_000 * TOKEN_MS),
        1_000 * TOKEN_MS,
    );
}

#[test]
fn frequent_use_neither_loses_nor_mints_time() {
    for rate in [1, 7, 333, 999, 1_000] {
        let odd = BudgetPolicy {
            capacity_tokens: 1_000,
            deposit_per_second_millitokens: rate,
            deposit_per_success_millitokens: 0,
        };
        let mut word = 0;
        for _ in 0..1_000 {
            word = take(word, 0, &odd).expect("a full bucket pays a thousand retries");
        }
        // The word is rewritten several times a second by a deposit of nothing.
        for ms in (0..=900_000).step_by(300) {
            word = budget::deposit_success(word, at(ms), Seed::new(ms), &odd)
                .expect("it is far from full");
        }
        assert_eq!(
            tokens(word, at(900_000), &odd),
            900 * u64::from(rate) / 1_000,
            "{rate} a second"
        );
    }
}

#[test]
fn successes_deposit_and_a_full_bucket_writes_nothing() {
    assert_eq!(deposit_success(0, 0), None);
    let mut word = granted(granted(0, 0), 0);
    for _ in 0..9 {
        word = deposit_success(word, 0).expect("the bucket is not full");
        assert_refused(word, 0);
    }
    word = deposit_success(word, 0).expect("the bucket is not full");
    assert_eq!(tokens(word, at(0), &policy()), 1);
    for _ in 0..10 {
        word = deposit_success(word, 0).expect("the bucket is not full");
    }
    assert_eq!(deposit_success(word, 0), None);
    // Time fills it as well.
    assert_eq!(deposit_success(granted(0, 0), TOKEN_MS), None);
}

#[test]
fn a_deposit_stops_at_the_capacity() {
    let generous = BudgetPolicy {
        deposit_per_success_millitokens: u32::MAX,
        ..policy()
    };
    let word = budget::deposit_success(granted(0, 0), at(0), Seed::new(1), &generous)
        .expect("the bucket is not full");
    assert_eq!(tokens(word, at(0), &generous), 2);
}

#[test]
fn a_clock_that_steps_back_neither_mints_nor_loses_tokens() {
    let ahead = 300_000;
    let empty = granted(granted(0, ahead), ahead);
    // Two clocks, five minutes apart, take turns: no time has passed for the bucket.
    for _ in 0..10 {
        assert_refused(empty, 0);
        assert_refused(empty, ahead);
    }
    let touched = deposit_success(empty, 0).expect("the bucket is not full");
    assert_refused(touched, ahead + TOKEN_MS * 9 / 10 - 1);
    granted(touched, ahead + TOKEN_MS * 9 / 10);
}

#[test]
fn the_stamp_of_a_broken_clock_is_repaired() {
    let decade = 10 * 365 * 24 * 3_600_000;
    let broken = granted(granted(0, decade), decade);
    let Withdrawal::Refused {
        repair: Some(repaired),
    } = withdraw(broken, 0)
    else {
        panic!("an empty bucket with an impossible stamp is repaired")
    };
    assert_refused(repaired, TOKEN_MS - 1);
    granted(repaired, TOKEN_MS);
    // Ten minutes ahead is a clock that is off, not one that is broken.
    let ahead = granted(granted(0, 600_000), 600_000);
    assert_refused(ahead, 0);
    let beyond = granted(granted(0, 601_000), 601_000);
    assert!(matches!(
        withdraw(beyond, 0),
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
            capacity_tokens: 1_000,
            deposit_per_second_millitokens: u32::MAX,
            deposit_per_success_millitokens: 0,
        },
        BudgetPolicy {
            capacity_tokens: 1,
            deposit_per_second_millitokens: 1,
            deposit_per_success_millitokens: 1,
        },
    ];
    for word in words {
        for now in times.map(reprise::machine::Timestamp::from_unix_ms) {
            for policy in &policies {
                let held = tokens(word, now, policy);
                assert!(held <= u64::from(policy.capacity_tokens));
                match budget::withdraw(word, now, Seed::new(3), policy) {
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
    let mut word = 0;
    let mut waiting = 0;
    for seed in 0..100 {
        let mut operation = World::running(&policy);
        let Effect::Withdraw(question) = operation.finish(retryable("down")) else {
            panic!("a retry asks the budget")
        };
        assert_eq!(
            operation.state_name(),
            "running",
            "nothing is scheduled before the budget has answered"
        );
        let verdict = match budget::withdraw(word, operation.now, Seed::new(seed), &small_budget())
        {
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

#[test]
fn two_writers_of_one_moment_write_different_words() {
    let words: std::collections::BTreeSet<Option<u64>> = (0..100)
        .map(|seed| budget::deposit_success(granted(0, 0), at(0), Seed::new(seed), &policy()))
        .collect();
    assert!(words.len() > 95, "{} different words of 100", words.len());
    assert!(words.iter().all(|word| tokens(
        word.expect("the bucket is not full"),
        at(0),
        &policy()
    ) == 1));
}

#[test]
fn no_nonce_touches_the_tokens_or_the_time() {
    for seed in 0..50_000 {
        let Withdrawal::Granted { word } = budget::withdraw(0, at(0), Seed::new(seed), &policy())
        else {
            panic!("a full bucket pays")
        };
        assert_eq!(
            (word >> 32, word >> 12 & 0xf_ffff),
            (1_800_000_000, 1_000),
            "seed {seed}"
        );
    }
}

/// The bits of a word are a stored form: instances of different ages share it.
#[test]
fn the_layout_of_a_word_is_fixed() {
    let word = granted(0, 0);
    assert_eq!((word >> 32, word >> 12 & 0xf_ffff), (1_800_000_000, 1_000));
}

#[test]
fn no_token_is_asked_for_a_lost_attempt_that_the_deadline_forbids_to_repeat() {
    let mut world = World::running(&policy_with(|settings| {
        settings.retry_budget = Some(small_budget());
        settings.total_deadline_ms = Some(Millis::new(LEASE));
    }));
    assert!(matches!(
        world.until_due().tell(OperationEvent::Woken),
        Effect::Idle(_)
    ));
    assert_eq!(world.end_reason(), EndReason::DeadlinePassed);
}
