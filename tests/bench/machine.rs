//! What one step of the machine and one trip through the stored form cost: `cargo bench --bench machine`.

use divan::{Bencher, black_box};
use reprise::machine::{
    AttemptPolicy, Backoff, Blob, Event, EventDrafts, Headers, Hex, Identity, Input, Millis, Name,
    OnLostAttempt, OperationEvent, OperationResult, Origin, Outcome, Policy, PolicySettings,
    Record, ResultBody, Seed, Timestamp, decide, stored,
};

fn main() {
    divan::main();
}

const NOW: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);

/// A charge that is due for its first attempt.
fn queued(policy: &Policy) -> Record {
    let identity = Identity {
        id: "0199a1b2-c3d4-7e5f-8a6b-7c8d9eafb0c1"
            .parse()
            .expect("a UUID"),
        operation: Name::new("charge").expect("a name"),
        tenant: Hex::new([1; 32]),
        key: Some(Hex::new([2; 32])),
        fingerprint: Hex::new([3; 32]),
    };
    let headers = Headers::new(vec![(
        "content-type".to_owned(),
        "application/json".to_owned(),
    )])
    .expect("small");
    let body = Blob::new(
        *br#"{"amount":1999,"currency":"EUR","source":"tok_visa","description":"Order 42"}"#,
    );
    let input = Input::new("POST", "/charge", headers, body).expect("small");
    Record::new(
        Origin {
            identity,
            input,
            trace: Some(Hex::new([4; 16])),
            created_at: NOW,
        },
        policy,
    )
}

fn policy() -> Policy {
    let attempts = AttemptPolicy {
        max_attempts: 5,
        backoff: Backoff::FullJitter {
            base_ms: Millis::new(500),
            cap_ms: Millis::from_secs(60),
            floor_ms: Millis::new(50),
        },
        hint_cap_ms: Millis::from_secs(300),
        timeout_ms: Millis::from_secs(10),
        lease_ms: Millis::from_secs(15),
    };
    let settings = PolicySettings {
        start_delay_ms: Millis::ZERO,
        attempts,
        max_cycles: 3,
        on_lost_attempt: OnLostAttempt::Retry,
        total_deadline_ms: Some(Millis::from_secs(3_600)),
        retry_budget: None,
        retention_ms: Millis::from_secs(86_400),
        events_on_failed: Vec::new(),
        events_on_cancelled: Vec::new(),
        delivery: attempts,
    };
    Policy::new(settings).expect("sound settings")
}

fn woken() -> Event {
    Event::Operation(OperationEvent::Woken)
}

fn success() -> Event {
    let headers = Headers::new(vec![(
        "content-type".to_owned(),
        "application/json".to_owned(),
    )])
    .expect("small");
    let body = ResultBody::Kept(Blob::new(
        *br#"{"id":"ch_42","status":"succeeded","amount":1999}"#,
    ));
    let result = OperationResult {
        status: 201,
        headers,
        body,
    };
    let outcome = Outcome::Succeeded {
        result,
        events: EventDrafts::default(),
    };
    Event::Operation(OperationEvent::AttemptFinished {
        attempt: 1,
        outcome,
    })
}

fn written(record: &Record, event: Event, policy: &Policy) -> Record {
    decide(record, event, NOW, Seed::new(7), policy)
        .write
        .expect("this step writes")
}

/// The two decisions of an operation that succeeds at once.
#[divan::bench]
fn decide_start(bencher: Bencher<'_, '_>) {
    let policy = policy();
    let record = queued(&policy);
    bencher
        .with_inputs(woken)
        .bench_local_values(|event| decide(black_box(&record), event, NOW, Seed::new(7), &policy));
}

#[divan::bench]
fn decide_success(bencher: Bencher<'_, '_>) {
    let policy = policy();
    let record = written(&queued(&policy), woken(), &policy);
    bencher
        .with_inputs(success)
        .bench_local_values(|event| decide(black_box(&record), event, NOW, Seed::new(7), &policy));
}

/// A repeat of a finished operation: nothing is written.
#[divan::bench]
fn decide_repeat(bencher: Bencher<'_, '_>) {
    let policy = policy();
    let record = written(
        &written(&queued(&policy), woken(), &policy),
        success(),
        &policy,
    );
    let fingerprint = record.identity().fingerprint;
    bencher
        .with_inputs(|| Event::Operation(OperationEvent::Submitted { fingerprint }))
        .bench_local_values(|event| decide(black_box(&record), event, NOW, Seed::new(7), &policy));
}

#[divan::bench]
fn encode_and_decode(bencher: Bencher<'_, '_>) {
    let policy = policy();
    let record = written(
        &written(&queued(&policy), woken(), &policy),
        success(),
        &policy,
    );
    bencher.bench_local(|| stored::decode(&stored::encode(black_box(&record))));
}
