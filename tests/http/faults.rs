//! A store that fails: whatever call it is, nothing is acknowledged that a repeat would not find, and nothing runs
//! unprotected.

use crate::support::{REFERENCE, Seen, Service, Upstream, answered, pass};
use std::rc::Rc;

/// More calls of the store than any request makes.
const CALLS_MAX: u32 = 40;

fn charging() -> Rc<Service> {
    let upstream = Upstream::answering(Ok(answered(201, &[], b"charged")));
    let service = Service::new(REFERENCE, upstream);
    // The layout is agreed on before anything fails.
    assert_eq!(
        service
            .get("/charge/01a228f7-24e1-74a5-be33-c70543c6305d")
            .status,
        404
    );
    service
}

fn charge(service: &Service) -> Seen {
    service.post("/charge", "k", "{}")
}

#[test]
fn a_store_that_fails_at_any_call_costs_a_repeat_and_nothing_else() {
    let mut failed = 0;
    for has_effect in [false, true] {
        for call in 0..CALLS_MAX {
            let service = charging();
            service.fail(call, has_effect);
            let first = charge(&service);
            let _ = service.heal();
            let row = format!("call {call}, effect {has_effect}: {first:?}");
            match first.status {
                201 => assert_eq!(first.body, b"charged", "{row}"),
                503 => {
                    failed += 1;
                    assert_eq!(
                        first.problem().as_deref(),
                        Some("store-unavailable"),
                        "{row}"
                    );
                    assert_eq!(first.json()["retryable"], true, "{row}");
                    assert!(first.header("retry-after").is_some(), "{row}");
                }
                _ => panic!("{row}"),
            }
            let calls = service.upstream.calls();
            assert!(calls <= 1, "{row}");
            let second = charge(&service);
            if first.status == 201 {
                assert_eq!(second.header("idempotent-replayed"), Some("true"), "{row}");
                assert_eq!((second.status, second.body), (201, first.body), "{row}");
            } else {
                // What was claimed and is not known to have ended waits for the end of its lease.
                assert!(matches!(second.status, 201 | 409), "{row}, then {second:?}");
                pass(15_000);
                assert_eq!(charge(&service).status, 201, "{row}");
            }
            let seen = service.upstream.seen.borrow();
            let keys = seen
                .iter()
                .map(|call| call.headers()["idempotency-key"].clone());
            let mut keys: Vec<_> = keys.collect();
            keys.dedup();
            assert_eq!(keys.len(), 1, "{row}");
        }
    }
    assert!(failed > 10, "{failed} requests met the fault");
}

#[test]
fn a_store_that_is_away_lets_nothing_through() {
    let service = charging();
    for (route, body) in [
        ("/tasks", r#"{"text":"a"}"#),
        ("/orders", r#"{"product_id":1,"quantity":1}"#),
        ("/charge", "{}"),
    ] {
        service.fail(0, false);
        let answer = service.post(route, "k", body);
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("1"))
        );
        service.fail(0, false);
        let target = format!("{route}/01a228f7-24e1-74a5-be33-c70543c6305d");
        assert_eq!(service.get(&target).status, 503);
        assert_eq!(service.get("/-/healthz").status, 200);
    }
    assert_eq!(service.upstream.calls(), 0);
}
