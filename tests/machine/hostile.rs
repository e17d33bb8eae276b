//! Bytes from outside: damaged, extreme or arbitrary ones never do harm.

use proptest::prelude::*;
use reprise::machine::{
    DeliveryOutcome, Event, OperationEvent, OutboxEvent, Record, Seed, Timestamp, decide, stored,
};

use crate::golden::GOLDEN;
use crate::support::{
    at, delivered, delivery, finished, origin, paid_policy, policy_with, retryable_after,
    submitted, success,
};

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
    let times = [0, record.due().at.as_unix_ms(), u64::MAX].map(Timestamp::from_unix_ms);
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
    for golden in GOLDEN.iter().flat_map(|golden| [golden.v1, golden.v2]) {
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
    for golden in GOLDEN.iter().flat_map(|golden| [golden.v1, golden.v2]) {
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
