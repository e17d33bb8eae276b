//! Events of a record: each on its own schedule, none lost, none held up by another.

use reprise::machine::{
    DeliveryEvent, DeliveryOutcome, DeliveryState, DueReason, Effect, Millis, OperationEvent,
    OutboxEvent, Refusal,
};

use crate::support::{
    DELAY, LEASE, RETENTION, TIMEOUT, World, at, delivered, delivery, draft, error, finished,
    policy_with, success_with, terminal,
};

fn busy() -> DeliveryOutcome {
    DeliveryOutcome::Retryable {
        error: error("busy"),
        hint: None,
    }
}

fn poisoned() -> DeliveryOutcome {
    DeliveryOutcome::Rejected {
        error: error("poisoned"),
    }
}

/// The deliveries that a relay starts before it has to wait, as (event, attempt).
fn relay(world: &mut World) -> Vec<(u32, u32)> {
    let mut started = Vec::new();
    for _ in 0..40 {
        match world.tell(OutboxEvent::Woken) {
            Effect::Deliver(start) => started.push((start.seq, start.attempt)),
            Effect::Idle(due) if due.at <= world.now => {}
            effect => {
                assert!(
                    matches!(effect, Effect::Idle(_)),
                    "a relay either delivers or waits: {effect:?}"
                );
                return started;
            }
        }
    }
    panic!("more deliveries than events: {started:?}")
}

#[test]
fn events_are_written_with_the_change_that_they_tell_of() {
    let mut world = World::running(&policy_with(|_| {}));
    let decision = world.ask(
        finished(1, success_with(&["order.created", "stock.reserved"])),
        1,
    );
    let record = decision.write.expect("a success is written");
    let kinds: Vec<_> = record
        .outbox()
        .deliveries()
        .iter()
        .map(|one| one.event.kind().as_str().to_owned())
        .collect();
    assert_eq!(kinds, ["order.created", "stock.reserved"]);
    world.record = record;
    assert_eq!(relay(&mut world), [(0, 1), (1, 1)], "both are due at once");
}

#[test]
fn failure_and_cancellation_have_events_of_their_own() {
    let policy = policy_with(|settings| {
        settings.events_on_failed = vec![draft("order.failed")];
        settings.events_on_cancelled = vec![draft("order.cancelled")];
    });
    for (event, kind) in [
        (finished(1, terminal("no")), "order.failed"),
        (OperationEvent::CancelAsked, "order.cancelled"),
    ] {
        let mut world = World::running(&policy);
        world.tell(event);
        let [only] = world.record.outbox().deliveries() else {
            panic!("one event")
        };
        assert_eq!(
            (only.event.kind().as_str(), only.occurred_at),
            (kind, at(0))
        );
    }
    let mut done = World::running(&policy);
    done.finish(success_with(&[]));
    assert_eq!(done.record.outbox().deliveries(), []);
}

/// Scenario 30: the first event is poisoned; those behind it are on time.
#[test]
fn s30_a_poisoned_event_holds_up_no_other() {
    let mut world = World::done(&policy_with(|_| {}), &["first", "second"]);
    relay(&mut world);
    world.finish_delivery(0, poisoned());
    world.finish_delivery(1, DeliveryOutcome::Accepted);
    let states = |world: &World| {
        world
            .record
            .outbox()
            .deliveries()
            .iter()
            .map(|one| one.state.clone())
            .collect::<Vec<_>>()
    };
    let [
        DeliveryState::Dead {
            error: Some(kept), ..
        },
        DeliveryState::Delivered { .. },
    ] = &states(&world)[..]
    else {
        panic!("{:?}", states(&world))
    };
    assert_eq!(*kept, error("poisoned"));
    // The dead letter can be replayed, and dropped when it is still poisoned.
    world.tell(delivery(0, DeliveryEvent::ReplayAsked));
    assert_eq!(relay(&mut world), [(0, 2)]);
    world.finish_delivery(0, poisoned());
    world.tell(delivery(0, DeliveryEvent::DropAsked));
    assert!(matches!(states(&world)[0], DeliveryState::Dropped { .. }));
    assert_eq!(relay(&mut world), []);
}

