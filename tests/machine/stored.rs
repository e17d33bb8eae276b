//! The stored form: what was written is read back for good, and nothing else gets through or does harm.

use reprise::machine::{
    Blob, DecodeError, DeliveryEvent, DeliveryOutcome, Event, Headers, Input, Millis, Name,
    OperationEvent, OutboxEvent, Record, Seed, decide, limits, stored,
};

use proptest::prelude::*;

use crate::support::{
    World, at, delivered, delivery, draft, error, finished, name, origin, paid_policy, policy_with,
    retryable, retryable_after, submitted, success, success_with, terminal,
};

/// A name, stored bytes, and the record that they stand for.
type Golden = (&'static str, &'static str, fn() -> Record);

/// Stored records that were written once and must be read for good. When the form gets a new version, these stay and
/// that version's own are added.
const GOLDEN: &[Golden] = &[
    ("queued", include_str!("golden/v1/queued.json"), queued),
    ("running", include_str!("golden/v1/running.json"), running),
    ("waiting", include_str!("golden/v1/waiting.json"), waiting),
    ("done", include_str!("golden/v1/done.json"), done),
    ("failed", include_str!("golden/v1/failed.json"), failed),
    (
        "cancelled",
        include_str!("golden/v1/cancelled.json"),
        cancelled,
    ),
    ("binary", include_str!("golden/v1/binary.json"), binary),
    ("outbox", include_str!("golden/v1/outbox.json"), outbox),
];

fn queued() -> Record {
    let mut world = World::new(&policy_with(|settings| {
        settings.start_delay_ms = Millis::new(1_500);
    }));
    world.tell(submitted());
    world.record
}

fn running() -> Record {
    World::running(&policy_with(|settings| {
        settings.total_deadline_ms = Some(Millis::new(60_000));
    }))
    .record
}

fn waiting() -> Record {
    let mut world = World::running(&policy_with(|_| {}));
    world.set_clock(40).finish(retryable("busy"));
    world.until_due().tell(OperationEvent::Woken);
    world.finish(retryable_after(20_000));
    world.record
}

fn done() -> Record {
    World::done(&policy_with(|_| {}), &[]).record
}

fn failed() -> Record {
    let mut world = World::running(&policy_with(|_| {}));
    world.until_due().tell(OperationEvent::Woken);
    world.finish(terminal("no such card"));
    world.record
}

fn cancelled() -> Record {
    let mut world = World::running(&policy_with(|_| {}));
    world.tell(OperationEvent::CancelAsked);
    world.record
}

/// A body that is no text, and a client without a key.
fn binary() -> Record {
    let mut origin = origin(&[0xff, 0x00, 0x80]);
    origin.identity.key = None;
    origin.trace = None;
    Record::new(origin, &policy_with(|_| {}))
}

/// Each state of a delivery, in the order pending, delivering, delivered, dead, dropped.
fn outbox() -> Record {
    let policy = policy_with(|settings| settings.events_on_failed = vec![draft("order.failed")]);
    let mut world = World::running(&policy);
    world.finish(terminal("no stock"));
    world.tell(OperationEvent::RetryAsked);
    world.tell(OperationEvent::Woken);
    world.finish(success_with(&[
        "order.created",
        "stock.reserved",
        "mail.sent",
        "invoice.due",
    ]));
    world.tell(OutboxEvent::Woken);
    world.finish_delivery(
        0,
        DeliveryOutcome::Retryable {
            error: error("busy"),
            hint: None,
        },
    );
    world.finish_delivery(2, DeliveryOutcome::Accepted);
    world.finish_delivery(
        3,
        DeliveryOutcome::Rejected {
            error: error("poisoned"),
        },
    );
    world.finish_delivery(
        4,
        DeliveryOutcome::Rejected {
            error: error("poisoned"),
        },
    );
    world.tell(delivery(4, DeliveryEvent::DropAsked));
    world.record
}

