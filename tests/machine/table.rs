//! The transition tables: each (state, event) before, at and after the state's deadline has its line.
//!
//! A cell is the next state and the effect; `=` means that nothing is written. A line may name several events that
//! mean the same. A pair without a line, or with two, fails the completeness test.

use reprise::machine::{
    DeliveryEvent, DeliveryOutcome, Effect, OperationEvent, Timestamp, Verdict,
};

use crate::support::{
    DELAY, World, at, delivered, delivery, draft, effect_name, error, finished, paid_policy,
    policy_with, retryable, submitted, submitted_with_other_content, success, terminal,
};

/// `running` has no retry budget, `running-paid` has one.
const OPERATIONS: &str = "
queued       | submitted woken                        | = idle          | running start  | running start
queued       | other-content                          | = mismatch      | = mismatch     | = mismatch
queued       | success retryable terminal late        | = stale         | = stale        | = stale
queued       | granted-failed refused-failed          | = stale         | = stale        | = stale
queued       | granted-lost refused-lost granted-late | = stale         | = stale        | = stale
queued       | cancel                                 | cancelled idle  | cancelled idle | cancelled idle
queued       | retry                                  | = not-to-retry  | = not-to-retry | = not-to-retry

running      | submitted woken                        | = idle          | running start  | running start
running      | other-content                          | = mismatch      | = mismatch     | = mismatch
running      | success                                | done idle       | done idle      | done idle
running      | retryable                              | waiting idle    | waiting idle   | waiting idle
running      | terminal                               | failed idle     | failed idle    | failed idle
running      | late granted-late                      | = stale         | = stale        | = stale
running      | granted-failed                         | waiting idle    | waiting idle   | waiting idle
running      | refused-failed                         | failed idle     | failed idle    | failed idle
running      | granted-lost                           | = idle          | running start  | running start
running      | refused-lost                           | = idle          | failed idle    | failed idle
running      | cancel                                 | cancelled idle  | cancelled idle | cancelled idle
running      | retry                                  | = not-to-retry  | = not-to-retry | = not-to-retry

running-paid | submitted woken                        | = idle          | = withdraw     | = withdraw
running-paid | other-content                          | = mismatch      | = mismatch     | = mismatch
running-paid | success                                | done deposit    | done deposit   | done deposit
running-paid | retryable                              | = withdraw      | = withdraw     | = withdraw
running-paid | terminal                               | failed idle     | failed idle    | failed idle
running-paid | late granted-late                      | = stale         | = stale        | = stale
running-paid | granted-failed                         | waiting idle    | waiting idle   | waiting idle
running-paid | refused-failed                         | failed idle     | failed idle    | failed idle
running-paid | granted-lost                           | = idle          | running start  | running start
running-paid | refused-lost                           | = idle          | failed idle    | failed idle
running-paid | cancel                                 | cancelled idle  | cancelled idle | cancelled idle
running-paid | retry                                  | = not-to-retry  | = not-to-retry | = not-to-retry

waiting      | submitted woken                        | = idle          | running start  | running start
waiting      | other-content                          | = mismatch      | = mismatch     | = mismatch
waiting      | success retryable terminal late        | = stale         | = stale        | = stale
waiting      | granted-failed refused-failed          | = stale         | = stale        | = stale
waiting      | granted-lost refused-lost granted-late | = stale         | = stale        | = stale
waiting      | cancel                                 | cancelled idle  | cancelled idle | cancelled idle
waiting      | retry                                  | running start   | running start  | running start

done         | submitted woken                        | = idle          | = expired      | = expired
done         | other-content                          | = mismatch      | = expired      | = expired
done         | success retryable terminal late        | = stale         | = expired      | = expired
done         | granted-failed refused-failed          | = stale         | = expired      | = expired
done         | granted-lost refused-lost granted-late | = stale         | = expired      | = expired
done         | cancel                                 | = already-ended | = expired      | = expired
done         | retry                                  | = not-to-retry  | = expired      | = expired

failed       | submitted woken                        | = idle          | = expired      | = expired
failed       | other-content                          | = mismatch      | = expired      | = expired
failed       | success retryable terminal late        | = stale         | = expired      | = expired
failed       | granted-failed refused-failed          | = stale         | = expired      | = expired
failed       | granted-lost refused-lost granted-late | = stale         | = expired      | = expired
failed       | cancel                                 | = already-ended | = expired      | = expired
failed       | retry                                  | running start   | = expired      | = expired

cancelled    | submitted woken cancel                 | = idle          | = expired      | = expired
cancelled    | other-content                          | = mismatch      | = expired      | = expired
cancelled    | success retryable terminal late        | = stale         | = expired      | = expired
cancelled    | granted-failed refused-failed          | = stale         | = expired      | = expired
cancelled    | granted-lost refused-lost granted-late | = stale         | = expired      | = expired
cancelled    | retry                                  | = not-to-retry  | = expired      | = expired
";

