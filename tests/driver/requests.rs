//! Single requests, step by step: how many writes they take, and what is left when something fails in between.

use std::cell::RefCell;
use std::rc::Rc;

use reprise::driver::store::{Change, NEVER, Updated};
use reprise::driver::{Delivered, DriverError, Settled, Sink};
use reprise::machine::{
    AttemptError, Delivery, DeliveryEvent, DeliveryOutcome, DeliveryStart, DeliveryState, Effect,
    EndReason, ErrorKind, OperationEvent, Outcome, Record, Refusal, State,
};

use crate::bench::{Bench, TOKENS, at};
use crate::model::run;
use crate::setting::{Kind, START_MS};

fn error(kind: ErrorKind) -> AttemptError {
    AttemptError::new(kind, "scripted")
}

fn busy() -> Outcome {
    Outcome::Retryable {
        error: error(ErrorKind::Status(503)),
        hint: None,
    }
}

fn is_done(record: &Record) -> bool {
    matches!(record.state(), State::Done { .. })
}

#[test]
fn a_forwarded_operation_takes_three_writes_and_a_pure_one_two() {
    for (kind, expected) in [(Kind::Unsafe, 3), (Kind::Pure, 2)] {
        let bench = Bench::new(kind);
        let (submission, (_, writes)) = bench.cost(|| bench.submit(1, 0));
        let (record, _) = at(submission.settled);
        assert!(submission.is_new && is_done(&record));
        assert_eq!(
            (writes, bench.upstream.calls.borrow().as_slice()),
            (expected, &[1][..]),
            "{kind:?}"
        );
    }
}

#[test]
fn a_new_operation_looks_at_its_bucket_once() {
    // What the swap of the word reads, and for a forwarded operation that of its end.
    for (kind, to_write) in [(Kind::Pure, 1), (Kind::Unsafe, 2)] {
        let bench = Bench::new(kind);
        let (_, (to_look, _)) = bench.cost(|| bench.find(1));
        let (submission, (reads, _)) = bench.cost(|| bench.submit(1, 0));
        assert!(submission.is_new);
        assert_eq!(reads, to_look + to_write, "{kind:?}");
    }
}

#[test]
fn a_repeat_and_a_mismatch_write_nothing_and_run_nothing() {
    let bench = Bench::new(Kind::Unsafe);
    let (first, _) = at(bench.submit(1, 0).settled);
    let (repeat, (_, writes)) = bench.cost(|| bench.submit(1, 0));
    assert_eq!((repeat.is_new, writes), (false, 0));
    assert_eq!(at(repeat.settled).0, first);
    let (mismatch, (_, writes)) = bench.cost(|| bench.submit(1, 1));
    assert_eq!((mismatch.is_new, writes), (false, 0));
    assert_eq!(
        at(mismatch.settled),
        (first, Effect::Refuse(Refusal::Mismatch))
    );
    assert_eq!(bench.upstream.calls.borrow().len(), 1);
}

#[test]
fn a_scheduled_retry_takes_two_more_writes_and_runs_when_it_is_due() {
    let bench = Bench::new(Kind::Unsafe).failing_with(vec![busy()]);
    let ((waiting, done), (_, writes)) = bench.cost(|| {
        let (waiting, _) = at(bench.submit(1, 0).settled);
        let early = at(bench
            .tell(waiting.identity().id, OperationEvent::Woken)
            .expect("the store works"));
        assert_eq!(
            early,
            (waiting.clone(), Effect::Idle(waiting.due())),
            "it is not due yet"
        );
        let done = bench.wake_when_due(&waiting);
        (waiting, done)
    });
    assert!(matches!(waiting.state(), State::Waiting { .. }));
    assert!(is_done(&done));
    assert_eq!(
        (writes, bench.upstream.calls.borrow().as_slice()),
        (5, &[1, 2][..])
    );
}

