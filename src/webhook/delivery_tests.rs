//! Sealing and opening: what holds a delivery together, and what a stranger could try with one that was seen.

use super::*;
use crate::webhook::{EventParts, Secret};
use http::{HeaderName, HeaderValue};

const NOW: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);

fn event(id: &str) -> CloudEvent {
    CloudEvent::new(EventParts {
        id: id.to_owned(),
        source: "/orders".to_owned(),
        kind: "order.created".to_owned(),
        data: Some(br#"{"product_id":42,"quantity":1}"#.to_vec()),
        ..EventParts::default()
    })
    .expect("a sound event")
}

fn secrets() -> Secrets {
    let secret = Secret::new([7; 32]).expect("a secret");
    Secrets::new(vec![secret]).expect("one secret")
}

fn receiver(source: Option<&str>) -> Receiver {
    Receiver {
        secrets: secrets(),
        source: source.map(str::to_owned),
    }
}

fn map(message: &Message) -> HeaderMap {
    let line = |(name, value): &(HeaderName, String)| {
        (
            name.clone(),
            HeaderValue::from_str(value).expect("a header's value"),
        )
    };
    message.headers.iter().map(line).collect()
}

#[test]
fn what_was_sealed_can_be_opened_by_who_knows_the_source() {
    let table = [
        (Mode::Structured, None, Ok(())),
        (Mode::Structured, Some("/orders"), Ok(())),
        (
            Mode::Structured,
            Some("/other"),
            Err(OpenError::OtherSource),
        ),
        (Mode::Binary, Some("/orders"), Ok(())),
        (Mode::Binary, Some("/other"), Err(OpenError::OtherSource)),
        (Mode::Binary, None, Err(OpenError::UnknownSource)),
    ];
    for (mode, source, expected) in table {
        let message = seal(&event("e-1"), mode, &secrets(), NOW).expect("a sound id");
        let opened = open(&receiver(source), &map(&message), &message.body, NOW);
        assert_eq!(
            opened,
            expected.map(|()| event("e-1")),
            "{mode:?}, {source:?}"
        );
    }
}

#[test]
fn a_later_attempt_has_the_same_id_and_body_and_a_signature_of_its_own() {
    // Scenario 33.
    for mode in [Mode::Structured, Mode::Binary] {
        let later = Timestamp::from_unix_ms(1_800_000_600_000);
        let first = seal(&event("e-1"), mode, &secrets(), NOW).expect("a sound id");
        let second = seal(&event("e-1"), mode, &secrets(), later).expect("a sound id");
        let (one, two) = (map(&first), map(&second));
        assert_eq!(first.body, second.body);
        assert_eq!(one["webhook-id"], two["webhook-id"]);
        assert_eq!(one["webhook-timestamp"], "1800000000");
        assert_eq!(two["webhook-timestamp"], "1800000600");
        assert_ne!(one["webhook-signature"], two["webhook-signature"]);
        let opened = open(&receiver(Some("/orders")), &two, &second.body, later);
        assert_eq!(opened, Ok(event("e-1")));
    }
}

#[test]
fn an_event_without_an_id_or_with_one_that_is_not_signed_is_refused() {
    // Scenario 32.
    let binary = seal(&event("e-1"), Mode::Binary, &secrets(), NOW).expect("a sound id");
    let opened =
        |headers: &HeaderMap, body: &[u8]| open(&receiver(Some("/orders")), headers, body, NOW);
    let mut headers = map(&binary);
    headers.insert("ce-id", HeaderValue::from_static("e-2"));
    assert_eq!(opened(&headers, &binary.body), Err(OpenError::OtherId));
    headers.insert("webhook-id", HeaderValue::from_static("e-2"));
    assert_eq!(
        opened(&headers, &binary.body),
        Err(OpenError::Unsigned(VerifyError::NoMatch))
    );
    headers.remove("webhook-id");
    let missing = VerifyError::Missing(HeaderName::from_static("webhook-id"));
    assert_eq!(
        opened(&headers, &binary.body),
        Err(OpenError::Unsigned(missing))
    );

    // Signed by the sender itself, under an id that is not the event's.
    let mut message = event("e-2").message(Mode::Structured);
    let id = MessageId::new("e-1").expect("an id");
    message
        .headers
        .extend(secrets().sign(&id, NOW, &message.body));
    assert_eq!(
        opened(&map(&message), &message.body),
        Err(OpenError::OtherId)
    );
}

#[test]
fn the_signature_comes_before_all_else() {
    let opened = open(&receiver(None), &HeaderMap::new(), b"{", NOW);
    assert!(matches!(
        opened,
        Err(OpenError::Unsigned(VerifyError::Missing(_)))
    ));
    let id = MessageId::new("e-1").expect("an id");
    let headers = secrets().sign(&id, NOW, b"{").into_iter().collect();
    let message = Message {
        headers,
        body: b"{".to_vec(),
    };
    let opened = open(&receiver(None), &map(&message), &message.body, NOW);
    assert_eq!(opened, Err(OpenError::Binding(BindingError::Version)));
}

#[test]
fn an_event_whose_id_cannot_be_signed_is_not_sent() {
    for id in ["a.1", "ё", "a b"] {
        assert_eq!(
            seal(&event(id), Mode::Structured, &secrets(), NOW),
            Err(MessageIdError)
        );
    }
}