/// Scenario 29: a crash between the delivery and its mark repeats the delivery, under the same id.
#[test]
fn s29_a_lost_delivery_is_repeated_under_the_same_id() {
    let mut world = World::done(&policy_with(|_| {}), &["order.created"]);
    let id =
        |world: &World| world.record.outbox().deliveries()[0].event_id(world.record.identity().id);
    let first = id(&world);
    assert_eq!(relay(&mut world), [(0, 1)]);
    assert_eq!(relay(&mut world), [], "its lease holds");
    assert_eq!(world.record.due().reason, DueReason::DeliveryLeaseEnd);
    world.until_due();
    assert_eq!(
        (relay(&mut world), id(&world)),
        (vec![(0, 2)], first.clone())
    );
    assert_eq!(first, "0199a1b2-c3d4-7e5f-8a6b-7c8d9eafb0c1-0");
    assert_eq!(
        world.tell(delivery(0, delivered(1, DeliveryOutcome::Accepted))),
        Effect::Stale
    );
}

#[test]
fn deliveries_follow_their_own_policy() {
    let policy = policy_with(|settings| {
        settings.delivery.max_attempts = 2;
        settings.delivery.timeout_ms = Millis::new(70);
        settings.delivery.lease_ms = Millis::new(90);
        settings.delivery.hint_cap_ms = Millis::new(50);
        settings.delivery.backoff = reprise::machine::Backoff::Constant {
            delay_ms: Millis::new(30),
        };
    });
    let mut world = World::done(&policy, &["order.created"]);
    let Effect::Deliver(start) = world.tell(OutboxEvent::Woken) else {
        panic!("it is due")
    };
    assert_eq!(
        (start.until.at, start.until.reason),
        (at(70), DueReason::AttemptTimeout)
    );
    assert_eq!(world.record.due().at, at(90));
    for (hint, wait) in [(None, 30), (Some(29), 30), (Some(40), 40), (Some(51), 50)] {
        let outcome = DeliveryOutcome::Retryable {
            error: error("busy"),
            hint: hint.map(Millis::new),
        };
        let mut world = world.clone();
        world.finish_delivery(0, outcome);
        assert_eq!(world.record.due().at, at(wait), "hint {hint:?}");
        assert_eq!(relay(world.until_due()), [(0, 2)]);
        world.finish_delivery(0, busy());
        assert!(matches!(
            world.record.outbox().deliveries()[0].state,
            DeliveryState::Dead { .. }
        ));
    }
}

#[test]
fn a_delivery_that_is_lost_again_and_again_becomes_a_dead_letter() {
    let mut world = World::done(
        &policy_with(|settings| settings.delivery.max_attempts = 2),
        &["order.created"],
    );
    assert_eq!(relay(&mut world), [(0, 1)]);
    assert_eq!(relay(world.until_due()), [(0, 2)]);
    assert_eq!(relay(world.until_due()), []);
    let [only] = world.record.outbox().deliveries() else {
        panic!("one event")
    };
    assert_eq!(
        only.state,
        DeliveryState::Dead {
            error: None,
            expires_at: at(2 * LEASE + RETENTION)
        }
    );
    // A replay has all its attempts again.
    world.tell(delivery(0, DeliveryEvent::ReplayAsked));
    assert_eq!(relay(&mut world), [(0, 3)]);
    assert_eq!(relay(world.until_due()), [(0, 4)]);
}

#[test]
fn the_backoff_of_one_event_leaves_the_others_alone() {
    let mut world = World::done(&policy_with(|_| {}), &["first", "second"]);
    relay(&mut world);
    world.set_clock(10).finish_delivery(0, busy());
    world.set_clock(20).finish_delivery(1, busy());
    assert_eq!(world.record.due().at, at(10 + DELAY));
    assert_eq!(relay(world.set_clock(10 + DELAY)), [(0, 2)]);
    assert_eq!(relay(world.set_clock(20 + DELAY)), [(1, 2)]);
}