#[test]
fn a_pure_operation_that_is_to_be_retried_is_created_waiting() {
    let bench = Bench::new(Kind::Pure).failing_with(vec![busy()]);
    let (submission, (_, writes)) = bench.cost(|| bench.submit(1, 0));
    let (waiting, _) = at(submission.settled);
    assert!(matches!(waiting.state(), State::Waiting { .. }));
    assert_eq!((waiting.progress().attempts, writes), (1, 2));
    assert!(is_done(&bench.wake_when_due(&waiting)));
}

#[test]
fn an_empty_budget_ends_the_retries_and_successes_fill_it() {
    let tokens = usize::try_from(TOKENS).expect("few tokens");
    let bench = Bench::new(Kind::Idempotent).failing_with(vec![busy(); tokens + 1]);
    let states: Vec<Record> = (0..=TOKENS)
        .map(|key| at(bench.submit(key.into(), 0).settled).0)
        .collect();
    let (last, paid) = states.split_last().expect("some operations");
    assert!(
        paid.iter()
            .all(|record| matches!(record.state(), State::Waiting { .. }))
    );
    assert!(
        matches!(
            last.state(),
            State::Failed {
                error: EndReason::BudgetEmpty,
                ..
            }
        ),
        "{last:?}"
    );
    // Ten successes pay for one more retry.
    for key in 50..60 {
        bench.submit(key, 0);
    }
    let bench = bench.failing_with(vec![busy(), busy()]);
    assert!(matches!(
        at(bench.submit(70, 0).settled).0.state(),
        State::Waiting { .. }
    ));
    assert!(matches!(
        at(bench.submit(71, 0).settled).0.state(),
        State::Failed { .. }
    ));
}

/// The claim takes one swap; the outcome is the next one.
#[test]
fn an_outcome_is_brought_home_when_the_store_fails_once() {
    for takes_effect in [false, true] {
        let bench = Bench::new(Kind::Unsafe);
        bench.counts.failure.set(Some((1, takes_effect)));
        let (record, _) = at(bench.submit(1, 0).settled);
        assert!(is_done(&record));
        assert_eq!(bench.counts.failure.get(), None, "the failure was met");
        assert_eq!(at(bench.submit(1, 0).settled).0, record);
        assert_eq!(bench.upstream.calls.borrow().len(), 1);
    }
}

#[test]
fn an_attempt_does_not_run_when_its_start_may_not_be_written() {
    for takes_effect in [false, true] {
        let bench = Bench::new(Kind::Unsafe).failing_with(vec![busy()]);
        let (waiting, _) = at(bench.submit(1, 0).settled);
        bench.now_ms.set(waiting.due().at.as_unix_ms());
        bench.counts.failure.set(Some((0, takes_effect)));
        let told = bench.tell(waiting.identity().id, OperationEvent::Woken);
        match told {
            // The store has found its own write, or that there is none, and said so.
            Ok(settled) => assert!(takes_effect && is_done(&at(settled).0)),
            Err(error) => {
                assert!(
                    !takes_effect && matches!(error, DriverError::Store(_)),
                    "{error}"
                );
                assert_eq!(bench.upstream.calls.borrow().as_slice(), [1]);
            }
        }
    }
}

#[test]
fn what_is_not_there_or_not_readable_is_told_apart() {
    let bench = Bench::new(Kind::Unsafe);
    let nobody = uuid::Uuid::from_u128(7);
    assert_eq!(bench.tell(nobody, OperationEvent::Woken), Ok(Settled::Gone));

    let (record, _) = at(bench.submit(1, 0).settled);
    let id = record.identity().id;
    let node = run(bench.store.load(id, START_MS))
        .expect("the store works")
        .expect("the record is there");
    let change = Change {
        payload: b"{\"v\":9}".to_vec(),
        expires_at_ms: NEVER,
    };
    let updated = run(bench
        .store
        .update(&node, change, START_MS, &mut bench.entropy.borrow_mut()));
    assert!(matches!(updated, Ok(Updated::Applied(_))));
    assert!(matches!(
        bench.tell(id, OperationEvent::Woken),
        Err(DriverError::Record(_))
    ));
    assert!(matches!(
        bench.try_submit(1, 0),
        Err(DriverError::Record(_))
    ));
}

