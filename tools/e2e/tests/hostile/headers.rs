//! Header lines: none becomes two, and none grows without end.

use super::setting::Expected::{self, Forwarded, Host, Problem};
use super::setting::{Setting, pay, put};
use reprise_e2e::raw::RawRequest;

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The headers that this service reads itself.
const READ: [&str; 5] = [
    "Idempotency-Key: k",
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "Authorization: Bearer t",
    "X-Shop: berlin",
    "Content-Type: text/plain",
];

#[test]
fn a_line_that_would_become_two_is_refused_in_every_header_that_is_read() {
    let breaks: [(&str, Expected); 7] = [
        ("\0", Host(400)),
        ("\r", Host(400)),
        ("\r\n injected", Host(400)),
        ("\r\n\tinjected", Host(400)),
        ("\x0b", Host(400)),
        ("\x7f", Host(400)),
        ("\rInjected: 1", Host(400)),
    ];
    let setting = Setting::start();
    let mut table = Vec::new();
    for line in READ {
        for (what, expected) in breaks {
            table.push((
                line,
                put().line(format!("{line}{what}x")).body("a"),
                expected,
            ));
        }
    }
    setting.hold(&table);
}

#[test]
fn what_a_line_break_adds_is_a_header_that_nobody_passes_on() {
    // A bare line feed ends a line too (RFC 9112, section 2.2), so what follows is a header of the client's own.
    let with = |line: &str| put().line(line).body("a");
    Setting::start().hold(&[
        (
            "in the key",
            with("Idempotency-Key: k1\nInjected: 1"),
            Forwarded,
        ),
        (
            "in a forwarded one",
            with("X-Shop: berlin\nInjected: 1"),
            Forwarded,
        ),
        (
            "percent-encoded",
            with("X-Shop: berlin%0d%0aX-Other: 1"),
            Forwarded,
        ),
        ("no name", with(": 1"), Host(400)),
        ("no colon", with("Injected"), Host(400)),
        ("a space in the name", with("In jected: 1"), Host(400)),
        ("a name beyond ASCII", with("Injécted: 1"), Host(400)),
        (
            "a first line that is folded",
            put().line(" injected: 1").body("a"),
            Host(400),
        ),
    ]);
}

/// Spin gives a component text, so what is no UTF-8 goes no further than the host.
#[test]
fn a_value_that_is_no_text_goes_no_further_than_the_host() {
    let with = |line: &[u8]| put().line(line).body("a");
    Setting::start().hold(&[
        ("in the key", with(b"Idempotency-Key: \xff"), Host(500)),
        ("in the tenant", with(b"Authorization: \xff"), Host(500)),
        ("in another", with(b"X-Any: \xc0\xaf"), Host(500)),
        (
            "UTF-8 in a key",
            with("Idempotency-Key: ключ".as_bytes()),
            Problem(400, "invalid-idempotency-key"),
        ),
        (
            "UTF-8 in another",
            with("X-Any: ключ".as_bytes()),
            Forwarded,
        ),
        (
            "UTF-8 in a forwarded one",
            with("X-Shop: Größe".as_bytes()),
            Forwarded,
        ),
        (
            "a control character of UTF-8",
            with("X-Shop: a\u{85}b".as_bytes()),
            Problem(400, "invalid-head"),
        ),
        ("a tab", with(b"X-Shop: a\tb"), Forwarded),
    ]);
}

#[test]
fn a_header_that_counts_comes_once() {
    let twice = |line: &str| put().line(line).line(line).body("a");
    Setting::start().hold(&[
        (
            "the key",
            twice("Idempotency-Key: k"),
            Problem(400, "invalid-idempotency-key"),
        ),
        (
            "the tenant",
            twice("Authorization: a"),
            Problem(400, "invalid-tenant"),
        ),
        (
            "the trace: then there is none",
            twice(&format!("traceparent: {TRACE}")),
            Forwarded,
        ),
        (
            "the media type",
            pay()
                .line("Content-Type: text/plain")
                .line("Idempotency-Key: a")
                .body("{}"),
            Problem(415, "unsupported-media-type"),
        ),
        (
            "a list for a key is none",
            put().line("Idempotency-Key: a, b").body("a"),
            Problem(400, "invalid-idempotency-key"),
        ),
    ]);
}

