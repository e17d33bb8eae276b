//! An upstream is down for ten minutes while a thousand operations wait for it: what it sees of them, and how they come
//! to their end once it is back. Prints the curve.

use reprise::machine::{
    Backoff, BudgetPolicy, EndReason, Millis, OnLostAttempt, Policy, Record, State,
};

use crate::setting::{Kind, START_MS, policy};
use crate::shop::Shop;

const OPERATIONS: u64 = 1_000;
const OUTAGE_S: u64 = 600;
const CAPACITY: u32 = 1_000;
const PER_SECOND: u32 = 2;

/// Waits that are drawn evenly from a span, and a budget of two retries a second beyond a first thousand.
fn patient(span_ms: u64) -> Policy {
    let mut settings = policy(Kind::Idempotent, CAPACITY).settings().clone();
    settings.attempts.max_attempts = 100;
    settings.attempts.backoff = Backoff::FullJitter {
        base_ms: Millis::new(span_ms),
        cap_ms: Millis::new(span_ms),
        floor_ms: Millis::new(1_000),
    };
    settings.on_lost_attempt = OnLostAttempt::Retry;
    settings.retry_budget = Some(BudgetPolicy {
        capacity_tokens: CAPACITY,
        deposit_per_second_millitokens: PER_SECOND * 1_000,
        deposit_per_success_millitokens: 100,
    });
    Policy::new(settings).expect("sound settings")
}

/// One line for each half minute.
fn print(title: &str, shop: &Shop) {
    println!("{title}: attempts per second, in steps of half a minute");
    let calls = shop.world.calls.borrow();
    let last = calls.keys().last().copied().unwrap_or(0);
    for from in (0..=last).step_by(30) {
        let sum: u32 = calls.range(from..from + 30).map(|(_, calls)| calls).sum();
        let mark = if from < OUTAGE_S { "down" } else { "up" };
        let bar = "#".repeat(usize::try_from(sum / 20).expect("few"));
        println!(
            "{from:>5} s {mark:>4} {:>4}.{} {bar}",
            sum / 30,
            sum % 30 / 3
        );
    }
}

struct Drained {
    in_outage: u32,
    after: usize,
    most_in_a_second: u32,
    done: usize,
    out_of_budget: usize,
}

fn outage(title: &str, span_ms: u64) -> Drained {
    let shop = Shop::new(patient(span_ms), 8);
    shop.world.is_up.set(false);
    let ids: Vec<_> = (0..OPERATIONS)
        .map(|key| shop.submit(key).identity().id)
        .collect();
    shop.tick_until(START_MS + OUTAGE_S * 1_000);
    shop.world.is_up.set(true);
    shop.tick_until(START_MS + (OUTAGE_S + span_ms / 1_000 + 20) * 1_000);
    print(title, &shop);
    assert_eq!(shop.memory.count("t/"), 0, "no timer is left over");
    let records: Vec<Record> = ids.into_iter().map(|id| shop.record(id)).collect();
    let done = |record: &&Record| matches!(record.state(), State::Done { .. });
    let out_of_budget = |record: &&Record| {
        let State::Failed { error, .. } = record.state() else {
            return false;
        };
        *error == EndReason::BudgetEmpty
    };
    let calls = shop.world.calls.borrow();
    let drained = Drained {
        // The first attempts are no retries. The tick of the last second still meets an upstream that is down.
        in_outage: calls.range(..=OUTAGE_S).map(|(_, calls)| calls).sum(),
        after: calls
            .range(OUTAGE_S + 1..)
            .map(|(_, calls)| *calls as usize)
            .sum(),
        most_in_a_second: calls
            .range(OUTAGE_S + 1..)
            .map(|(_, calls)| *calls)
            .max()
            .unwrap_or(0),
        done: records.iter().filter(done).count(),
        out_of_budget: records.iter().filter(out_of_budget).count(),
    };
    println!(
        "{} attempts while it was down, {} after, {} in a second at most; {} done, {} out of budget",
        drained.in_outage,
        drained.after,
        drained.most_in_a_second,
        drained.done,
        drained.out_of_budget
    );
    assert_eq!(
        drained.done + drained.out_of_budget,
        records.len(),
        "all have come to an end"
    );
    let first = u32::try_from(OPERATIONS).expect("a thousand");
    let retries = u32::try_from(OUTAGE_S).expect("minutes") * PER_SECOND + CAPACITY;
    assert!(
        drained.in_outage <= first + retries,
        "{} attempts",
        drained.in_outage
    );
    drained
}

/// The budget pays for all of it: everything waits, and drains spread over the longest wait.
#[test]
fn operations_that_wait_long_outlast_the_outage() {
    let drained = outage("waits of up to fifteen minutes", 900_000);
    assert!(drained.done > 900, "{} done", drained.done);
    assert!(
        drained.most_in_a_second <= 20,
        "{} in a second",
        drained.most_in_a_second
    );
    assert_eq!(drained.after, drained.done, "each one once");
}

/// It does not: the upstream sees what the budget pays for and no more, and the others end with that reason.
#[test]
fn operations_that_wait_briefly_run_into_the_budget() {
    let drained = outage("waits of up to a minute", 60_000);
    assert!(
        drained.out_of_budget > 100,
        "{} out of budget",
        drained.out_of_budget
    );
    assert!(
        drained.most_in_a_second <= 20,
        "{} in a second",
        drained.most_in_a_second
    );
    assert_eq!(drained.after, drained.done, "each one once");
}