#[test]
fn a_key_is_new_again_when_its_retention_is_over() {
    let bench = Bench::new(Kind::Pure);
    let (first, _) = at(bench.submit(1, 0).settled);
    // The event of the operation holds it until it is delivered.
    bench.now_ms.set(first.due().at.as_unix_ms());
    run(bench.operations().relay(
        first.identity().id,
        &Receiver::default(),
        bench.now(),
        &mut bench.entropy.borrow_mut(),
    ))
    .expect("the store works");
    bench.now_ms.set(first.state().due().at.as_unix_ms());
    let again = bench.submit(1, 0);
    assert!(again.is_new);
    assert_ne!(at(again.settled).0.identity().id, first.identity().id);
    assert_eq!(
        bench.tell(first.identity().id, OperationEvent::Woken),
        Ok(Settled::Gone)
    );
}

/// A receiver that rejects what it is told to, and notes what it gets.
#[derive(Debug, Default)]
struct Receiver {
    got: Rc<RefCell<Vec<String>>>,
    rejects: bool,
}

impl Sink for Receiver {
    async fn deliver(
        &self,
        record: &Record,
        delivery: &Delivery,
        start: &DeliveryStart,
    ) -> Delivered {
        assert_eq!(
            delivery
                .state
                .due()
                .map(|due| due.at > record.origin().created_at),
            Some(true),
            "its lease is on"
        );
        assert_eq!(delivery.attempts, start.attempt);
        self.got
            .borrow_mut()
            .push(delivery.event_id(record.identity().id));
        let outcome = if self.rejects {
            DeliveryOutcome::Rejected {
                error: error(ErrorKind::Status(410)),
            }
        } else {
            DeliveryOutcome::Accepted
        };
        Delivered {
            outcome,
            ended_at: record.origin().created_at,
        }
    }
}

#[test]
fn a_relay_delivers_what_is_due_and_then_nothing() {
    for (rejects, name) in [(false, "delivered"), (true, "dead")] {
        let bench = Bench::new(Kind::Unsafe);
        let (done, _) = at(bench.submit(1, 0).settled);
        let id = done.identity().id;
        bench.now_ms.set(done.due().at.as_unix_ms());
        let receiver = Receiver {
            rejects,
            ..Receiver::default()
        };
        let relay = || {
            let mut entropy = bench.entropy.borrow_mut();
            at(run(bench
                .operations()
                .relay(id, &receiver, bench.now(), &mut entropy))
            .expect("the store works"))
        };
        let ((record, effect), (_, writes)) = bench.cost(relay);
        let state = &record.outbox().deliveries()[0].state;
        let is_as_told = match state {
            DeliveryState::Delivered { .. } => !rejects,
            DeliveryState::Dead { .. } => rejects,
            _ => false,
        };
        assert!(is_as_told, "{name}: {state:?}");
        assert_eq!((effect, writes), (Effect::Idle(record.due()), 2));
        let (_, (_, writes)) = bench.cost(relay);
        if rejects {
            replay_and_drop(&bench, id);
        }
        assert_eq!(
            (writes, receiver.got.borrow().as_slice()),
            (0, &[format!("{id}-0")][..])
        );
    }
}

fn replay_and_drop(bench: &Bench, id: uuid::Uuid) {
    let tell = |event| {
        let mut entropy = bench.entropy.borrow_mut();
        at(run(bench
            .operations()
            .tell_delivery(id, 0, event, bench.now(), &mut entropy))
        .expect("the store works"))
    };
    let (replayed, _) = tell(DeliveryEvent::ReplayAsked);
    assert!(matches!(
        replayed.outbox().deliveries()[0].state,
        DeliveryState::Pending { .. }
    ));
    let (_, effect) = tell(DeliveryEvent::DropAsked);
    assert_eq!(effect, Effect::Refuse(Refusal::NotDead));
}
