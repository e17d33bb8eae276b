//! One event on its whole way: from a record's outbox, over signed messages, into an inbox and its projection.

#![expect(
    unreachable_pub,
    dead_code,
    reason = "what one module of a test offers to another is public in the sense of the test, and this one uses a part"
)]

#[path = "../model/mod.rs"]
mod model;

use http::{HeaderMap, HeaderName, HeaderValue};
use model::{Client, Model, Rules, World, run};
use reprise::driver::entropy::Entropy;
use reprise::driver::inbox::{Inbox, InboxPolicy, Received};
use reprise::driver::store::Store;
use reprise::machine::{
    AttemptPolicy, Backoff, Blob, Delivery, DeliveryState, EventDraft, Headers, Hex, Identity,
    Input, Millis, Name, OnLostAttempt, Origin, Policy, PolicySettings, Record, Timestamp, TraceId,
};
use reprise::webhook::{
    CloudEvent, EventError, Message, Mode, Receiver, Secret, Secrets, open, seal,
};

const START_MS: u64 = 1_800_000_000_000;
const ID: &str = "0199a1b2-c3d4-7e5f-8a6b-7c8d9eafb0c1";

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn record(trace: Option<TraceId>) -> Record {
    let attempts = AttemptPolicy {
        max_attempts: 3,
        backoff: Backoff::Constant {
            delay_ms: Millis::from_secs(1),
        },
        hint_cap_ms: Millis::from_secs(1),
        timeout_ms: Millis::from_secs(4),
        lease_ms: Millis::from_secs(5),
    };
    let policy = Policy::new(PolicySettings {
        start_delay_ms: Millis::ZERO,
        attempts,
        max_cycles: 1,
        on_lost_attempt: OnLostAttempt::Retry,
        total_deadline_ms: None,
        retry_budget: None,
        retention_ms: Millis::from_secs(60),
        events_on_failed: Vec::new(),
        events_on_cancelled: Vec::new(),
        delivery: attempts,
    });
    let origin = Origin {
        identity: Identity {
            id: ID.parse().expect("a UUID"),
            operation: name("orders"),
            tenant: Hex::new([1; 32]),
            key: None,
            fingerprint: Hex::new([2; 32]),
        },
        input: Input::new("POST", "/orders", Headers::default(), Blob::new(*b"{}"))
            .expect("a small request"),
        trace,
        created_at: Timestamp::from_unix_ms(START_MS),
    };
    Record::new(origin, &policy.expect("the numbers make sense"))
}

fn delivery(seq: u32, data: &str) -> Delivery {
    let data = Blob::new(data.as_bytes());
    Delivery {
        seq,
        event: EventDraft::new(name("order.created"), name("shop"), data).expect("a small event"),
        occurred_at: Timestamp::from_unix_ms(START_MS + 7),
        attempts: 1,
        attempts_in_cycle: 1,
        state: DeliveryState::Delivering {
            attempt: 1,
            lease_until: Timestamp::from_unix_ms(START_MS + 5_000),
        },
    }
}

fn secrets() -> Secrets {
    Secrets::new(vec![Secret::new([9; 32]).expect("a secret")]).expect("one secret")
}

fn headers(message: &Message) -> HeaderMap {
    let line = |(name, value): &(HeaderName, String)| {
        (
            name.clone(),
            HeaderValue::from_str(value).expect("a header's value"),
        )
    };
    message.headers.iter().map(line).collect()
}

#[test]
fn an_event_that_is_delivered_again_counts_once() {
    // Scenarios 29 and 33: the receiver has the event, and the sender dies before it notes that.
    let receiver = Receiver {
        secrets: secrets(),
        source: Some("/reprise".to_owned()),
    };
    let client = Client {
        world: World::direct(Model::new(Rules::Sqlite, 1)),
        id: 0,
    };
    let mut entropy = Entropy::from_seed([3; 32]);
    let store = run(Store::open(client, 4, &mut entropy)).expect("a model can be laid out");
    let inbox = Inbox {
        store: &store,
        name: "orders",
        policy: InboxPolicy::default(),
    };
    let record = record(None);
    let deliveries = [
        delivery(0, r#"{"product_id":42,"quantity":3}"#),
        delivery(1, r#"{"product_id":42,"quantity":4}"#),
    ];
    let mut told = Vec::new();
    let attempts = [
        (0, Mode::Structured),
        (60_000, Mode::Binary),
        (86_400_000, Mode::Structured),
    ];
    for (after_ms, mode) in attempts {
        for delivery in &deliveries {
            let now = Timestamp::from_unix_ms(START_MS + after_ms);
            let event = CloudEvent::of_delivery(&record, delivery, "/reprise").expect("sound");
            let message = seal(&event, mode, &secrets(), now).expect("our ids can be signed");
            let opened = open(&receiver, &headers(&message), &message.body, now);
            let opened = opened.expect("it is ours");
            assert_eq!(opened, event);
            told.push(run(inbox.receive(&opened, now, &mut entropy)));
        }
    }
    let (applied, duplicate) = (Ok(Received::Applied), Ok(Received::Duplicate));
    assert_eq!(told[..2], [applied.clone(), applied]);
    assert!(told[2..].iter().all(|told| *told == duplicate), "{told:?}");
    let projection = run(inbox.projection()).expect("the model does not fail");
    let totals = projection.products[&42];
    assert_eq!(
        (projection.products.len(), totals.orders, totals.quantity),
        (1, 2, 7)
    );
}

#[test]
fn an_event_carries_what_its_record_knows() {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736".parse().expect("a trace");
    let record = record(Some(trace));
    let event = CloudEvent::of_delivery(&record, &delivery(1, r#"{"a":1}"#), "/reprise");
    let event = event.expect("a sound event");
    let parts = event.parts();
    assert_eq!(
        (&*parts.id, &*parts.source),
        (&*format!("{ID}-1"), "/reprise")
    );
    assert_eq!(
        (&*parts.kind, parts.subject.as_deref()),
        ("order.created", Some(ID))
    );
    assert_eq!(parts.time, Some(Timestamp::from_unix_ms(START_MS + 7)));
    assert_eq!(parts.data.as_deref(), Some(&br#"{"a":1}"#[..]));
    // The low half of the record's id, and of that the event's number.
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-8a6b7c8d9eafb0c0-01";
    assert_eq!(parts.traceparent.as_deref(), Some(traceparent));

    let not_json = CloudEvent::of_delivery(&record, &delivery(0, "{"), "/reprise");
    assert_eq!(not_json, Err(EventError::NotJson));
    let no_source = CloudEvent::of_delivery(&record, &delivery(0, "{}"), "");
    assert_eq!(no_source, Err(EventError::Missing("source")));
}
