//! Codings and framing of bodies: a coding goes on with its bytes or is refused, nothing is ever expanded, and nothing
//! is read without end.

use super::setting::Expected::{Forwarded, Problem};
use super::setting::{ANSWER, Setting, options, pay, put};
use reprise_e2e::raw::RawRequest;
use reprise_e2e::wire::{Wire, one_request};
use reprise_e2e::{Host, Sent, State, Upstream};
use std::time::Duration;

/// The start of a gzip member that stands for far more bytes than it has. Nobody here looks into it.
fn bomb() -> Vec<u8> {
    [
        &b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"[..],
        &[0xec, 0xc1][..],
        &[0; 4_096],
    ]
    .concat()
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
            Problem(400, "invalid-body"),
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
    let upstream = Wire::start(ANSWER);
    let state = State::new();
    let options = options(&upstream.url()).edit("\"x-shop\"", "\"content-encoding\"");
    let host = Host::start(&state, &options);
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

/// A response's coding comes back with its bytes, at first and from the record; what is too much is cut off and
/// remembered.
#[test]
fn a_response_is_never_expanded_and_never_read_without_end() {
    let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let head = "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
    // As long as anybody reads.
    let endless = (head + &piece.repeat(200)).into_bytes();
    let upstream = Upstream::start(move |_, seen| {
        if seen.target.contains("endless") {
            return Sent {
                delay: Duration::ZERO,
                bytes: endless.clone(),
            };
        }
        Sent::new(200, &[("Content-Encoding", "gzip")], &bomb())
    });
    let state = State::new();
    let host = Host::start(&state, &options(&upstream.url()));
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
    let grown = host.most_resident_bytes().saturating_sub(memory);
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
    let state = State::new();
    let host = Host::start(&state, &options(&upstream.url()));
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