#[test]
fn an_event_that_is_left_keeps_its_record() {
    let mut world = World::done(&policy_with(|_| {}), &["order.created"]);
    assert_eq!(world.record.expires_at(), None);
    world.set_clock(2 * RETENTION);
    assert_eq!(
        relay(&mut world),
        [(0, 1)],
        "long after the retention the event is still there"
    );
    assert_eq!(world.record.due().reason, DueReason::DeliveryLeaseEnd);
    world.finish_delivery(0, DeliveryOutcome::Accepted);
    assert_eq!(world.record.expires_at(), Some(at(RETENTION)));
    assert_eq!(world.tell(OutboxEvent::Woken), Effect::Expired);
}

#[test]
fn a_dead_letter_is_kept_for_a_retention_of_its_own() {
    let mut world = World::done(&policy_with(|_| {}), &["order.created"]);
    world.set_clock(RETENTION - 1);
    relay(&mut world);
    world.finish_delivery(0, poisoned());
    assert_eq!(world.record.expires_at(), Some(at(2 * RETENTION - 1)));
    assert_eq!(world.record.due().at, at(2 * RETENTION - 1));
    world.tell(delivery(0, DeliveryEvent::DropAsked));
    assert_eq!(world.record.expires_at(), Some(at(RETENTION)));
}

#[test]
fn deliveries_go_on_while_the_operation_runs_again() {
    let policy = policy_with(|settings| settings.events_on_failed = vec![draft("order.failed")]);
    let mut world = World::running(&policy);
    world.finish(terminal("no"));
    world.tell(OperationEvent::RetryAsked);
    assert_eq!(world.state_name(), "running");
    assert_eq!(relay(&mut world), [(0, 1)]);
    world.finish_delivery(0, DeliveryOutcome::Accepted);
    assert_eq!(world.state_name(), "running");
    assert_eq!(world.record.due().at, at(LEASE));
    const { assert!(TIMEOUT < LEASE) };
}

#[test]
fn the_next_deadline_is_the_earlier_of_the_operation_and_its_events() {
    let policy = policy_with(|settings| settings.events_on_failed = vec![draft("order.failed")]);
    for (hint, due) in [(LEASE - 1, LEASE - 1), (LEASE + 1, LEASE)] {
        let mut world = World::running(&policy);
        world.finish(terminal("no"));
        relay(&mut world);
        let hint = Some(Millis::new(hint));
        world.finish_delivery(
            0,
            DeliveryOutcome::Retryable {
                error: error("busy"),
                hint,
            },
        );
        world.tell(OperationEvent::RetryAsked);
        assert_eq!(
            (world.state_name(), world.record.due().at),
            ("running", at(due))
        );
    }
}

#[test]
fn an_operator_cannot_fill_the_outbox_beyond_its_room() {
    let policy = policy_with(|settings| settings.events_on_failed = vec![draft("order.failed"); 4]);
    let mut world = World::running(&policy);
    let mut rounds = 0;
    for _ in 0..10 {
        world.finish(terminal("no"));
        rounds += 1;
        if world.tell(OperationEvent::RetryAsked) == Effect::Refuse(Refusal::OutboxFull) {
            break;
        }
    }
    assert_eq!((rounds, world.record.outbox().deliveries().len()), (4, 16));
    // Room comes from events that are settled; their numbers are not used again.
    assert_eq!(relay(&mut world).len(), 16);
    for seq in 0..4 {
        world.finish_delivery(seq, DeliveryOutcome::Accepted);
    }
    assert!(matches!(
        world.tell(OperationEvent::RetryAsked),
        Effect::Start(_)
    ));
    world.finish(terminal("no"));
    let numbers: Vec<u32> = world
        .record
        .outbox()
        .deliveries()
        .iter()
        .map(|one| one.seq)
        .collect();
    assert_eq!(numbers, (4..20).collect::<Vec<u32>>());
}

#[test]
fn an_unknown_event_is_refused() {
    let world = World::done(&policy_with(|_| {}), &["order.created"]);
    for event in [
        DeliveryEvent::DropAsked,
        DeliveryEvent::ReplayAsked,
        delivered(1, DeliveryOutcome::Accepted),
    ] {
        assert_eq!(
            world.ask(delivery(1, event), 1).effect,
            Effect::Refuse(Refusal::NoSuchEvent)
        );
    }
}
