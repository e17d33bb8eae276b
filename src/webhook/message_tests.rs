//! Both modes: exact bytes, the way back, and every way to be refused.

use super::*;
use crate::machine::Timestamp;
use crate::webhook::EventParts;
use http::HeaderValue;

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn small() -> EventParts {
    EventParts {
        id: "e-1".to_owned(),
        source: "/orders".to_owned(),
        kind: "order.created".to_owned(),
        ..EventParts::default()
    }
}

fn full() -> EventParts {
    EventParts {
        subject: Some("заказ 100%".to_owned()),
        time: Some(Timestamp::from_unix_ms(1_800_000_000_123)),
        datacontenttype: Some("application/json".to_owned()),
        traceparent: Some(TRACE.to_owned()),
        data: Some(br#"{"product_id": 42,"quantity":1e0}"#.to_vec()),
        ..small()
    }
}

fn event(parts: EventParts) -> CloudEvent {
    CloudEvent::new(parts).expect("a sound event")
}

fn map(lines: &[(HeaderName, String)]) -> HeaderMap {
    let line = |(name, value): &(HeaderName, String)| {
        (
            name.clone(),
            HeaderValue::from_bytes(value.as_bytes()).expect("a header's value"),
        )
    };
    lines.iter().map(line).collect()
}

fn lines(lines: &[(&'static str, &str)]) -> HeaderMap {
    let own =
        |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), (*value).to_owned());
    map(&lines.iter().map(own).collect::<Vec<_>>())
}

#[test]
fn a_structured_message_is_one_document_and_carries_no_attribute_in_its_headers() {
    let message = event(full()).message(Mode::Structured);
    let media_type = "application/cloudevents+json".to_owned();
    assert_eq!(message.headers, [(CONTENT_TYPE, media_type)]);
    let expected = format!(
        "{{\"specversion\":\"1.0\",\"id\":\"e-1\",\"source\":\"/orders\",\"type\":\"order.created\",\
         \"subject\":\"заказ 100%\",\"time\":\"2027-01-15T08:00:00.123Z\",\
         \"datacontenttype\":\"application/json\",\"traceparent\":\"{TRACE}\",\
         \"data\":{{\"product_id\": 42,\"quantity\":1e0}}}}"
    );
    assert_eq!(String::from_utf8_lossy(&message.body), expected);
    let message = event(small()).message(Mode::Structured);
    let expected = r#"{"specversion":"1.0","id":"e-1","source":"/orders","type":"order.created"}"#;
    assert_eq!(String::from_utf8_lossy(&message.body), expected);
}

#[test]
fn a_binary_message_has_its_attributes_in_headers_and_its_data_as_it_is() {
    let message = event(full()).message(Mode::Binary);
    let expected = lines(&[
        ("content-type", "application/json"),
        ("ce-specversion", "1.0"),
        ("ce-id", "e-1"),
        ("ce-source", "/orders"),
        ("ce-type", "order.created"),
        ("ce-subject", "%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7%20100%25"),
        ("ce-time", "2027-01-15T08:00:00.123Z"),
        ("ce-traceparent", TRACE),
    ]);
    assert_eq!(map(&message.headers), expected);
    assert_eq!(message.body, br#"{"product_id": 42,"quantity":1e0}"#);
    let message = event(small()).message(Mode::Binary);
    assert_eq!((message.headers.len(), message.body.len()), (4, 0));
}

#[test]
fn every_event_survives_both_modes() {
    let text = |media_type: &str, data: &[u8]| EventParts {
        datacontenttype: Some(media_type.to_owned()),
        data: Some(data.to_vec()),
        ..small()
    };
    let all = [
        small(),
        full(),
        text("text/plain; charset=utf-8", "\"строка\"\n".as_bytes()),
        text("application/octet-stream", b"\x00\xff"),
        text("application/vnd.a+json", b"null"),
        EventParts {
            data: Some(b"[1, 2]".to_vec()),
            ..small()
        },
        EventParts {
            data: Some(b"\"text\"".to_vec()),
            ..small()
        },
    ];
    for parts in all {
        for mode in [Mode::Structured, Mode::Binary] {
            let message = event(parts.clone()).message(mode);
            let parsed = parse(&map(&message.headers), &message.body);
            assert_eq!(parsed, Ok((event(parts.clone()), mode)));
        }
    }
}

#[test]
fn structured_messages_of_others_are_read() {
    let headers = lines(&[(
        "content-type",
        "Application/CloudEvents+JSON; charset=UTF-8",
    )]);
    let parsed = |members: &str| {
        let body = format!(
            r#"{{"specversion":"1.0","id":"e-1","source":"/orders","type":"order.created"{members}}}"#
        );
        parse(&headers, body.as_bytes()).map(|(event, _)| event.parts().clone())
    };
    let data = |data: &[u8]| EventParts {
        data: Some(data.to_vec()),
        ..small()
    };
    let plain = |bytes: &[u8]| EventParts {
        datacontenttype: Some("text/plain".to_owned()),
        ..data(bytes)
    };
    let table = [
        (r#","subject":null,"time":null,"data_base64":null"#, small()),
        (r#","comexampleother":5,"traceparent":7"#, small()),
        (r#","traceparent":"nonsense""#, small()),
        (r#","data":null"#, data(b"null")),
        (r#","data":"text""#, data(b"\"text\"")),
        (r#","data_base64":"WzFd""#, data(b"[1]")),
        (
            r#","datacontenttype":"text/plain","data":"a\n\"b\"""#,
            plain(b"a\n\"b\""),
        ),
        (
            r#","datacontenttype":"text/plain","data":{"a": 1}"#,
            plain(b"{\"a\": 1}"),
        ),
        (
            r#","datacontenttype":"text/plain","data_base64":"/w==""#,
            plain(b"\xff"),
        ),
    ];
    for (members, expected) in table {
        assert_eq!(parsed(members), Ok(expected), "{members}");
    }
}

#[test]
fn structured_messages_that_are_none_are_refused() {
    let headers = lines(&[("content-type", "application/cloudevents+json")]);
    let refused = |body: &str| parse(&headers, body.as_bytes()).expect_err(body);
    let missing = |name| BindingError::Event(EventError::Missing(name));
    let malformed = |name| BindingError::Event(EventError::Malformed(name));
    let table = [
        (
            r#"{"specversion":"1.0","source":"/o","type":"t"}"#,
            missing("id"),
        ),
        (
            r#"{"specversion":"1.0","id":"","source":"/o","type":"t"}"#,
            missing("id"),
        ),
        (
            r#"{"specversion":"1.0","id":null,"source":"/o","type":"t"}"#,
            missing("id"),
        ),
        (
            r#"{"specversion":"1.0","id":"1","type":"t"}"#,
            missing("source"),
        ),
        (
            r#"{"specversion":"1.0","id":"1","source":"/o"}"#,
            missing("type"),
        ),
        (
            r#"{"id":"1","source":"/o","type":"t"}"#,
            BindingError::Version,
        ),
        (
            r#"{"specversion":"0.3","id":"1","source":"/o","type":"t"}"#,
            BindingError::Version,
        ),
        (
            r#"{"specversion":"1.0","id":"1","source":"/o","type":"t","time":"now"}"#,
            malformed("time"),
        ),
        (
            r#"{"specversion":"1.0","id":"1","source":"a b","type":"t"}"#,
            malformed("source"),
        ),
    ];
    for (body, error) in table {
        assert_eq!(refused(body), error, "{body}");
    }
    for body in [
        "",
        "[]",
        r#"["1.0","1","/o","t"]"#,
        "{",
        r#"{"specversion":1.0,"id":"1","source":"/o","type":"t"}"#,
        r#"{"specversion":"1.0","id":1,"source":"/o","type":"t"}"#,
        r#"{"specversion":"1.0","id":"1","id":"2","source":"/o","type":"t"}"#,
        r#"{"specversion":"1.0","id":"1","source":"/o","type":"t","data":1,"data_base64":"MQ=="}"#,
        r#"{"specversion":"1.0","id":"1","source":"/o","type":"t","data_base64":"?"}"#,
        r#"{"specversion":"1.0","id":"1","source":"/o","type":"t","data_base64":5}"#,
    ] {
        assert!(matches!(refused(body), BindingError::Body { .. }), "{body}");
    }
}

#[test]
fn binary_messages_that_are_none_are_refused() {
    let missing = |name| BindingError::Event(EventError::Missing(name));
    let malformed = |name| BindingError::Event(EventError::Malformed(name));
    let id = || HeaderName::from_static("ce-id");
    // Each line takes a header away, gives it another value, or gives it a second one.
    let table = [
        (Edit::Remove, "ce-specversion", BindingError::Version),
        (
            Edit::Replace("0.3"),
            "ce-specversion",
            BindingError::Version,
        ),
        (Edit::Remove, "ce-id", missing("id")),
        (Edit::Remove, "ce-source", missing("source")),
        (Edit::Remove, "ce-type", missing("type")),
        (Edit::Repeat("e-1"), "ce-id", BindingError::Repeated(id())),
        (
            Edit::Replace("%"),
            "ce-id",
            BindingError::Header(id(), CodingError::Percent),
        ),
        (Edit::Replace("1"), "ce-time", malformed("time")),
        (
            Edit::Repeat("a/b"),
            "content-type",
            BindingError::Repeated(CONTENT_TYPE),
        ),
        (
            Edit::Replace("a"),
            "content-type",
            malformed("datacontenttype"),
        ),
        (
            Edit::Replace("application/cloudevents-batch+json"),
            "content-type",
            BindingError::Batch,
        ),
        (
            Edit::Replace("application/cloudevents+avro"),
            "content-type",
            BindingError::Format,
        ),
    ];
    let message = event(full()).message(Mode::Binary);
    for (edit, name, error) in table {
        let mut headers = map(&message.headers);
        edit.apply(&mut headers, name);
        assert_eq!(
            parse(&headers, &message.body),
            Err(error),
            "{edit:?} {name}"
        );
    }
    let mut headers = map(&message.headers);
    let not_json = BindingError::Event(EventError::NotJson);
    assert_eq!(parse(&headers, b"{"), Err(not_json));
    assert_eq!(parse(&HeaderMap::new(), b"{}"), Err(BindingError::Version));
    Edit::Replace("%").apply(&mut headers, "ce-traceparent");
    let (read, _) = parse(&headers, &message.body).expect("a broken trace is no reason to refuse");
    assert_eq!(read.parts().traceparent, None);
}

#[derive(Clone, Copy, Debug)]
enum Edit {
    Remove,
    Replace(&'static str),
    Repeat(&'static str),
}

impl Edit {
    fn apply(self, headers: &mut HeaderMap, name: &'static str) {
        match self {
            Self::Remove => {
                headers.remove(name);
            }
            Self::Replace(value) => {
                headers.insert(name, HeaderValue::from_static(value));
            }
            Self::Repeat(value) => {
                headers.append(name, HeaderValue::from_static(value));
            }
        }
    }
}
