//! Methods, versions and protocols beside those that a client of this service uses.

use super::setting::Expected::{Closed, Forwarded, Host, Problem, Told};
use super::setting::{Setting, pay, put};
use reprise_e2e::raw::{RawRequest, answers};
use reprise_e2e::wire::one_request;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

/// How long a frame is on its own, so that the component may have taken it for the last one.
const BETWEEN_FRAMES: Duration = Duration::from_millis(20);

// The types of frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

fn first(line: &str) -> RawRequest {
    RawRequest {
        first: line.as_bytes().to_vec(),
        ..put()
    }
}

#[test]
fn a_method_does_what_it_is_for_or_nothing() {
    let asked = |method: &str| RawRequest::new(method, "/pay").body("{}");
    let not_allowed = Problem(405, "method-not-allowed");
    Setting::start().hold(&[
        ("OPTIONS", asked("OPTIONS"), Told(204)),
        ("TRACE tells nothing back", asked("TRACE"), not_allowed),
        ("CONNECT connects nothing", asked("CONNECT"), not_allowed),
        ("an unknown one", asked("BREW"), not_allowed),
        ("another case", asked("post"), not_allowed),
        ("a long one", asked(&"A".repeat(300)), not_allowed),
        ("PRI", asked("PRI"), not_allowed),
        ("HEAD has no body to show", asked("HEAD"), Host(405)),
        ("two words", asked("PO ST"), Host(400)),
        (
            "CONNECT to a host",
            first("CONNECT 127.0.0.1:80 HTTP/1.1"),
            Closed,
        ),
        (
            "OPTIONS of all",
            first("OPTIONS * HTTP/1.1"),
            Problem(404, "not-found"),
        ),
    ]);
}

#[test]
fn a_version_is_one_that_is_spoken() {
    let body = |request: RawRequest| request.body("a");
    let version = |version: &str| body(first(&format!("PUT /items/1/parts {version}")));
    let hosts = |lines: &[&str]| {
        let mut request = put().body("a");
        request.lines.retain(|line| !line.starts_with(b"Host"));
        lines.iter().fold(request, RawRequest::line)
    };
    Setting::start().hold(&[
        ("1.0", version("HTTP/1.0"), Forwarded),
        ("1.1", version("HTTP/1.1"), Forwarded),
        ("1.2", version("HTTP/1.2"), Host(400)),
        ("2.0 by its name", version("HTTP/2.0"), Host(400)),
        ("0.9", first("GET /items/1/parts"), Host(400)),
        ("no name", version("HTTPS/1.1"), Host(400)),
        ("no host", hosts(&[]), Closed),
        ("no host at all", hosts(&["Host:"]), Closed),
        ("no host's name", hosts(&["Host: a b"]), Closed),
        (
            "another component",
            hosts(&["Host: payment-sandbox.spin.internal"]),
            Closed,
        ),
        ("this application", hosts(&["Host: self.alt"]), Forwarded),
        (
            "another protocol",
            first("\x16\x03\x01\x02 / HTTP/1.1").body("a"),
            Host(400),
        ),
    ]);
}

#[test]
fn nobody_is_upgraded_and_whoever_waits_for_leave_gets_it() {
    let upgrade = |lines: &str| {
        let mut request = put().line(lines).body("a");
        request.lines.retain(|line| line != b"Connection: close");
        request
    };
    let close = "Connection: close, Upgrade";
    Setting::start().hold(&[
        (
            "a web socket",
            upgrade(&format!(
                "{close}\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"
            )),
            Forwarded,
        ),
        (
            "HTTP/2",
            upgrade(&format!(
                "{close}, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"
            )),
            Forwarded,
        ),
        (
            "a hop's headers",
            put()
                .line("Keep-Alive: timeout=1\r\nTE: trailers\r\nTrailer: X")
                .body("a"),
            Forwarded,
        ),
        (
            "an expectation that nobody knows",
            put().line("Expect: 200-maybe").body("a"),
            Forwarded,
        ),
    ]);
}

#[test]
fn whoever_waits_for_leave_to_send_gets_it_or_the_answer() {
    let setting = Setting::start();
    let asks = |request: RawRequest| {
        let mut stream = TcpStream::connect(setting.host.address()).expect("the host listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a time-out can be set");
        let request = request
            .line("Expect: 100-continue")
            .line("Content-Length: 2");
        stream
            .write_all(&request.bytes())
            .expect("the head is sent");
        let mut start = [0; 25];
        stream.read_exact(&mut start).expect("an answer begins");
        let is_asked = start == *b"HTTP/1.1 100 Continue\r\n\r\n";
        if is_asked {
            stream.write_all(b"{}").expect("the body is sent");
        }
        let status = if is_asked {
            answers(&mut stream).first().map(|answer| answer.status)
        } else {
            str::from_utf8(&start[9..12])
                .ok()
                .and_then(|status| status.parse().ok())
        };
        (is_asked, status)
    };
    assert_eq!(asks(pay().line("Idempotency-Key: k")), (true, Some(201)));
    // The host asks for whatever is read, and of a body that is of no use some is.
    assert_eq!(asks(pay()).1, Some(400));
    assert_eq!(setting.operations(), 1);
    assert_eq!(setting.wire.connections().len(), 1);
}

