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
