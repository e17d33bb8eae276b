//! Events that come in, and their signatures: the input is the body of a message, and behind bytes 255 the values of
//! its attributes as headers, for binary mode.

use http::{HeaderMap, HeaderName, HeaderValue};
use reprise::json::raw;
use reprise::machine::{DeliveryOutcome, Timestamp};
use reprise::webhook::{
    CloudEvent, Mode, OpenError, Receiver, SIGNATURE_HEADERS, Secret, Secrets, open, outcome_of,
    parse, rfc_3339, seal,
};

use super::service::{Data, Service, WEBHOOK_SECRET};
use super::split;
use crate::app::{START_MS, Seen};

const STRUCTURED: &str = "application/cloudevents+json";
/// The headers of binary mode, in the order in which an input has their values.
const BINARY: [&str; 7] = [
    "ce-id",
    "ce-source",
    "ce-type",
    "ce-subject",
    "ce-time",
    "content-type",
    "ce-traceparent",
];

pub(super) fn check(data: &[u8]) {
    let (body, attributes) = split(data);
    let structured = HeaderMap::from_iter([(
        HeaderName::from_static("content-type"),
        HeaderValue::from_static(STRUCTURED),
    )]);
    event(&structured, body);
    if let Some(binary) = binary(attributes) {
        event(&binary, body);
        signatures(&binary, body);
    }
    received(body);
    secret(body);
    outcome(body);
}

/// The headers of a message in binary mode, as far as the input has values.
fn binary(mut values: &[u8]) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert("ce-specversion", HeaderValue::from_static("1.0"));
    for name in BINARY {
        let (value, rest) = split(values);
        if !value.is_empty() {
            headers.insert(name, HeaderValue::from_bytes(value).ok()?);
        }
        values = rest;
    }
    Some(headers)
}

/// An event that was read is sound, is written in both modes and read as the same, and goes signed from hand to hand;
/// and no bit of it can be changed on the way.
fn event(headers: &HeaderMap, body: &[u8]) {
    let Ok((event, mode)) = parse(headers, body) else {
        return;
    };
    assert_eq!(CloudEvent::new(event.parts().clone()).as_ref(), Ok(&event));
    for mode in [mode, Mode::Structured, Mode::Binary] {
        let message = event.message(mode);
        let again = parse(&header_map(&message.headers), &message.body);
        let (again, its_mode) = again.unwrap_or_else(|error| panic!("{error}: {event:?}"));
        assert_eq!(its_mode, mode);
        same(&event, &again, mode);
    }
    delivered(&event);
}

fn header_map(lines: &[(HeaderName, String)]) -> HeaderMap {
    let line = |(name, value): &(HeaderName, String)| {
        (
            name.clone(),
            HeaderValue::try_from(value).expect("a header value"),
        )
    };
    lines.iter().map(line).collect()
}

/// Two events are one, as far as a mode can tell: white space around JSON is no part of it, no data and empty data look
/// alike in binary mode, and no form has a time behind the year 9999.
fn same(event: &CloudEvent, again: &CloudEvent, mode: Mode) {
    let mut parts = event.parts().clone();
    match mode {
        Mode::Structured if event.has_json() => {
            parts.data = parts.data.map(|data| data.trim_ascii().to_vec());
        }
        Mode::Structured => {}
        Mode::Binary => parts.data = parts.data.filter(|data| !data.is_empty()),
    }
    let mut others = again.parts().clone();
    if parts.time.is_some_and(|time| rfc_3339(time).is_none()) {
        (parts.time, others.time) = (None, None);
    }
    assert_eq!(parts, others, "{mode:?}");
}

fn secrets() -> Secrets {
    let secret: Secret = WEBHOOK_SECRET.parse().expect("a secret");
    Secrets::new(vec![secret]).expect("one is enough")
}

fn delivered(event: &CloudEvent) {
    let now = Timestamp::from_unix_ms(START_MS);
    let (secrets, parts) = (secrets(), event.parts());
    let receiver = Receiver {
        secrets: secrets.clone(),
        source: Some(parts.source.clone()),
    };
    for mode in [Mode::Structured, Mode::Binary] {
        let Ok(message) = seal(event, mode, &secrets, now) else {
            return;
        };
        let headers = header_map(&message.headers);
        let opened = open(&receiver, &headers, &message.body, now);
        same(event, &opened.expect("it is signed"), mode);
        forged(&receiver, &headers, &message.body, now);
    }
}