/// HTTP/2 without TLS is spoken by the host as by Spin. There is no length to be in doubt of, and a header that would
/// frame an HTTP/1.1 message is an error of the stream.
#[test]
fn over_http_2_nothing_gets_a_second_meaning() {
    let setting = Setting::start();
    let pseudo = [
        (":method", "PUT"),
        (":scheme", "http"),
        (":path", "/items/1/parts"),
        (":authority", "reprise.example"),
    ];
    let sent = |more: &[(&str, &str)], body: &[&[u8]]| {
        let headers = [&pseudo[..], more].concat();
        http_2(setting.host.address(), &headers, body, Last::End).0
    };
    for (more, body) in [
        (("x-shop", "berlin"), &[b"abcd".as_slice()][..]),
        (("content-length", "4"), &[b"abcd"]),
        (("content-length", "4"), &[b"ab", b"cd"]),
        (("content-length", "4"), &[b"abcd", b""]),
    ] {
        assert!(sent(&[more], body), "a sound request is answered: {more:?}");
    }
    for more in [
        &[("transfer-encoding", "chunked")][..],
        &[("connection", "close")],
        &[("content-length", "0")],
        &[("content-length", "9")],
        &[("x-shop", "a\r\nInjected: 1")],
        &[("x-shop", "a\0")],
        &[("X-Shop", "a")],
        &[(":path", "/-/metrics")],
        &[("x-shop: a\r\ninjected", "1")],
    ] {
        assert!(!sent(more, &[b"0\r\n\r\n"]), "{more:?}");
        assert_eq!(setting.client.get("/-/healthz").status, 200, "{more:?}");
    }
    assert_eq!(setting.wire.connections().len(), 4);
    assert_eq!(setting.operations(), 4);
    // As many bytes as were told are no request yet: not if there are more, nor if it is called off behind them.
    let told = [&pseudo[..], &[("content-length", "4")]].concat();
    let mut connections = Vec::new();
    for _ in 0..10 {
        for (body, last) in [
            (&[b"abcd".as_slice(), b"efgh"][..], Last::End),
            (&[b"abcd"], Last::Cancel),
        ] {
            let (is_answered, connection) = http_2(setting.host.address(), &told, body, last);
            assert!(!is_answered);
            // Were it closed, the host would give the request up by itself.
            connections.push(connection);
            assert_eq!(setting.client.get("/-/healthz").status, 200);
        }
    }
    assert!(sent(&[("content-length", "4")], &[b"abcd"]));
    assert_eq!(setting.operations(), 5);
    let calls = setting.wire.connections();
    assert_eq!(calls.len(), 5);
    for call in calls {
        assert_eq!(one_request(&call).expect("one request").1, b"abcd");
    }
}

/// What a client sends last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The end of its request.
    End,
    /// That it wants no answer any more.
    Cancel,
}

/// Sends one request over HTTP/2, its body in as many frames, and tells whether it was answered; else its stream or the
/// connection was reset. One that is called off is not waited for.
fn http_2(
    address: &str,
    headers: &[(&str, &str)],
    body: &[&[u8]],
    last: Last,
) -> (bool, TcpStream) {
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u32::try_from(payload.len())
            .expect("a frame is short")
            .to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let mut block = Vec::new();
    for (name, value) in headers {
        // A literal without an index; each length is below 127.
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("a short text"));
            block.extend(text.as_bytes());
        }
    }
    let mut stream = TcpStream::connect(address).expect("the host listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a time-out can be set");
    let mut write = |frames: &[Vec<u8>]| {
        let _ = stream.write_all(&frames.concat());
    };
    write(&[
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(SETTINGS, 0, 0, b""),
        frame(HEADERS, 4, 1, &block),
    ]);
    for (nth, data) in body.iter().enumerate() {
        if nth > 0 {
            thread::sleep(BETWEEN_FRAMES);
        }
        let is_end = last == Last::End && nth + 1 == body.len();
        write(&[frame(DATA, u8::from(is_end), 1, data)]);
    }
    if last == Last::Cancel {
        thread::sleep(BETWEEN_FRAMES);
        write(&[frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])]);
        return (false, stream);
    }
    (is_answered(&mut stream), stream)
}

/// Reads frames up to one that tells whether the first request is answered.
fn is_answered(stream: &mut TcpStream) -> bool {
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).is_err() {
            return false;
        }
        let length = usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; length];
        if stream.read_exact(&mut payload).is_err() {
            return false;
        }
        // The index 12 of HPACK's table is the status 400, which a server may answer instead of a reset.
        match (head[3], head[8]) {
            (HEADERS, 1) => return payload.first() != Some(&0x8c),
            (RST_STREAM | GOAWAY, _) => return false,
            _ => {}
        }
    }
}