#[test]
fn golden_bytes_are_read_and_written_for_good() {
    for (name, golden, record) in GOLDEN {
        let golden = golden.trim_end();
        let record = record();
        let written = String::from_utf8(stored::encode(&record)).expect("JSON is text");
        assert_eq!(written, golden, "what is written has changed: {name}");
        assert_eq!(stored::decode(golden.as_bytes()), Ok(record), "{name}");
        assert!(
            golden.starts_with(r#"{"v":1,"#),
            "the version comes first: {name}"
        );
    }
}

#[test]
fn what_is_not_a_record_is_refused_with_its_reason() {
    let golden = include_str!("golden/v1/waiting.json").trim_end();
    let malformed = |text: &str| {
        matches!(
            stored::decode(text.as_bytes()),
            Err(DecodeError::Malformed { .. })
        )
    };
    for text in [
        "",
        "{}",
        "null",
        "[]",
        "{\"v\":1}",
        "{\"v\":\"1\"}",
        "{\"v\":-1}",
        &golden[..golden.len() - 1],
    ] {
        assert!(malformed(text), "{text}");
    }
    let edit = |from: &str, to: &str| {
        assert!(golden.contains(from), "{from} is in the golden bytes");
        golden.replacen(from, to, 1)
    };
    assert!(
        malformed(&edit("\"history\"", "\"surprise\":1,\"history\"")),
        "an unknown field would be lost on a write"
    );
    assert!(malformed(&edit(
        "\"attempts\":2",
        "\"attempts\":4294967296"
    )));
    assert!(malformed(&edit("\"attempts\":2", "\"attempts\":2.5")));
    assert!(malformed(&edit("\"method\":\"POST\"", "\"method\":7")));
    assert!(malformed(&format!("{golden} x")));
}

#[test]
fn another_version_is_told_from_damage() {
    let golden = include_str!("golden/v1/waiting.json").trim_end();
    for found in [0, 2, 7, u64::from(u32::MAX) + 1] {
        let other = golden.replacen("{\"v\":1,", &format!("{{\"v\":{found},"), 1);
        assert_eq!(
            stored::decode(other.as_bytes()),
            Err(DecodeError::UnknownVersion { found })
        );
        // Its fields may be quite other ones.
        let unlike = format!("{{\"v\":{found},\"rows\":[]}}");
        assert_eq!(
            stored::decode(unlike.as_bytes()),
            Err(DecodeError::UnknownVersion { found })
        );
    }
}

#[test]
fn records_that_the_machine_cannot_have_written_are_refused() {
    let cases: &[(&str, &str, &str, &str)] = &[
        (
            "running",
            "\"running\":{\"attempt\":1",
            "\"running\":{\"attempt\":2",
            "running attempt",
        ),
        (
            "running",
            "\"attempts_in_cycle\":1",
            "\"attempts_in_cycle\":0",
            "running attempt",
        ),
        (
            "waiting",
            "\"attempts_in_cycle\":2",
            "\"attempts_in_cycle\":3",
            "add up",
        ),
        ("waiting", "\"cycle\":1", "\"cycle\":0", "add up"),
        ("waiting", "\"attempt\":1,", "\"attempt\":3,", "order"),
        ("waiting", "\"attempts\":2", "\"attempts\":1,\"x\":0", ""),
        ("failed", "\"attempts\":2", "\"attempts\":1", "not started"),
        (
            "waiting",
            "\"target\":\"/charge",
            "\"target\":\"/ charge",
            "input",
        ),
        ("waiting", "\"method\":\"POST\"", "\"method\":\"\"", "input"),
        ("outbox", "\"next_seq\":5", "\"next_seq\":4", "not used yet"),
        ("outbox", "\"seq\":1", "\"seq\":2", "out of order"),
        (
            "outbox",
            "\"delivering\":{\"attempt\":1",
            "\"delivering\":{\"attempt\":2",
            "running delivery",
        ),
        (
            "outbox",
            "\"attempts_in_cycle\":1,\"state\"",
            "\"attempts_in_cycle\":2,\"state\"",
            "in its cycle",
        ),
    ];
    for (golden, from, to, part) in cases {
        let (_, text, _) = GOLDEN
            .iter()
            .find(|(name, ..)| name == golden)
            .expect("a golden name");
        assert!(text.contains(from), "{from} is in {golden}");
        let error =
            stored::decode(text.trim_end().replacen(from, to, 1).as_bytes()).expect_err(from);
        let expected = if part.is_empty() {
            "unknown field"
        } else {
            part
        };
        assert!(
            error.to_string().contains(expected),
            "{golden}, {from}: {error}"
        );
    }
}

#[test]
fn oversized_parts_are_refused_wherever_they_are() {
    let long = "x".repeat(limits::ERROR_DETAIL_BYTES_MAX + 1);
    let golden = include_str!("golden/v1/waiting.json").trim_end();
    let positions: Vec<usize> = golden
        .match_indices("\"detail\":\"busy\"")
        .map(|(at, _)| at)
        .collect();
    assert_eq!(
        positions.len(),
        3,
        "the last error and two entries of the history"
    );
    for position in positions {
        let text = format!(
            "{}{}",
            &golden[..position],
            golden[position..].replacen("busy", &long, 1)
        );
        assert!(matches!(
            stored::decode(text.as_bytes()),
            Err(DecodeError::Inconsistent { .. })
        ));
    }
    let letter = include_str!("golden/v1/outbox.json").replace("poisoned", &long);
    assert!(matches!(
        stored::decode(letter.as_bytes()),
        Err(DecodeError::Inconsistent { .. })
    ));
    let data =
        include_str!("golden/v1/outbox.json").replacen("{\\\"order\\\":7}", &"x".repeat(5_000), 1);
    assert!(matches!(
        stored::decode(data.as_bytes()),
        Err(DecodeError::Inconsistent { .. })
    ));
    let bytes = limits::RECORD_BYTES_MAX + 1;
    assert_eq!(
        stored::decode(&vec![b' '; bytes]),
        Err(DecodeError::TooLarge { bytes })
    );
}

#[test]
fn the_fullest_record_fits_a_value_of_the_store() {
    let quotes = |bytes| "\"".repeat(bytes);
    let header =
        |bytes| Headers::new(vec![("x".to_owned(), quotes(bytes - 1))]).expect("at the limit");
    let mut origin = origin(b"");
    origin.identity.operation = Name::new(quotes(limits::NAME_BYTES_MAX)).expect("at the limit");
    origin.input = Input::new(
        quotes(limits::METHOD_BYTES_MAX),
        quotes(limits::TARGET_BYTES_MAX),
        header(limits::HEADERS_BYTES_MAX),
        Blob::new(vec![1; limits::INPUT_BODY_BYTES_MAX]),
    )
    .expect("at the limit");
    let worst = quotes(limits::ERROR_DETAIL_BYTES_MAX);
    let event = reprise::machine::EventDraft::new(
        name(&quotes(limits::NAME_BYTES_MAX)),
        name(&quotes(limits::NAME_BYTES_MAX)),
        Blob::new(vec![b'"'; limits::EVENT_DATA_BYTES_MAX]),
    )
    .expect("at the limit");
    let policy = policy_with(|settings| {
        settings.attempts.max_attempts = 17;
        settings.events_on_failed = vec![event.clone(); 4];
        settings.delivery.max_attempts = 1;
    });
    let mut world = World::new(&policy);
    world.record = Record::new(origin, &policy);
    for round in 0..4 {
        world.tell(submitted());
        for _ in 1..17 {
            world.finish(retryable(&worst));
            world.until_due().tell(OperationEvent::Woken);
        }
        if round == 3 {
            break;
        }
        world.finish(retryable(&worst));
        world.tell(OutboxEvent::Woken);
        for seq in round * 4..round * 4 + 4 {
            world.finish_delivery(
                seq,
                DeliveryOutcome::Rejected {
                    error: error(&worst),
                },
            );
        }
        world.tell(OperationEvent::RetryAsked);
    }
    let mut result = crate::support::result();
    result.headers = header(limits::HEADERS_BYTES_MAX);
    result.body =
        reprise::machine::ResultBody::Kept(Blob::new(vec![b'"'; limits::RESPONSE_BODY_BYTES_MAX]));
    let events = reprise::machine::EventDrafts::new(vec![event; 4]).expect("at the limit");
    world.finish(reprise::machine::Outcome::Succeeded { result, events });
    let bytes = stored::encode(&world.record);
    assert!(
        bytes.len() > 700_000,
        "the record is full: {} bytes",
        bytes.len()
    );
    assert!(
        bytes.len() <= limits::RECORD_BYTES_MAX,
        "{} bytes",
        bytes.len()
    );
    assert_eq!(stored::decode(&bytes), Ok(world.record));
}

#[test]
fn a_result_that_is_too_large_is_remembered_without_its_body() {
    let mut world = World::running(&policy_with(|_| {}));
    let mut result = crate::support::result();
    let bytes = limits::RESPONSE_BODY_BYTES_MAX + 1;
    result.body = reprise::machine::ResultBody::Kept(Blob::new(vec![b'a'; bytes]));
    world.finish(reprise::machine::Outcome::Succeeded {
        result,
        events: reprise::machine::EventDrafts::default(),
    });
    let reprise::machine::State::Done { result, .. } = world.record.state() else {
        panic!("it is done")
    };
    assert_eq!(
        result.body,
        reprise::machine::ResultBody::TooLarge {
            length_bytes: bytes as u64
        }
    );
    assert_eq!(
        stored::decode(&stored::encode(&world.record)),
        Ok(world.record)
    );
}

/// What is read, however it came about, can be written, read again and moved on without a panic.
fn assert_harmless(bytes: &[u8]) -> bool {
    let Ok(record) = stored::decode(bytes) else {
        return false;
    };
    assert_eq!(
        stored::decode(&stored::encode(&record)).as_ref(),
        Ok(&record)
    );
    let policy = paid_policy();
    let times =
        [0, record.due().at.as_unix_ms(), u64::MAX].map(reprise::machine::Timestamp::from_unix_ms);
    let attempt = record.progress().attempts;
    let events = [
        Event::Operation(submitted()),
        Event::Operation(OperationEvent::Woken),
        Event::Operation(OperationEvent::CancelAsked),
        Event::Operation(OperationEvent::RetryAsked),
        Event::Operation(finished(attempt, success())),
        Event::Operation(finished(attempt, retryable_after(u64::MAX))),
        Event::Outbox(OutboxEvent::Woken),
        Event::Outbox(delivery(0, delivered(1, DeliveryOutcome::Accepted))),
    ];
    for now in times {
        let _ = record.retry_after_s(now, &policy);
        for event in &events {
            if let Some(next) = decide(&record, event.clone(), now, Seed::new(1), &policy).write {
                assert_eq!(stored::decode(&stored::encode(&next)), Ok(next));
            }
        }
    }
    true
}

#[test]
fn mutated_golden_bytes_never_panic() {
    let mut read = 0;
    for (_, golden, _) in GOLDEN {
        let golden = golden.trim_end().as_bytes();
        for seed in 0..1_000_u64 {
            let mut bytes = golden.to_vec();
            let mix = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let position = usize::try_from(mix >> 40).expect("24 bits") % bytes.len();
            let byte = u8::try_from(mix >> 20 & 0xff).expect("a byte");
            match seed % 5 {
                0 => bytes[position] = byte,
                1 => bytes[position] = b'0' + byte % 10,
                2 => drop(bytes.remove(position)),
                3 => bytes.insert(position, b'9'),
                _ => bytes.truncate(position),
            }
            read += u32::from(assert_harmless(&bytes));
        }
    }
    assert!(
        read > 500,
        "some mutations change a number or a text and are still records: {read}"
    );
}

#[test]
fn extreme_numbers_in_golden_bytes_never_panic() {
    let mut read = 0;
    for (_, golden, _) in GOLDEN {
        let golden = golden.trim_end();
        let mut start = 0;
        while let Some(found) = golden[start..].find(|c: char| c.is_ascii_digit()) {
            let from = start + found;
            let length = golden[from..]
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(0);
            start = from + length.max(1);
            for number in [
                "0",
                "1",
                "65",
                "4000000000",
                "4294967295",
                "18446744073709551615",
                "-1",
                "1e3",
            ] {
                let text = format!("{}{number}{}", &golden[..from], &golden[from + length..]);
                read += u32::from(assert_harmless(text.as_bytes()));
            }
        }
    }
    assert!(
        read > 100,
        "some extreme numbers still make records: {read}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        assert_harmless(&bytes);
    }

    #[test]
    fn arbitrary_bytes_behind_a_version_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut all = br#"{"v":1,"record":{"origin":"#.to_vec();
        all.extend(bytes);
        assert_harmless(&all);
    }

    #[test]
    fn any_input_comes_back_as_it_was(body in proptest::collection::vec(any::<u8>(), 0..400), text in ".{0,80}") {
        for bytes in [body.as_slice(), text.as_bytes()] {
            let record = Record::new(origin(bytes), &policy_with(|_| {}));
            let read = stored::decode(&stored::encode(&record)).expect("what was written can be read");
            prop_assert_eq!(read.origin().input.body().as_bytes(), bytes);
            prop_assert_eq!(read.due().at, at(0));
        }
    }
}