/// Whatever is changed of what is signed, it is signed no more.
fn forged(receiver: &Receiver, headers: &HeaderMap, body: &[u8], now: Timestamp) {
    let is_unsigned = |headers: &HeaderMap, body: &[u8]| {
        let opened = open(receiver, headers, body, now);
        assert!(matches!(opened, Err(OpenError::Unsigned(_))), "{opened:?}");
    };
    let longer = [body, b" "].concat();
    is_unsigned(headers, &longer);
    if let [first, rest @ ..] = body {
        is_unsigned(headers, &[&[first ^ 1], rest].concat());
        is_unsigned(headers, rest);
    }
    for name in SIGNATURE_HEADERS {
        let mut other = headers.clone();
        other.remove(&name);
        is_unsigned(&other, body);
        let value = headers[&name].as_bytes();
        let (last, rest) = value.split_last().expect("no value is empty");
        // Another last digit of base64 could stand for the same bytes, so the one in the middle is changed there.
        let changed = if name == "webhook-signature" {
            let mut value = value.to_vec();
            value[20] = if value[20] == b'A' { b'B' } else { b'A' };
            value
        } else {
            let last = if *last == b'1' { b'2' } else { b'1' };
            [rest, &[last]].concat()
        };
        other.insert(
            &name,
            HeaderValue::from_bytes(&changed).expect("visible ASCII"),
        );
        is_unsigned(&other, body);
    }
}

/// Headers of an input's own choice are never those of a signed message.
fn signatures(attributes: &HeaderMap, body: &[u8]) {
    let mut headers = attributes.clone();
    for (name, from) in SIGNATURE_HEADERS.into_iter().zip(BINARY) {
        if let Some(value) = attributes.get(from) {
            headers.insert(name, value.clone());
        }
    }
    let now = Timestamp::from_unix_ms(START_MS);
    if let Ok(id) = secrets().verify(&headers, now, body) {
        let signed = header_map(&secrets().sign(&id, now, body));
        assert_eq!(headers["webhook-id"], signed["webhook-id"]);
        panic!("{id:?} was guessed");
    }
}

/// A signed message at the inbox is applied once, or refused for a reason of the sender's.
fn received(body: &[u8]) {
    let now = Timestamp::from_unix_ms(START_MS);
    let id = raw::members(body).ok().and_then(|members| {
        let (_, id) = members.into_iter().find(|(name, _)| name == "id")?;
        raw::text_of(id).ok()
    });
    let id = id.and_then(|id| reprise::webhook::MessageId::new(id).ok());
    let id = id.unwrap_or(reprise::webhook::MessageId::new("none").expect("an id"));
    let signed = secrets().sign(&id, now, body);
    let mut headers: Vec<(&str, &str)> = vec![("content-type", STRUCTURED)];
    headers.extend(
        signed
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    let service = Service::over(Data::new());
    let first = service.send("POST", "/inbox/orders", &headers, body);
    let status = |seen: &Seen| seen.json()["status"].clone();
    match first.status {
        200 if status(&first) == "ignored" => {}
        200 => {
            assert_eq!(status(&first), "applied");
            let projection = |service: &Service| {
                service
                    .send("GET", "/inbox/orders/projection", &[], b"")
                    .body
            };
            let applied = projection(&service);
            let again = service.send("POST", "/inbox/orders", &headers, body);
            assert_eq!((again.status, status(&again)), (200, "duplicate".into()));
            assert_eq!(projection(&service), applied);
        }
        400 | 401 | 413 | 422 => {
            assert!(service.calls().is_empty());
        }
        other => panic!("{other}: {first:?}"),
    }
}

/// A text that is a secret has as many bytes as one has, and is never shown.
fn secret(text: &[u8]) {
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    if let Ok(secret) = text.parse::<Secret>() {
        assert!(text.starts_with("whsec_"));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}

/// What a receiver answers means something, whatever its Retry-After is.
fn outcome(value: &[u8]) {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(value) {
        headers.insert("retry-after", value);
    }
    let now = Timestamp::from_unix_ms(START_MS);
    for (status, is_final) in [
        (204, true),
        (400, true),
        (410, true),
        (429, false),
        (503, false),
    ] {
        let outcome = outcome_of(status, &headers, now);
        let is_retryable = matches!(outcome, DeliveryOutcome::Retryable { .. });
        assert_eq!(is_retryable, !is_final, "{status}");
    }
}
