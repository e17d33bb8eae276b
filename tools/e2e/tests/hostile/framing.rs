//! Where a message ends: whatever a request says of its length, the upstream gets one request whose length is beyond
//! doubt, and what was hidden behind it is answered as what it is or not at all.

use super::setting::Expected::{Forwarded, Host, Problem};
use super::setting::{Setting, put};
use reprise_e2e::raw::{RawRequest, exchange};
use reprise_e2e::wire::one_request;

const BODY: &str = "a body";
const BROKEN: super::setting::Expected = Problem(400, "invalid-body");

fn chunked(body: &str) -> RawRequest {
    put().line("Transfer-Encoding: chunked").unframed(body)
}

#[test]
fn a_length_in_two_minds_is_refused() {
    let twice = |other: &str| put().line(other).body(BODY);
    Setting::start().hold(&[
        ("once", put().body(BODY), Forwarded),
        ("twice the same", twice("Content-Length: 6"), Forwarded),
        (
            "twice, shorter first",
            twice("Content-Length: 5"),
            Host(400),
        ),
        (
            "twice, longer first",
            twice("Content-Length: 60"),
            Host(400),
        ),
        (
            "a list",
            put().line("Content-Length: 6, 6").unframed(BODY),
            Host(400),
        ),
        (
            "a sign",
            put().line("Content-Length: +6").unframed(BODY),
            Host(400),
        ),
        (
            "a minus",
            put().line("Content-Length: -6").unframed(BODY),
            Host(400),
        ),
        (
            "hexadecimal",
            put().line("Content-Length: 0x6").unframed(BODY),
            Host(400),
        ),
        (
            "a fraction",
            put().line("Content-Length: 6.0").unframed(BODY),
            Host(400),
        ),
        (
            "inner space",
            put().line("Content-Length: 6 6").unframed(BODY),
            Host(400),
        ),
        (
            "empty",
            put().line("Content-Length:").unframed(BODY),
            Host(400),
        ),
        (
            "beyond 64 bits",
            put()
                .line("Content-Length: 99999999999999999999999")
                .unframed(BODY),
            Host(400),
        ),
        (
            "beyond memory",
            put()
                .line("Content-Length: 9223372036854775807")
                .unframed(BODY),
            Problem(413, "body-too-large"),
        ),
        (
            "space before the colon",
            put().line("Content-Length : 6").unframed(BODY),
            Host(400),
        ),
        (
            "an underscore is another header",
            twice("Content_Length: 60"),
            Forwarded,
        ),
    ]);
}

#[test]
fn a_transfer_coding_that_ends_in_doubt_is_refused() {
    let whole = "6\r\na body\r\n0\r\n\r\n";
    let coded = |line: &str| put().line(line).unframed(whole);
    let te = "Transfer-Encoding:";
    Setting::start().hold(&[
        ("chunked", coded("Transfer-Encoding: chunked"), Forwarded),
        (
            "another case",
            coded("TRANSFER-encoding: cHuNkEd"),
            Forwarded,
        ),
        (
            "tabs around it",
            coded(&format!("{te}\tchunked\t")),
            Forwarded,
        ),
        // The other one is not looked at, and the connection is closed (RFC 9112, section 6.1).
        (
            "length first",
            coded("Content-Length: 3\r\nTransfer-Encoding: chunked"),
            Forwarded,
        ),
        (
            "length last",
            coded("Transfer-Encoding: chunked\r\nContent-Length: 3"),
            Forwarded,
        ),
        // The host undoes the chunks, and which codings there were besides never reaches the component.
        (
            "coded with more than chunks",
            coded(&format!("{te} gzip, chunked")),
            Forwarded,
        ),
        (
            "in two lines",
            coded(&format!("{te} gzip\r\n{te} chunked")),
            Forwarded,
        ),
        (
            "chunked twice",
            coded(&format!("{te} chunked, chunked")),
            Forwarded,
        ),
        ("unknown", coded(&format!("{te} xchunked")), Host(400)),
        ("identity", coded(&format!("{te} identity")), Host(400)),
        (
            "not the last",
            coded(&format!("{te} chunked, identity")),
            Host(400),
        ),
        (
            "two lines, not the last",
            coded(&format!("{te} chunked\r\n{te} x")),
            Host(400),
        ),
        ("in quotes", coded(&format!("{te} \"chunked\"")), Host(400)),
        (
            "with a parameter",
            coded(&format!("{te} chunked;q=1")),
            Host(400),
        ),
        (
            "a vertical tab",
            coded(&format!("{te} \x0bchunked")),
            Host(400),
        ),
        ("a NUL", coded(&format!("{te} chunked\0")), Host(400)),
        ("empty", coded(te), Host(400)),
        ("folded", coded(&format!("{te}\r\n chunked")), Host(400)),
        (
            "space before the colon",
            coded("Transfer-Encoding : chunked"),
            Host(400),
        ),
        (
            "HTTP/1.0 has none",
            RawRequest {
                first: b"PUT /items/1/parts HTTP/1.0".to_vec(),
                ..coded("Transfer-Encoding: chunked")
            },
            Host(400),
        ),
    ]);
}