const OPERATION_STATES: &[&str] = &[
    "queued",
    "running",
    "running-paid",
    "waiting",
    "done",
    "failed",
    "cancelled",
];
const OPERATION_EVENTS: &[&str] = &[
    "submitted",
    "other-content",
    "woken",
    "success",
    "retryable",
    "terminal",
    "late",
    "granted-failed",
    "refused-failed",
    "granted-lost",
    "refused-lost",
    "granted-late",
    "cancel",
    "retry",
];

/// The table of one delivery. The operation is done, and its retention is far away.
const DELIVERIES: &str = "
pending    | accepted retry reject late | = stale         | = stale            | = stale
pending    | replay drop                | = not-dead      | = not-dead         | = not-dead
pending    | woken                      | = idle          | delivering deliver | delivering deliver

delivering | accepted                   | delivered idle  | delivered idle     | delivered idle
delivering | retry                      | pending idle    | pending idle       | pending idle
delivering | reject                     | dead idle       | dead idle          | dead idle
delivering | late                       | = stale         | = stale            | = stale
delivering | replay drop                | = not-dead      | = not-dead         | = not-dead
delivering | woken                      | = idle          | delivering deliver | delivering deliver

delivered  | accepted retry reject late | = stale         | = expired          | = expired
delivered  | replay drop                | = not-dead      | = expired          | = expired
delivered  | woken                      | = idle          | = expired          | = expired

dead       | accepted retry reject late | = stale         | = expired          | = expired
dead       | replay                     | pending idle    | = expired          | = expired
dead       | drop                       | dropped idle    | = expired          | = expired
dead       | woken                      | = idle          | = expired          | = expired

dropped    | accepted retry reject late | = stale         | = expired          | = expired
dropped    | replay drop                | = not-dead      | = expired          | = expired
dropped    | woken                      | = idle          | = expired          | = expired
";

const DELIVERY_STATES: &[&str] = &["pending", "delivering", "delivered", "dead", "dropped"];
const DELIVERY_EVENTS: &[&str] = &[
    "accepted", "retry", "reject", "late", "replay", "drop", "woken",
];

#[test]
fn every_operation_case_is_as_its_line_says() {
    for line in lines(OPERATIONS) {
        for event in &line.events {
            let world = operation(line.state);
            let due = world.record.due().at;
            for (now, expected) in line.cells(due) {
                let mut world = world.clone();
                world.now = now;
                let written = world.ask(operation_event(event), 7).write.is_some();
                let effect = world.tell(operation_event(event));
                let next = if written {
                    world.record.state().name()
                } else {
                    "="
                };
                assert_eq!(
                    format!("{next} {}", effect_name(&effect)),
                    expected,
                    "{} | {event} | {now:?}",
                    line.state
                );
            }
        }
    }
}

#[test]
fn every_delivery_case_is_as_its_line_says() {
    for line in lines(DELIVERIES) {
        for event in &line.events {
            let world = delivery_world(line.state);
            let due = world.record.due().at;
            for (now, expected) in line.cells(due) {
                let mut world = world.clone();
                world.now = now;
                let written = world.ask(delivery_event(event), 7).write.is_some();
                let effect = world.tell(delivery_event(event));
                let next = if written { delivery_name(&world) } else { "=" };
                assert_eq!(
                    format!("{next} {}", effect_name(&effect)),
                    expected,
                    "{} | {event} | {now:?}",
                    line.state
                );
            }
        }
    }
}

#[test]
fn no_case_is_missing_and_none_has_two_lines() {
    assert_complete(OPERATIONS, OPERATION_STATES, OPERATION_EVENTS);
    assert_complete(DELIVERIES, DELIVERY_STATES, DELIVERY_EVENTS);
}

fn assert_complete(table: &'static str, states: &[&str], events: &[&str]) {
    let mut found: Vec<_> = lines(table)
        .flat_map(|line| {
            line.events
                .into_iter()
                .map(move |event| (line.state, event))
        })
        .collect();
    found.sort_unstable();
    let mut wanted: Vec<_> = states
        .iter()
        .flat_map(|state| events.iter().map(move |event| (*state, *event)))
        .collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

struct Line {
    state: &'static str,
    events: Vec<&'static str>,
    before: &'static str,
    at: &'static str,
    after: &'static str,
}

impl Line {
    /// The cells with the instants that they are about.
    fn cells(&self, due: Timestamp) -> [(Timestamp, &'static str); 3] {
        let due_ms = due.as_unix_ms();
        let moment = |ms| Timestamp::from_unix_ms(ms);
        [
            (moment(due_ms - 1), self.before),
            (due, self.at),
            (moment(due_ms + 1), self.after),
        ]
    }
}

fn lines(table: &'static str) -> impl Iterator<Item = Line> {
    table.lines().filter(|line| !line.is_empty()).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [state, events, before, at, after] = cells[..] else {
            panic!("five cells expected: {line}")
        };
        Line {
            state,
            events: events.split_whitespace().collect(),
            before,
            at,
            after,
        }
    })
}