/// The limits of the host's HTTP server are 100 lines, at least 400 KB for the head and 64 KB for the target; this
/// service passes on and keeps 32 lines of 8 KB together, and targets of 4 KB.
#[test]
fn a_head_has_its_limits() {
    let lines = |count: usize| -> RawRequest {
        (0..count).fold(put(), |request, number| {
            request.line(format!("X-{number}: a"))
        })
    };
    let shops = |count: usize| (0..count).fold(put(), |request, _| request.line("X-Shop: a"));
    let long = |name: &str, bytes: usize| put().line(format!("{name}: {}", "x".repeat(bytes)));
    let target =
        |bytes: usize| RawRequest::new("PUT", &format!("/items/1/parts?{}", "x".repeat(bytes)));
    let too_large = Problem(431, "head-too-large");
    Setting::start().hold(&[
        ("90 lines", lines(90).body("a"), Forwarded),
        ("101 lines", lines(101).body("a"), Host(431)),
        ("10,000 lines", lines(10_000).body("a"), Host(431)),
        ("32 lines to forward", shops(32).body("a"), Forwarded),
        ("33 lines to forward", shops(33).body("a"), too_large),
        (
            "8 KB to forward",
            long("X-Shop", 8 * 1_024 - 6).body("a"),
            Forwarded,
        ),
        (
            "more than that",
            long("X-Shop", 8 * 1_024 - 5).body("a"),
            too_large,
        ),
        (
            "256 KB that nobody reads",
            long("X-Any", 256 * 1_024).body("a"),
            Forwarded,
        ),
        ("1 MB", long("X-Any", 1_024 * 1_024).body("a"), Host(431)),
        (
            "256 KB of tenant",
            long("Authorization", 256 * 1_024).body("a"),
            Forwarded,
        ),
        (
            "256 KB of trace",
            long("traceparent", 256 * 1_024).body("a"),
            Forwarded,
        ),
        (
            "256 KB of key",
            long("Idempotency-Key", 256 * 1_024).body("a"),
            Problem(400, "invalid-idempotency-key"),
        ),
        (
            "255 characters of key",
            long("Idempotency-Key", 255).body("a"),
            Forwarded,
        ),
        (
            "256 characters of key",
            long("Idempotency-Key", 256).body("a"),
            Problem(400, "invalid-idempotency-key"),
        ),
        ("4 KB of target", target(4_096 - 15).body("a"), Forwarded),
        ("more than that", target(4_096 - 14).body("a"), too_large),
        ("60 KB of target", target(60 * 1_024).body("a"), too_large),
        ("64 KB of target", target(64 * 1_024).body("a"), Host(414)),
    ]);
}

/// Names that only a server beside us would take for ours.
#[test]
fn what_a_proxy_would_set_means_nothing_here() {
    let with = |line: &str| put().line(line).body("a");
    Setting::start().hold(&[
        ("a path", with("X-Original-URL: /-/metrics"), Forwarded),
        ("another path", with("X-Rewrite-URL: /-/metrics"), Forwarded),
        (
            "a method",
            with("X-HTTP-Method-Override: DELETE"),
            Forwarded,
        ),
        (
            "a host",
            with("X-Forwarded-Host: smuggled.example"),
            Forwarded,
        ),
        ("a scheme", with("X-Forwarded-Proto: https"), Forwarded),
        (
            "a client",
            with("Forwarded: for=injected;host=smuggled"),
            Forwarded,
        ),
        ("Spin's own", with("spin-path-info: /-/metrics"), Forwarded),
        (
            "Spin's own url",
            with("spin-full-url: http://smuggled/-/metrics"),
            Forwarded,
        ),
        (
            "a key with an underscore",
            with("Idempotency_Key: k"),
            Forwarded,
        ),
    ]);
}
