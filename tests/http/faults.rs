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
fn what_cannot_be_kept_is_refused_whatever_the_store_does_and_holds() {
    let long = |route: &str| format!("{route}?{}", "q".repeat(5_000));
    let order = |quantity: u32| format!(r#"{{"product_id":1,"quantity":{quantity}}}"#);
    let service = charging();
    assert_eq!(service.post("/orders", "k", &order(1)).status, 201);
    // A repeat, a mismatch, a new one; and that of an operation that is forwarded.
    for (route, key, body) in [
        ("/orders", "k", order(1)),
        ("/orders", "k", order(2)),
        ("/orders", "new", order(1)),
        ("/charge", "new", "{}".to_owned()),
    ] {
        for is_down in [false, true] {
            if is_down {
                service.fail(0, false);
            }
            let seen = service.post(&long(route), key, &body);
            let _ = service.heal();
            assert_eq!(seen.status, 431, "{route} {key}, down: {is_down}, {seen:?}");
        }
    }
    assert_eq!(service.upstream.calls(), 0);
}

/// Nothing is begun for a request that was called off behind its body. Who repeats what is there is told it.
#[test]
fn a_body_that_has_not_ended_whole_begins_nothing() {
    let service = charging();
    for (route, body) in [
        ("/charge", "{}"),
        ("/orders", r#"{"product_id":1,"quantity":1}"#),
        ("/tasks", r#"{"text":"a"}"#),
    ] {
        let writes = service.writes();
        let seen = service.post_announced(route, "k", body, false);
        assert_eq!(seen.status, 400, "{route}: {seen:?}");
        assert_eq!(seen.problem().as_deref(), Some("invalid-body"), "{route}");
        assert_eq!(service.writes(), writes, "{route}");
        assert_eq!(service.post_announced(route, "k", body, true).status, 201);
        let repeat = service.post_announced(route, "k", body, false);
        assert_eq!(
            repeat.header("idempotent-replayed"),
            Some("true"),
            "{route}"
        );
    }
    assert_eq!(service.upstream.calls(), 1);
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

/// Scenario 14.
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

#[test]
fn on_a_store_that_is_too_slow_nothing_is_begun_and_everything_is_still_answered() {
    let service = charging();
    assert_eq!(service.post("/charge", "before", "{}").status, 201);
    service.slow_down(Some(0));
    let writes = service.writes();
    for (route, body) in [
        ("/tasks", r#"{"text":"a"}"#),
        ("/orders", r#"{"product_id":1,"quantity":1}"#),
        ("/charge", "{}"),
    ] {
        let answer = service.post(route, "k", body);
        assert_eq!(answer.problem().as_deref(), Some("store-unavailable"));
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (503, Some("1"))
        );
    }
    let repeat = service.post("/charge", "before", "{}");
    assert_eq!(
        (repeat.status, repeat.header("idempotent-replayed")),
        (201, Some("true"))
    );
    let other = service.post("/charge", "before", r#"{"a":1}"#);
    assert_eq!(other.status, 422);
    assert_eq!(service.writes(), writes, "nothing was written");
    assert_eq!(service.upstream.calls(), 1);
    service.slow_down(None);
    assert_eq!(charge(&service).status, 201);
}

/// What is begun on a store that is quick comes to its end on one that is slow by then.
#[test]
fn an_outcome_is_written_however_slow_the_store_has_become() {
    for quick in 0..CALLS_MAX {
        let service = charging();
        service.slow_down(Some(quick));
        let first = charge(&service);
        let calls = service.upstream.calls();
        let expected = if quick == 0 { (503, 0) } else { (201, 1) };
        assert_eq!((first.status, calls), expected, "{quick} writes: {first:?}");
        service.slow_down(None);
        assert_eq!(charge(&service).status, 201, "{quick} writes");
        assert_eq!(service.upstream.calls(), 1, "{quick} writes");
    }
}

/// A retry that is due stays due.
#[test]
fn on_a_store_that_is_too_slow_no_attempt_is_begun() {
    let failing = || Upstream::answering(Ok(answered(503, &[], b"")));
    let service = Service::new(REFERENCE, failing());
    let first = charge(&service);
    assert_eq!((first.status, service.upstream.calls()), (202, 1));
    pass(60_000);
    service.slow_down(Some(0));
    let location = first.header("location").expect("a record").to_owned();
    assert_eq!(charge(&service).status, 503);
    assert_eq!(service.get(&location).status, 503);
    assert_eq!(service.upstream.calls(), 1);
    service.slow_down(None);
    let _ = charge(&service);
    assert_eq!(service.upstream.calls(), 2);
}

/// A tick that finds the store slow says so and leaves everything to the next one.
#[test]
fn a_tick_on_a_store_that_is_too_slow_moves_nothing() {
    let failing = Upstream::answering(Ok(answered(503, &[], b"")));
    let service = Service::new(REFERENCE, failing);
    let tick = || {
        let operator = ("authorization", "Bearer operators-secret");
        service.send("POST", "/-/tick", &[operator], b"").status
    };
    assert_eq!(charge(&service).status, 202);
    assert_eq!(tick(), 200);
    pass(60_000);
    service.slow_down(Some(0));
    let (writes, calls) = (service.writes(), service.upstream.calls());
    assert_eq!(tick(), 503);
    assert_eq!(
        (service.writes(), service.upstream.calls()),
        (writes, calls)
    );
    service.slow_down(None);
    assert_eq!(tick(), 200);
    assert_eq!(service.upstream.calls(), calls + 1);
}
