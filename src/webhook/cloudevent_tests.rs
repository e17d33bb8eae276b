//! What an event may look like.

use super::*;

fn parts() -> EventParts {
    EventParts {
        id: "1".to_owned(),
        source: "/orders".to_owned(),
        kind: "order.created".to_owned(),
        ..EventParts::default()
    }
}

/// What becomes of the event above after a change.
fn refused(change: impl FnOnce(&mut EventParts)) -> Option<EventError> {
    let mut parts = parts();
    change(&mut parts);
    CloudEvent::new(parts).err()
}

#[test]
fn the_required_attributes_are_required() {
    assert_eq!(refused(|_| ()), None);
    for (error, change) in [
        ("id", (|parts| parts.id.clear()) as fn(&mut EventParts)),
        ("source", |parts| parts.source.clear()),
        ("type", |parts| parts.kind.clear()),
        ("subject", |parts| parts.subject = Some(String::new())),
    ] {
        assert_eq!(refused(change), Some(EventError::Missing(error)));
    }
}

#[test]
fn no_attribute_is_longer_than_its_limit() {
    let text = |bytes| "x".repeat(bytes);
    assert_eq!(refused(|parts| parts.id = text(255)), None);
    assert_eq!(
        refused(|parts| parts.id = text(256)),
        Some(EventError::TooLong("id"))
    );
    assert_eq!(refused(|parts| parts.source = text(1_024)), None);
    assert_eq!(
        refused(|parts| parts.source = text(1_025)),
        Some(EventError::TooLong("source"))
    );
    let subject = refused(|parts| parts.subject = Some(text(1_025)));
    assert_eq!(subject, Some(EventError::TooLong("subject")));
    let media_type = refused(|parts| parts.datacontenttype = Some(format!("a/{}", text(1_023))));
    assert_eq!(media_type, Some(EventError::TooLong("datacontenttype")));
}

#[test]
fn a_string_has_no_control_and_no_noncharacter() {
    for text in ["заказ 1", "a b", "\u{fffd}", "😀"] {
        assert_eq!(
            refused(|parts| parts.subject = Some(text.to_owned())),
            None,
            "{text:?}"
        );
    }
    for text in [
        "a\n",
        "\0",
        "\u{85}",
        "\u{fdd0}",
        "\u{fdef}",
        "\u{ffff}",
        "\u{1fffe}",
    ] {
        let error = refused(|parts| parts.subject = Some(text.to_owned()));
        assert_eq!(error, Some(EventError::Malformed("subject")), "{text:?}");
    }
}

#[test]
fn a_source_is_a_uri_reference() {
    for source in [
        "/orders",
        "https://a.example:1/b?c=d#e",
        "urn:uuid:1",
        "a%20b",
        "mailto:a@b",
        "[::1]",
    ] {
        assert_eq!(
            refused(|parts| parts.source = source.to_owned()),
            None,
            "{source}"
        );
    }
    for source in ["a b", "заказ", "a%2", "a%zz", "<a>", "a\"b", "a^b", "%"] {
        let error = refused(|parts| parts.source = source.to_owned());
        assert_eq!(error, Some(EventError::Malformed("source")), "{source}");
    }
}

#[test]
fn a_media_type_is_one_and_not_that_of_an_event() {
    let with = |text: &str| refused(|parts| parts.datacontenttype = Some(text.to_owned()));
    for text in [
        "text/plain",
        "application/json; charset=utf-8",
        "application/x.a+b",
    ] {
        assert_eq!(with(text), None, "{text}");
    }
    for text in [
        "",
        "text",
        "text/",
        "/plain",
        "te xt/plain",
        "text/plain\r\na: b",
        "text/plän",
        "application/cloudevents+json",
        "Application/CloudEvents-batch+json",
    ] {
        assert_eq!(
            with(text),
            Some(EventError::Malformed("datacontenttype")),
            "{text}"
        );
    }
}

#[test]
fn data_is_json_where_it_is_said_to_be() {
    let with = |media_type: Option<&str>, data: &[u8]| {
        refused(|parts| {
            parts.datacontenttype = media_type.map(str::to_owned);
            parts.data = Some(data.to_vec());
        })
    };
    let json = [
        "application/json",
        "TEXT/JSON; a=b",
        "application/problem+json",
    ];
    for media_type in json.map(Some).into_iter().chain([None]) {
        assert_eq!(with(media_type, b"{\"a\":[1]}"), None, "{media_type:?}");
        for data in [&b""[..], b"{", b"{} x", b"\xff"] {
            assert_eq!(
                with(media_type, data),
                Some(EventError::NotJson),
                "{media_type:?}"
            );
        }
    }
    for media_type in ["text/plain", "application/jsonx", "json/plain"] {
        assert_eq!(with(Some(media_type), b"\xff{"), None, "{media_type}");
    }
}

#[test]
fn a_trace_has_the_form_of_version_00() {
    let is_sound =
        |text: &str| refused(|parts| parts.traceparent = Some(text.to_owned())).is_none();
    let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert!(is_sound(good));
    for bad in [
        "",
        "00",
        &good.to_uppercase(),
        &good.replacen("00-", "01-", 1),
        &good[..54],
        &format!("{good}-0"),
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    ] {
        assert!(!is_sound(bad), "{bad}");
    }
}