#[test]
fn chunks_are_as_long_as_they_say_or_the_body_is_broken() {
    let sized = |size: &str| chunked(&format!("{size}\r\na body\r\n0\r\n\r\n"));
    let long = format!("6;{}", "x".repeat(20_000));
    Setting::start().hold(&[
        ("leading zeros", sized("0000000000000006"), Forwarded),
        ("an extension", sized("6;a=b"), Forwarded),
        ("space behind it", sized("6 "), Forwarded),
        (
            "byte by byte",
            chunked("1\r\na\r\n1\r\n \r\n4\r\nbody\r\n0\r\n\r\n"),
            Forwarded,
        ),
        ("no byte", chunked("0\r\n\r\n"), Forwarded),
        (
            "fields behind the body count for nothing",
            chunked("6\r\na body\r\n0\r\nX-Shop: smuggled\r\nIdempotency-Key: smuggled\r\n\r\n"),
            Forwarded,
        ),
        ("a sign", sized("+6"), BROKEN),
        ("a minus", sized("-6"), BROKEN),
        ("hexadecimal twice", sized("0x6"), BROKEN),
        ("beyond 64 bits", sized("10000000000000006"), BROKEN),
        ("an extension without end", sized(&long), BROKEN),
        (
            "a line break in an extension",
            sized("6;a=\"\r\n\""),
            BROKEN,
        ),
        ("no size", sized(""), BROKEN),
        (
            "a bare line feed",
            chunked("6\na body\r\n0\r\n\r\n"),
            BROKEN,
        ),
        (
            "more than it says",
            chunked("5\r\na body\r\n0\r\n\r\n"),
            BROKEN,
        ),
        ("another end", chunked("6\r\na bodyXX0\r\n\r\n"), BROKEN),
        (
            "broken behind a length that does not count",
            chunked("6\r\na bodyXX0\r\n\r\n").line("Content-Length: 6"),
            BROKEN,
        ),
    ]);
}

/// What follows a request on its connection is a request of its own, for us alone.
#[test]
fn a_request_behind_a_request_never_reaches_the_upstream_in_its_name() {
    let setting = Setting::start();
    let address = setting.host.address();
    let hidden = b"POST /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let open = |line: &str| {
        let mut request = put().line(line);
        request.lines.retain(|line| line != b"Connection: close");
        request
    };
    let statuses = |request: RawRequest| -> Vec<u16> {
        let bytes = [&request.bytes()[..], hidden].concat();
        exchange(address, &bytes)
            .iter()
            .map(|answer| answer.status)
            .collect()
    };
    // A pipeline: each is answered in its turn.
    assert_eq!(statuses(open("X: y").body(BODY)), [201, 404]);
    assert_eq!(statuses(open("Content-Length: 0")), [201, 404]);
    assert_eq!(
        statuses(open("Transfer-Encoding: chunked").unframed("0\r\n\r\n")),
        [201, 404]
    );
    // Both framings at once: the connection ends behind the answer, whatever follows.
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked";
    assert_eq!(statuses(open(both).unframed("0\r\n\r\n")), [201]);
    // The hidden one is part of the body.
    let length = format!("Content-Length: {}", hidden.len());
    assert_eq!(statuses(open(&length).line("Connection: close")), [201]);
    let connections = setting.wire.connections();
    let bodies: Vec<_> = connections
        .iter()
        .map(|bytes| one_request(bytes).expect("one request").1)
        .collect();
    let expected: [&[u8]; 5] = [BODY.as_bytes(), b"", b"", b"", hidden];
    assert_eq!(bodies, expected);
    assert_eq!(setting.operations(), 5);
}
