//! A stored record and what the machine makes of it: the input is the record's stored bytes.

use reprise::machine::{
    AttemptError, Blob, DeliveryEvent, DeliveryOutcome, Digest, ErrorKind, Event, EventDrafts,
    Headers, Millis, OperationEvent, OperationResult, OutboxEvent, Outcome, Policy, Record,
    ResultBody, Seed, Timestamp, decide, limits, stored,
};

use super::service::with_config;
use crate::app::START_MS;

pub(super) fn check(data: &[u8]) {
    let Ok(record) = stored::decode(data) else {
        return;
    };
    written(&record);
    let policies: Vec<Policy> = with_config(|config| {
        let operations = config.operations.iter();
        operations
            .map(|operation| operation.policy.clone())
            .collect()
    });
    let due = record.due().at.as_unix_ms();
    for policy in &policies {
        for now_ms in [0, START_MS, due, due.saturating_add(1), u64::MAX] {
            let now = Timestamp::from_unix_ms(now_ms);
            told(&record, now, policy);
            story(record.clone(), now, policy);
        }
    }
}

/// What can be read can be written, within the limit of a value, and is then read as the same.
fn written(record: &Record) {
    let bytes = stored::encode(record);
    assert!(
        bytes.len() <= limits::RECORD_BYTES_MAX,
        "{} bytes",
        bytes.len()
    );
    assert_eq!(stored::decode(&bytes).as_ref(), Ok(record));
    assert_eq!(
        stored::encode(&stored::decode(&bytes).expect("just read")),
        bytes
    );
}

/// What clients are told of a record.
fn told(record: &Record, now: Timestamp, policy: &Policy) {
    let wait = record.retry_after_s(now, policy);
    assert_eq!(wait.is_none(), record.state().is_terminal());
    assert!(wait.is_none_or(|seconds| seconds > 0));
    if record.is_expired(now) {
        assert!(record.state().is_terminal() && record.outbox().due().is_none());
    }
}

/// Everything that can happen to a record, each after the other and each to the record as it was.
fn story(mut record: Record, now: Timestamp, policy: &Policy) {
    let seed = Seed::new(now.as_unix_ms());
    for event in events(&record) {
        let Some(next) = decide(&record, event.clone(), now, seed, policy).write else {
            continue;
        };
        written(&next);
        told(&next, now, policy);
        assert!(
            next.progress().attempts >= record.progress().attempts,
            "attempts are counted up"
        );
        assert_eq!(
            next.origin(),
            record.origin(),
            "nothing changes what was asked"
        );
        let is_operators = matches!(event, Event::Operation(OperationEvent::RetryAsked));
        if record.state().is_terminal() && !is_operators {
            assert_eq!(
                next.state().name(),
                record.state().name(),
                "what has ended stays as it is"
            );
        }
        record = next;
    }
}

fn events(record: &Record) -> Vec<Event> {
    let error = AttemptError::new(ErrorKind::Status(503), "busy");
    let finished =
        |attempt, outcome| Event::Operation(OperationEvent::AttemptFinished { attempt, outcome });
    let attempts = record.progress().attempts;
    let result = OperationResult {
        status: 201,
        headers: Headers::default(),
        body: ResultBody::Kept(Blob::new(*b"taken")),
    };
    let mut events = vec![
        Event::Operation(OperationEvent::Submitted {
            fingerprint: record.identity().fingerprint,
        }),
        Event::Operation(OperationEvent::Submitted {
            fingerprint: Digest::new([0; 32]),
        }),
        Event::Operation(OperationEvent::Woken),
        finished(
            attempts,
            Outcome::Retryable {
                error: error.clone(),
                hint: Some(Millis::new(u64::MAX)),
            },
        ),
        finished(
            attempts.saturating_add(1),
            Outcome::Terminal {
                error: error.clone(),
            },
        ),
        Event::Operation(OperationEvent::RetryAsked),
        Event::Operation(OperationEvent::Woken),
        finished(
            attempts.saturating_add(1),
            Outcome::Succeeded {
                result,
                events: EventDrafts::default(),
            },
        ),
        Event::Operation(OperationEvent::CancelAsked),
        Event::Operation(OperationEvent::RetryAsked),
        Event::Outbox(OutboxEvent::Woken),
    ];
    for delivery in record.outbox().deliveries() {
        let seq = delivery.seq;
        let of = |event| Event::Outbox(OutboxEvent::Delivery { seq, event });
        let attempt = delivery.attempts;
        for outcome in [
            DeliveryOutcome::Retryable {
                error: error.clone(),
                hint: Some(Millis::new(u64::MAX)),
            },
            DeliveryOutcome::Rejected {
                error: error.clone(),
            },
            DeliveryOutcome::Accepted,
        ] {
            events.push(of(DeliveryEvent::Finished { attempt, outcome }));
        }
        events.push(of(DeliveryEvent::ReplayAsked));
        events.push(of(DeliveryEvent::DropAsked));
    }
    events
}
