//! Another configuration over the same store: what the keys and records of the old one get.

use crate::support::{REFERENCE, Service, Upstream, answered, pass};
use std::rc::Rc;

const CHARGE: &str = r#"{"amount":1,"currency":"EUR"}"#;

/// A service whose only charge has met a 503 or, with `is_done`, has been taken.
fn charged(is_done: bool) -> (Rc<Service>, String) {
    let upstream = Upstream::new(move |before, _| {
        let status = if is_done || before > 0 { 201 } else { 503 };
        Ok(answered(status, &[("etag", b"\"1\"")], b"charged"))
    });
    let service = Service::new(REFERENCE, upstream);
    let first = service.post("/charge", "k", CHARGE);
    let record = first
        .header("operation-location")
        .or(first.header("location"));
    let record = record.expect("a record").to_owned();
    (service, record)
}

/// The reference configuration with other words.
fn with(changes: &[(&str, &str)]) -> String {
    changes
        .iter()
        .fold(REFERENCE.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        })
}

#[test]
fn what_has_ended_is_replayed_under_any_settings() {
    for changes in [
        &[("max_attempts = 4", "max_attempts = 1")][..],
        &[("payment-sandbox/charges", "elsewhere")],
        &[("\"etag\", ", "")],
        &[("max_response_bytes = 262144", "max_response_bytes = 1")],
        &[("total_deadline = \"10m\"", "total_deadline = \"1ms\"")],
    ] {
        let (service, record) = charged(true);
        let service = service.restarted(&with(changes));
        let repeat = service.post("/charge", "k", CHARGE);
        assert_eq!(
            (repeat.status, repeat.body.as_slice()),
            (201, &b"charged"[..]),
            "{changes:?}"
        );
        assert_eq!(repeat.header("etag"), Some("\"1\""), "{changes:?}");
        assert_eq!(service.get(&record).status, 200, "{changes:?}");
        assert_eq!(service.upstream.calls(), 1, "{changes:?}");
    }
}

#[test]
fn what_waits_goes_on_under_the_new_settings() {
    let (service, record) = charged(false);
    let service = service.restarted(&with(&[("/payment-sandbox/charges", "/v2/charges")]));
    pass(60_000);
    assert_eq!(service.get(&record).json()["status"], "done");
    let seen = service.upstream.seen.borrow();
    let paths: Vec<_> = seen.iter().map(|call| call.uri().path()).collect();
    assert_eq!(paths, ["/payment-sandbox/charges", "/v2/charges"]);
    let keys = seen.iter().map(|call| &call.headers()["idempotency-key"]);
    let keys: Vec<_> = keys.collect();
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn a_key_whose_requests_are_compared_in_another_way_now_is_not_taken_for_another() {
    let (service, record) = charged(true);
    let service = service.restarted(&with(&[(
        "on_mismatch = 422\nwhile_unfinished = \"conflict\"\nwhen_finished = \"original\"\nfingerprint = \"canonical_json\"",
        "on_mismatch = 422\nwhile_unfinished = \"conflict\"\nwhen_finished = \"original\"\nfingerprint = \"raw\"",
    )]));
    // It cannot be compared any more. To charge again would be wrong, and so would be to say that it is the same.
    assert_eq!(service.post("/charge", "k", CHARGE).status, 422);
    assert_eq!(service.get(&record).status, 200);
    assert_eq!(service.upstream.calls(), 1);
}

#[test]
fn an_operation_that_is_gone_takes_its_records_with_it_until_it_is_back() {
    let (service, record) = charged(false);
    let without = with(&[("name = \"charge\"", "name = \"other\"")]);
    let without = service.restarted(&without);
    assert_eq!(without.get(&record).status, 404);
    assert_eq!(without.send("DELETE", &record, &[], b"").status, 404);
    pass(60_000);
    assert_eq!(without.upstream.calls(), 1);
    let back = service.restarted(REFERENCE);
    assert_eq!(back.get(&record).json()["status"], "done");
}

#[test]
fn a_record_at_a_path_that_is_no_route_any_more_ends_and_says_why() {
    let (service, _) = charged(false);
    let moved = with(&[("route = \"/charge\"", "route = \"/shops/{shop}/charge\"")]);
    let moved = service.restarted(&moved);
    pass(60_000);
    let headers = [("authorization", "Bearer operators-secret")];
    let ticked = moved.send("POST", "/-/tick", &headers, b"");
    assert_eq!(
        (ticked.status, &ticked.json()["advanced"]),
        (200, &1.into())
    );
    assert_eq!(moved.upstream.calls(), 1);
    let back = service.restarted(REFERENCE);
    let repeat = back.post("/charge", "k", CHARGE);
    assert_eq!(repeat.problem().as_deref(), Some("operation-failed"));
}
