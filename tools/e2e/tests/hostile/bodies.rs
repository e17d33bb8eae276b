//! Bodies: JSON that means harm, codings, and how much of either is read. Nothing here is ever expanded.

use super::setting::Expected::{Forwarded, Problem, Taken};
use super::setting::{ANSWER, Setting, options, pay, put};
use reprise_e2e::raw::RawRequest;
use reprise_e2e::wire::one_request;
use reprise_e2e::{Host, Sent, Upstream};
use std::time::Duration;
use tempfile::TempDir;

const INVALID: super::setting::Expected = Problem(400, "invalid-body");

/// A gigabyte of zeros, compressed twice; the inner stream alone has a megabyte.
fn bomb() -> Vec<u8> {
    // The head of a gzip member and the start of one: what is not expanded need not be whole.
    [
        &b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"[..],
        &[0xec, 0xc1][..],
        &[0; 4_096],
    ]
    .concat()
}

#[test]
fn json_that_readers_differ_in_is_refused_and_never_costs_more_than_its_bytes() {
    let keys = std::cell::Cell::new(0);
    let key = || {
        keys.set(keys.get() + 1);
        format!("Idempotency-Key: k{}", keys.get())
    };
    let json = |body: &[u8]| pay().line(key()).body(body);
    let nested = |open: &str, close: &str, levels: usize| {
        [open.repeat(levels), "1".to_owned(), close.repeat(levels)].concat()
    };
    let number = |number: &str| json(format!("{{\"a\":{number}}}").as_bytes());
    let members: Vec<String> = (0..8_000).map(|number| format!("\"{number}\":0")).collect();
    Setting::start().hold(&[
        (
            "100 levels",
            json(nested("[", "]", 100).as_bytes()),
            Forwarded,
        ),
        (
            "101 levels",
            json(nested("[", "]", 101).as_bytes()),
            INVALID,
        ),
        (
            "60,000 levels",
            json(nested("[", "]", 60_000).as_bytes()),
            INVALID,
        ),
        (
            "100,000 levels that never end",
            json(&b"[".repeat(100_000)),
            INVALID,
        ),
        (
            "20,000 levels of objects",
            json(nested("{\"a\":", "}", 20_000).as_bytes()),
            INVALID,
        ),
        ("60,000 closed", json(&b"]".repeat(60_000)), INVALID),
        (
            "8,000 members",
            json(format!("{{{}}}", members.join(",")).as_bytes()),
            Forwarded,
        ),
        (
            "60,000 items",
            json(format!("[{}0]", "0,".repeat(30_000)).as_bytes()),
            Forwarded,
        ),
        ("a number beyond floats", number("1e999"), INVALID),
        (
            "a number of 60,000 digits",
            number(&"9".repeat(60_000)),
            INVALID,
        ),
        (
            "60,000 decimals",
            number(&format!("0.{}", "9".repeat(60_000))),
            Forwarded,
        ),
        (
            "an exponent without end",
            number(&format!("1e{}", "9".repeat(60_000))),
            INVALID,
        ),
        ("a tiny number", number("1e-99999999999"), Forwarded),
        (
            "one more than is exact",
            number("9007199254740992"),
            INVALID,
        ),
        ("no number", number("NaN"), INVALID),
        ("a plus", number("+1"), INVALID),
        ("a leading zero", number("01"), INVALID),
        ("a member twice", json(br#"{"a":1,"a":2}"#), INVALID),
        (
            "a member twice, spelled otherwise",
            json(br#"{"a":1,"\u0061":2}"#),
            INVALID,
        ),
        (
            "a member twice, deep down",
            json(br#"[{"b":{"a":1,"a":1}}]"#),
            INVALID,
        ),
        ("no UTF-8", json(b"{\"a\":\"\xff\"}"), INVALID),
        ("an overlong slash", json(b"{\"a\":\"\xc0\xaf\"}"), INVALID),
        (
            "a surrogate in UTF-8",
            json(b"{\"a\":\"\xed\xa0\x80\"}"),
            INVALID,
        ),
        ("half a pair", json(br#"{"a":"\ud800"}"#), INVALID),
        ("the wrong half", json(br#"{"a":"\udc00"}"#), INVALID),
        ("a NUL, escaped", json(br#"{"a":"\u0000"}"#), Forwarded),
        ("a NUL as it is", json(b"{\"a\":\"\0\"}"), INVALID),
        ("a line break in a string", json(b"{\"a\":\"\n\"}"), INVALID),
        ("a byte order mark", json(b"\xef\xbb\xbf{}"), INVALID),
        ("UTF-16", json(b"\xff\xfe{\0}\0"), INVALID),
        ("a comment", json(b"{}//"), INVALID),
        ("two values", json(b"{}{}"), INVALID),
        ("a comma too much", json(br#"{"a":1,}"#), INVALID),
        ("nothing", json(b""), INVALID),
        ("white space", json(&b" ".repeat(60_000)), INVALID),
        (
            "white space around",
            json(format!("{0}1{0}", " ".repeat(30_000)).as_bytes()),
            Forwarded,
        ),
        (
            "too much of it",
            json(&b" ".repeat(131_073)),
            Problem(413, "body-too-large"),
        ),
        (
            "too much of it, unannounced",
            pay()
                .line(key())
                .line("Transfer-Encoding: chunked")
                .unframed(format!("20001\r\n{}\r\n0\r\n\r\n", " ".repeat(131_073))),
            Problem(413, "body-too-large"),
        ),
    ]);
}

#[test]
fn an_order_and_a_task_are_read_as_strictly() {
    let order = |key: &str, body: &str| {
        let request = RawRequest::new("POST", "/orders").line("Content-Type: application/json");
        request.line(format!("Idempotency-Key: {key}")).body(body)
    };
    let task = |body: &[u8]| {
        RawRequest::new("POST", "/tasks")
            .line("Content-Type: application/json")
            .body(body)
    };
    let deep = format!(
        "{{\"product_id\":1,\"quantity\":{}1{}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    Setting::start().hold(&[
        (
            "an order",
            order("a", r#"{"product_id":1,"quantity":1}"#),
            Taken(201),
        ),
        (
            "a constructor",
            order("b", r#"{"product_id":1,"quantity":1,"__proto__":{}}"#),
            INVALID,
        ),
        (
            "a negative one",
            order("c", r#"{"product_id":1,"quantity":-1}"#),
            INVALID,
        ),
        (
            "a huge one",
            order("d", r#"{"product_id":1,"quantity":1e308}"#),
            INVALID,
        ),
        ("a deep one", order("e", &deep), INVALID),
        (
            "a text",
            task("{\"text\":\"\\u0000 \u{202e} \u{1f9d1}\u{200d}\u{1f680}\"}".as_bytes()),
            Taken(201),
        ),
        (
            "a text of marks that join",
            task(format!("{{\"text\":\"a{}\"}}", "\u{301}".repeat(60_000)).as_bytes()),
            Taken(201),
        ),
        ("no text", task(br#"{"text":["a"]}"#), INVALID),
    ]);
}

/// What we read ourselves is taken uncoded alone, and so is what an upstream would not be told the coding of.
#[test]
fn a_coded_request_is_refused_where_its_coding_would_be_lost() {
    let refused = Problem(415, "unsupported-media-type");
    let coded = |request: RawRequest, coding: &str| {
        request
            .line(format!("Content-Encoding: {coding}"))
            .body(bomb())
    };
    let keyed = || pay().line("Idempotency-Key: k");
    Setting::start().hold(&[
        ("JSON", coded(keyed(), "gzip"), refused),
        ("JSON, twice coded", coded(keyed(), "gzip, br"), refused),
        (
            "JSON, a coding that nobody knows",
            coded(keyed(), "bomb"),
            refused,
        ),
        (
            "JSON that is said to be plain",
            keyed().line("Content-Encoding: identity").body("{}"),
            Forwarded,
        ),
        (
            "JSON that is coded and does not say so",
            keyed().body(bomb()),
            INVALID,
        ),
        (
            "bytes whose coding is not passed on",
            coded(put(), "gzip"),
            refused,
        ),
        ("bytes that do not say so", put().body(bomb()), Forwarded),
    ]);
}

#[test]
fn a_coding_that_is_passed_on_is_passed_on_with_its_bytes() {
    let upstream = reprise_e2e::wire::Wire::start(ANSWER);
    let state = TempDir::new().expect("a folder");
    let options = options(&upstream.url()).edit("\"x-shop\"", "\"content-encoding\"");
    let host = Host::start(state.path(), &options);
    let request = put().line("Content-Encoding: gzip").body(bomb());
    assert_eq!(request.send(host.address())[0].status, 201);
    let (lines, body) = one_request(&upstream.connections()[0]).expect("one request");
    assert!(
        lines
            .iter()
            .any(|line| line.eq_ignore_ascii_case("content-encoding: gzip")),
        "{lines:?}"
    );
    assert_eq!(body, bomb());
}

/// A response's coding comes back with its bytes, at first and from the record; what is too much is cut off and remembered.
#[test]
fn a_response_is_never_expanded_and_never_read_without_end() {
    let endless = [
        &b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"[..],
        &b"10000\r\n"[..],
    ]
    .concat();
    let endless = [endless, vec![b'x'; 0x10000], b"\r\n".to_vec()].concat();
    let upstream = Upstream::start(move |_, seen| {
        if seen.target.contains("endless") {
            // As long as anybody reads.
            let piece = [&b"10000\r\n"[..], &[b'x'; 0x10000], b"\r\n"].concat();
            let bytes = [&endless[..], &piece.repeat(200)].concat();
            return Sent {
                delay: Duration::ZERO,
                bytes,
            };
        }
        Sent::new(200, &[("Content-Encoding", "gzip")], &bomb())
    });
    let state = TempDir::new().expect("a folder");
    let host = Host::start(state.path(), &options(&upstream.url()));
    let memory = host.resident_bytes();
    let send = |path: &str| {
        let request = RawRequest::new("PUT", path)
            .line("Idempotency-Key: k")
            .line("Accept-Encoding: gzip");
        request.body("a").send(host.address()).remove(0)
    };
    for is_repeat in [false, true] {
        let answer = send("/items/1/parts");
        assert_eq!((answer.status, &answer.body), (200, &bomb()));
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        assert_eq!(answer.header("idempotent-replayed").is_some(), is_repeat);
    }
    let client = host.client();
    for number in 0..20 {
        let path = format!("/items/endless-{number}/parts");
        let first = client
            .send("PUT", &path, &[("idempotency-key", &path)], b"a")
            .expect("an answer");
        let repeat = client
            .send("PUT", &path, &[("idempotency-key", &path)], b"a")
            .expect("an answer");
        assert_eq!(
            (first.status, first.is_replayed()),
            (200, false),
            "{first:?}"
        );
        assert!(
            repeat.is_replayed() && repeat.body == first.body,
            "{repeat:?}"
        );
        assert!(
            first.body.len() < 1_024,
            "what was too large is not there: {first:?}"
        );
    }
    assert_eq!(upstream.seen().len(), 21, "none was called twice");
    let grown = host.resident_bytes().saturating_sub(memory);
    assert!(
        grown < 64 << 20,
        "{grown} bytes more for responses of 260 MB"
    );
}

/// Responses that other clients might take for two.
#[test]
fn a_response_in_two_minds_is_an_attempt_that_failed() {
    let table: [(&str, u16); 13] = [
        (
            "200 X\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
            202,
        ),
        ("200 X\r\nContent-Length: 2, 2\r\n\r\nok", 202),
        ("200 X\r\nContent-Length: -2\r\n\r\nok", 202),
        (
            "200 X\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n3\r\noh!\r\n0\r\n\r\n",
            202,
        ),
        (
            "200 X\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n3\r\noh!\r\n0\r\n\r\n",
            202,
        ),
        (
            "200 X\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\noh!\r\n0\r\n\r\n",
            200,
        ),
        (
            "200 X\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nok\r\n0\r\n\r\n",
            202,
        ),
        (
            "200 X\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\nok\r\n0\r\n\r\n",
            202,
        ),
        (
            "200 X\r\nX: a\r\n folded\r\nContent-Length: 2\r\n\r\nok",
            202,
        ),
        ("200 X\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok", 202),
        (
            "200 X\r\nLocation: /a\rInjected: 1\r\nContent-Length: 2\r\n\r\nok",
            202,
        ),
        (
            "200 X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nokHTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n",
            200,
        ),
        ("2000 X\r\nContent-Length: 2\r\n\r\nok", 202),
    ];
    let upstream = Upstream::start(move |before, _| Sent {
        delay: Duration::ZERO,
        bytes: format!("HTTP/1.1 {}", table[before].0).into_bytes(),
    });
    let state = TempDir::new().expect("a folder");
    let host = Host::start(state.path(), &options(&upstream.url()));
    for (number, (response, status)) in table.iter().enumerate() {
        let request = put().line(format!("Idempotency-Key: k{number}")).body("a");
        let answers = request.send(host.address());
        let [answer] = &answers[..] else {
            panic!("{response:?}: {answers:?}")
        };
        assert_eq!(answer.status, *status, "{response:?}: {answer:?}");
        assert!(answer.header("injected").is_none(), "{answer:?}");
        if *status == 200 {
            let whole: &[u8] = if response.contains("oh!") {
                b"oh!"
            } else {
                b"ok"
            };
            assert_eq!(answer.body, whole, "{response:?}");
        }
    }
}
