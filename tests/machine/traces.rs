//! Every short history: all sequences of events and times up to a depth, each decision held against the invariants.
//!
//! Histories that have led to the same record at the same time go on as one, so the depth is reached without
//! repeating work, and nothing is left out.

use std::collections::BTreeSet;

use reprise::machine::{
    DeliveryEvent, DeliveryOutcome, Effect, Event, EventDraft, Millis, OnLostAttempt,
    OperationEvent, OutboxEvent, Policy, Seed, Timestamp, Verdict, decide, stored,
};

use crate::invariants::{self, Case};
use crate::support::{
    DELAY, LEASE, World, delivered, delivery, draft, error, finished, paid_policy, policy_with,
    retryable, retryable_after, submitted, submitted_with_other_content, success_with, terminal,
};

const DEPTH: usize = 6;

/// How far a clock may be behind another.
const SKEW: u64 = 300_000;

#[test]
fn every_short_history_with_free_retries() {
    let seen = explore(&policy_with(|settings| {
        settings.attempts.max_attempts = 2;
        settings.events_on_failed = one_event();
    }));
    assert!(seen > 5_000, "{seen} cases");
}

#[test]
fn every_short_history_with_a_budget_and_a_deadline() {
    let seen = explore(&policy_with(|settings| {
        settings.attempts.max_attempts = 2;
        settings.retry_budget = paid_policy().settings().retry_budget;
        settings.total_deadline_ms = Some(Millis::new(LEASE + 3 * DELAY));
        settings.events_on_cancelled = one_event();
    }));
    assert!(seen > 5_000, "{seen} cases");
}

#[test]
fn every_short_history_where_a_lost_attempt_is_the_end() {
    let seen = explore(&policy_with(|settings| {
        settings.on_lost_attempt = OnLostAttempt::Fail;
        settings.start_delay_ms = Millis::new(DELAY);
        settings.total_deadline_ms = Some(Millis::new(3 * DELAY));
    }));
    assert!(seen > 5_000, "{seen} cases");
}

fn one_event() -> Vec<EventDraft> {
    vec![draft("order.ended")]
}

/// Goes through all histories; returns how many different cases there were.
fn explore(policy: &Policy) -> usize {
    let events = alphabet();
    let mut level = vec![World::new(policy)];
    let mut known = BTreeSet::new();
    let mut cases = 0;
    for _ in 0..DEPTH {
        let mut next_level = Vec::new();
        for here in level.iter().flat_map(moments) {
            for event in &events {
                cases += 1;
                next_level.extend(step(&here, event));
            }
            next_level.push(here);
        }
        next_level.retain(|world| known.insert((stored::encode(&world.record), world.now)));
        level = next_level;
    }
    println!("{cases} cases, {} records", known.len());
    cases
}

/// Where an event leads, other than nowhere. A question to the budget has both answers, or its answer never comes.
fn step(world: &World, event: &Event) -> Vec<World> {
    let decision = decide(
        &world.record,
        event.clone(),
        world.now,
        Seed::new(7),
        &world.policy,
    );
    let again = decide(
        &world.record,
        event.clone(),
        world.now,
        Seed::new(7),
        &world.policy,
    );
    assert_eq!(decision, again, "the same arguments give the same decision");
    let (before, now, policy) = (&world.record, world.now, &world.policy);
    invariants::check(&Case {
        before,
        event,
        now,
        policy,
        decision: &decision,
    });
    if let Effect::Withdraw(question) = decision.effect {
        let answers =
            [Verdict::Granted, Verdict::Refused].map(|verdict| question.clone().answered(verdict));
        return answers
            .into_iter()
            .flat_map(|answer| step(world, &Event::Operation(answer)))
            .collect();
    }
    decision
        .write
        .map(|record| World {
            record,
            ..world.clone()
        })
        .into_iter()
        .collect()
}

/// A world at the times at which the next event may come: at once, just before and at the next deadline, and by a
/// clock that is behind.
fn moments(world: &World) -> Vec<World> {
    let due = world.record.due().at;
    let back = |at: Timestamp, ms| Timestamp::from_unix_ms(at.as_unix_ms() - ms);
    let times = BTreeSet::from([world.now, back(due, 1), due, back(world.now, SKEW)]);
    times
        .into_iter()
        .map(|now| World {
            now,
            ..world.clone()
        })
        .collect()
}

fn alphabet() -> Vec<Event> {
    let mut operation = vec![
        submitted(),
        submitted_with_other_content(),
        OperationEvent::Woken,
        OperationEvent::CancelAsked,
        OperationEvent::RetryAsked,
    ];
    for attempt in 1..=3 {
        for outcome in [
            success_with(&["order.created"]),
            retryable("busy"),
            retryable_after(20_000),
            terminal("no"),
        ] {
            operation.push(finished(attempt, outcome));
        }
    }
    let outbox = [
        OutboxEvent::Woken,
        delivery(0, delivered(1, DeliveryOutcome::Accepted)),
        delivery(
            0,
            delivered(
                1,
                DeliveryOutcome::Retryable {
                    error: error("busy"),
                    hint: None,
                },
            ),
        ),
        delivery(
            0,
            delivered(
                1,
                DeliveryOutcome::Rejected {
                    error: error("never"),
                },
            ),
        ),
        delivery(0, delivered(2, DeliveryOutcome::Accepted)),
        delivery(0, DeliveryEvent::ReplayAsked),
        delivery(0, DeliveryEvent::DropAsked),
    ];
    operation
        .into_iter()
        .map(Event::Operation)
        .chain(outbox.map(Event::Outbox))
        .collect()
}
