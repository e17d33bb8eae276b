//! What an upstream's response means, and what of it comes back.

use crate::support::{Service, Upstream, answered, pass};
use reprise::shell::outgoing::CallError;

/// An operation before an upstream that may be called twice, or with `fail` one that may not.
fn config(on_lost_attempt: &str) -> String {
    format!(
        r#"
[upstreams.parts]
url = "http://parts.example/base"

[[operations]]
name = "parts"
route = "/items/{{item}}/parts"
handler = "forward"
upstream = "parts"
fingerprint = "raw"
max_attempts = 2
backoff = {{ kind = "constant", delay = "100ms" }}
on_lost_attempt = "{on_lost_attempt}"
replay_headers = ["content-type", "location", "etag", "link"]
"#
    )
}

const PATH: &str = "/items/1/parts";

/// The statuses of a request and of its repeat, each after its wait, and how many calls these made.
fn played(status: u16, on_lost_attempt: &str) -> (u16, u16, usize) {
    let upstream = Upstream::answering(Ok(answered(status, &[], b"")));
    let service = Service::new(&config(on_lost_attempt), upstream.clone());
    let first = service.post(PATH, "k", "x").status;
    pass(1_000);
    let second = service.post(PATH, "k", "x").status;
    (first, second, upstream.calls())
}

#[test]
fn a_status_is_a_result_or_another_attempt() {
    for status in [
        200, 201, 204, 205, 299, 302, 304, 307, 400, 402, 404, 407, 409, 410, 451, 499,
    ] {
        assert_eq!(played(status, "retry"), (status, status, 1), "{status}");
    }
    // What no standard knows is a failure of the server (RFC 9110, section 15): nobody could pass it on.
    for status in [401, 403, 408, 425, 429, 500, 501, 503, 511, 599, 600, 999] {
        assert_eq!(played(status, "retry"), (202, 502, 2), "{status}");
    }
}

#[test]
fn an_upstream_that_acts_twice_is_called_again_only_after_a_refusal() {
    for status in [401, 408, 425, 429, 501, 503, 505, 511] {
        assert_eq!(played(status, "fail"), (202, 502, 2), "{status}");
    }
    for status in [500, 502, 504, 507, 520, 599, 999] {
        assert_eq!(played(status, "fail"), (502, 502, 1), "{status}");
    }
}

#[test]
fn an_upstream_that_switches_protocols_has_not_answered() {
    assert_eq!(played(101, "retry"), (202, 502, 2));
    assert_eq!(played(101, "fail"), (502, 502, 1));
}

#[test]
fn a_call_whose_response_is_lost_is_made_again_only_where_that_is_safe() {
    let table = [
        (CallError::Unreachable("refused".to_owned()), true),
        (CallError::BrokenOff("cut".to_owned()), false),
        (CallError::TimedOut, false),
    ];
    for (error, nothing_was_done) in table {
        for on_lost in ["retry", "fail"] {
            let upstream = Upstream::answering(Err(error.clone()));
            let service = Service::new(&config(on_lost), upstream.clone());
            let first = service.post(PATH, "k", "x").status;
            pass(1_000);
            assert_eq!(service.post(PATH, "k", "x").status, 502, "{error:?}");
            let is_retried = on_lost == "retry" || nothing_was_done;
            let expected = if is_retried { (202, 2) } else { (502, 1) };
            assert_eq!((first, upstream.calls()), expected, "{error:?}, {on_lost}");
        }
    }
}

#[test]
fn headers_come_back_as_they_are_or_not_at_all() {
    let headers: [(&str, &[u8]); 8] = [
        ("Content-Type", b"text/a"),
        ("Content-Type", b"text/b"),
        ("Link", b"</a>; rel=next,\t</b>"),
        ("Location", "/café".as_bytes()),
        ("ETag", b"\"\xe9\""),
        ("Set-Cookie", b"a=1"),
        ("X-Other", b"1"),
        ("Retry-After", b"1"),
    ];
    let upstream = Upstream::answering(Ok(answered(201, &headers, b"{}")));
    let service = Service::new(&config("retry"), upstream);
    let first = service.post(PATH, "k", "x");
    let values = |name: &str| {
        let lines = first.headers.get_all(name).iter();
        lines
            .map(|line| line.as_bytes().to_vec())
            .collect::<Vec<_>>()
    };
    assert_eq!(values("content-type"), [b"text/a", b"text/b"]);
    assert_eq!(values("link"), [b"</a>; rel=next,\t</b>"]);
    assert_eq!(values("location"), ["/café".as_bytes()]);
    // Nobody knows the encoding of a value that is not UTF-8, and a record is text.
    for name in ["etag", "set-cookie", "x-other", "retry-after"] {
        assert_eq!(values(name), [b""; 0], "{name}");
    }
    let mut repeat = service.post(PATH, "k", "x");
    assert!(repeat.headers.remove("idempotent-replayed").is_some());
    assert_eq!(repeat, first);
}

#[test]
fn a_client_s_tab_is_no_reason_to_refuse_it() {
    let upstream = Upstream::answering(Ok(answered(200, &[], b"ok")));
    let service = Service::new(&config("retry"), upstream.clone());
    let tabbed = "text/plain;\tcharset=utf-8";
    let headers = [("idempotency-key", "k"), ("content-type", tabbed)];
    assert_eq!(service.send("POST", PATH, &headers, b"x").status, 200);
    assert_eq!(upstream.seen.borrow()[0].headers()["content-type"], tabbed);
}

/// A list that names one of the two headers of a trace must not tear them apart.
#[test]
fn a_trace_is_passed_on_whole_whatever_is_listed() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    for (listed, parent, is_known) in [
        ("", parent.as_str(), true),
        ("\"tracestate\"", &parent, true),
        ("\"traceparent\"", &parent, true),
        ("\"tracestate\"", "nonsense", false),
    ] {
        let config = format!("{}forward_headers = [{listed}]\n", config("retry"));
        let upstream = Upstream::answering(Ok(answered(200, &[], b"ok")));
        let service = Service::new(&config, upstream.clone());
        let headers = [
            ("idempotency-key", "k"),
            ("traceparent", parent),
            ("tracestate", "vendor=1"),
        ];
        assert_eq!(service.send("POST", PATH, &headers, b"x").status, 200);
        let seen = &upstream.seen.borrow()[0];
        let passed_on = seen.headers()["traceparent"].to_str().expect("ASCII");
        assert_eq!(passed_on.contains(TRACE), is_known, "{listed}: {passed_on}");
        assert_eq!(
            seen.headers().contains_key("tracestate"),
            is_known,
            "{listed}"
        );
    }
}

#[test]
fn what_the_store_takes_too_long_to_claim_is_not_called() {
    let upstream = Upstream::answering(Ok(answered(200, &[], b"ok")));
    let service = Service::new(&config("fail"), upstream.clone());
    assert_eq!(service.post(PATH, "before", "x").status, 200);
    // The attempt has five seconds, which are over when its claim is in the store.
    service.stall(5_000);
    let first = service.post(PATH, "k", "x");
    assert_eq!(
        (first.status, &first.json()["last_error"]["kind"]),
        (202, &"unreachable".into())
    );
    assert_eq!(upstream.calls(), 1);
    pass(1_000);
    assert_eq!(service.post(PATH, "k", "x").status, 200);
    assert_eq!(upstream.calls(), 2);
}
