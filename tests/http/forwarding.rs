//! What an upstream's response means, and what of it comes back.

use crate::support::{Service, Upstream, answered, pass};

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
