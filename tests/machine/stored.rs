//! The stored form: what was written is read back for good, and nothing else gets through or does harm.

use reprise::machine::{
    Blob, DecodeError, DeliveryOutcome, EventDraft, EventDrafts, Headers, Input, Name,
    OperationEvent, OutboxEvent, Outcome, Record, ResultBody, State, limits, stored,
};

use crate::golden::GOLDEN;
use crate::support::{World, error, name, origin, policy_with, result, retryable, submitted};

#[test]
fn golden_bytes_are_read_and_written_for_good() {
    for golden in GOLDEN {
        let (name, text) = (golden.name, golden.v2.trim_end());
        let record = (golden.record)();
        let written = String::from_utf8(stored::encode(&record)).expect("JSON is text");
        assert_eq!(written, text, "what is written has changed: {name}");
        assert_eq!(stored::decode(text.as_bytes()), Ok(record), "{name}");
        assert!(
            text.starts_with(r#"{"v":2,"#),
            "the version comes first: {name}"
        );
    }
}

/// Version 1 has no reasons in the history. Its records are read without, and written in the newer form.
#[test]
fn golden_bytes_of_version_1_are_still_read() {
    let mut unknown_reasons = 0;
    for golden in GOLDEN {
        let (name, text) = (golden.name, golden.v1.trim_end());
        assert!(text.starts_with(r#"{"v":1,"#), "{name}");
        let record =
            stored::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let written = String::from_utf8(stored::encode(&record)).expect("JSON is text");
        let (head, rest) = golden.v2.split_once(r#""history":["#).expect("a history");
        let (history, tail) = rest.split_once(r#"],"outbox""#).expect("an outbox");
        let mut parts = history.split(r#""reason":""#);
        let mut without = parts.next().expect("a first part").to_owned();
        for part in parts {
            let (_, behind) = part.split_once('"').expect("a closing quote");
            without = without + r#""reason":null"# + behind;
            unknown_reasons += 1;
        }
        let expected = format!(r#"{head}"history":[{without}],"outbox"{tail}"#);
        assert_eq!(written, expected.trim_end(), "{name}");
    }
    assert_eq!(unknown_reasons, 4, "two waits, and two ends");
}

#[test]
fn what_is_not_a_record_is_refused_with_its_reason() {
    let golden = include_str!("golden/v2/waiting.json").trim_end();
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
    let golden = include_str!("golden/v2/waiting.json").trim_end();
    for found in [0, 3, 7, u64::from(u32::MAX) + 1] {
        let other = golden.replacen("{\"v\":2,", &format!("{{\"v\":{found},"), 1);
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
        ("waiting", "\"attempt\":1,", "\"attempt\":2,", "order"),
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
        let text = GOLDEN
            .iter()
            .find(|one| one.name == *golden)
            .expect("a golden name")
            .v2;
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
    let golden = include_str!("golden/v2/waiting.json").trim_end();
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
    let letter = include_str!("golden/v2/outbox.json").replace("poisoned", &long);
    assert!(matches!(
        stored::decode(letter.as_bytes()),
        Err(DecodeError::Inconsistent { .. })
    ));
    let data =
        include_str!("golden/v2/outbox.json").replacen("{\\\"order\\\":7}", &"x".repeat(5_000), 1);
    assert!(matches!(
        stored::decode(data.as_bytes()),
        Err(DecodeError::Inconsistent { .. })
    ));
    let blanks = stored::decode(&vec![b' '; limits::RECORD_BYTES_MAX]);
    assert!(
        matches!(blanks, Err(DecodeError::Malformed { .. })),
        "as many bytes as a record may have"
    );
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
    let event = EventDraft::new(
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
        for _ in 0..4 {
            world.tell(OutboxEvent::Woken);
        }
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
    let mut result = result();
    result.headers = header(limits::HEADERS_BYTES_MAX);
    result.body = ResultBody::Kept(Blob::new(vec![b'"'; limits::RESPONSE_BODY_BYTES_MAX]));
    let events = EventDrafts::new(vec![event; 4]).expect("at the limit");
    world.finish(Outcome::Succeeded { result, events });
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
    let mut result = result();
    let bytes = limits::RESPONSE_BODY_BYTES_MAX + 1;
    result.body = ResultBody::Kept(Blob::new(vec![b'a'; bytes]));
    world.finish(Outcome::Succeeded {
        result,
        events: EventDrafts::default(),
    });
    let State::Done { result, .. } = world.record.state() else {
        panic!("it is done")
    };
    assert_eq!(
        result.body,
        ResultBody::TooLarge {
            length_bytes: bytes as u64
        }
    );
    assert_eq!(
        stored::decode(&stored::encode(&world.record)),
        Ok(world.record)
    );
}