/// An operation in the named state; where it has run, its first attempt is the last one.
fn operation(state: &str) -> World {
    let free =
        policy_with(|settings| settings.start_delay_ms = reprise::machine::Millis::new(DELAY));
    let mut world = World::new(&free);
    if state == "running-paid" {
        world.policy = paid_policy();
    }
    if state == "queued" {
        return world;
    }
    world.until_due().tell(submitted());
    match state {
        "running" | "running-paid" => return world,
        "waiting" => world.finish(retryable("busy")),
        "done" => world.finish(success()),
        "failed" => world.finish(terminal("no")),
        "cancelled" => world.tell(OperationEvent::CancelAsked),
        other => panic!("no state {other}"),
    };
    assert_eq!(world.state_name(), state);
    world
}

fn operation_event(name: &str) -> OperationEvent {
    match name {
        "submitted" => submitted(),
        "other-content" => submitted_with_other_content(),
        "woken" => OperationEvent::Woken,
        "success" => finished(1, success()),
        "retryable" => finished(1, retryable("busy")),
        "terminal" => finished(1, terminal("no")),
        "late" => finished(2, success()),
        "granted-failed" => answered(1, false, Verdict::Granted),
        "refused-failed" => answered(1, false, Verdict::Refused),
        "granted-lost" => answered(1, true, Verdict::Granted),
        "refused-lost" => answered(1, true, Verdict::Refused),
        "granted-late" => answered(2, false, Verdict::Granted),
        "cancel" => OperationEvent::CancelAsked,
        "retry" => OperationEvent::RetryAsked,
        other => panic!("no event {other}"),
    }
}

/// The budget's word on a retry after attempt `attempt`, from an operation that had to ask.
fn answered(attempt: u32, lost: bool, verdict: Verdict) -> OperationEvent {
    let mut world = operation("running-paid");
    for earlier in 1..attempt {
        world
            .until_due()
            .tell(answered(earlier, true, Verdict::Granted));
    }
    assert_eq!(world.record.progress().attempts, attempt);
    let effect = if lost {
        world.until_due().tell(OperationEvent::Woken)
    } else {
        world.finish(retryable("busy"))
    };
    let Effect::Withdraw(question) = effect else {
        panic!("a retry asks the budget: {effect:?}")
    };
    question.answered(verdict)
}

/// A done operation with one event in the named state.
fn delivery_world(state: &str) -> World {
    let mut world = World::done(&policy_with(|_| {}), &["order.created"]);
    assert_eq!(
        world.record.outbox().deliveries()[0].event,
        draft("order.created")
    );
    if state == "pending" {
        return world;
    }
    world.tell(delivery_event("woken"));
    match state {
        "delivering" => return world,
        "delivered" => world.tell(delivery_event("accepted")),
        "dead" => world.tell(delivery_event("reject")),
        "dropped" => {
            world.tell(delivery_event("reject"));
            world.tell(delivery_event("drop"))
        }
        other => panic!("no state {other}"),
    };
    assert_eq!((delivery_name(&world), world.now), (state, at(0)));
    world
}

fn delivery_event(name: &str) -> reprise::machine::OutboxEvent {
    let one = |event| delivery(0, event);
    match name {
        "accepted" => one(delivered(1, DeliveryOutcome::Accepted)),
        "retry" => one(delivered(
            1,
            DeliveryOutcome::Retryable {
                error: error("later"),
                hint: None,
            },
        )),
        "reject" => one(delivered(
            1,
            DeliveryOutcome::Rejected {
                error: error("never"),
            },
        )),
        "late" => one(delivered(2, DeliveryOutcome::Accepted)),
        "replay" => one(DeliveryEvent::ReplayAsked),
        "drop" => one(DeliveryEvent::DropAsked),
        "woken" => reprise::machine::OutboxEvent::Woken,
        other => panic!("no event {other}"),
    }
}

fn delivery_name(world: &World) -> &'static str {
    use reprise::machine::DeliveryState::{Dead, Delivered, Delivering, Dropped, Pending};
    match world.record.outbox().deliveries()[0].state {
        Pending { .. } => "pending",
        Delivering { .. } => "delivering",
        Delivered { .. } => "delivered",
        Dead { .. } => "dead",
        Dropped { .. } => "dropped",
    }
}
