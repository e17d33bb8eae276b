//! Operations that have not ended: what a client is told meanwhile, and who moves them on.

use crate::support::{REFERENCE, Seen, Service, Upstream, answered, pass};
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// A charge whose upstream, at work, has `meanwhile` happen.
fn charged_while(meanwhile: impl Fn(&Service) + 'static) -> (Rc<Service>, Seen) {
    let slot: Rc<RefCell<Weak<Service>>> = Rc::default();
    let inside = Rc::clone(&slot);
    let upstream = Upstream::new(move |_, _| {
        meanwhile(&inside.borrow().upgrade().expect("it runs"));
        Ok(answered(201, &[], b"charged"))
    });
    let service = Service::new(REFERENCE, upstream);
    slot.replace(Rc::downgrade(&service));
    let first = service.post("/charge", "k", "{}");
    (service, first)
}

#[test]
fn while_a_charge_runs_its_repeat_is_told_so_at_once() {
    let (service, first) = charged_while(|service| {
        for _ in 0..2 {
            let repeat = service.post("/charge", "k", "{}");
            assert_eq!(repeat.problem().as_deref(), Some("operation-in-progress"));
            assert_eq!(
                (repeat.status, &repeat.json()["retryable"]),
                (409, &true.into())
            );
            assert_eq!(repeat.header("retry-after"), Some("15"));
            let other = service.post("/charge", "k", r#"{"amount":1}"#);
            assert_eq!(other.status, 422);
            let record = service.get(repeat.header("operation-location").expect("a record"));
            assert_eq!(
                (record.status, &record.json()["status"]),
                (200, &"running".into())
            );
            assert_eq!(record.header("retry-after"), Some("15"));
        }
    });
    assert_eq!(
        (first.status, first.body.as_slice()),
        (201, &b"charged"[..])
    );
    assert_eq!(service.upstream.calls(), 1);
}

#[test]
fn a_charge_that_is_called_off_while_it_runs_stays_so() {
    let (service, first) = charged_while(|service| {
        let repeat = service.post("/charge", "k", "{}");
        let record = repeat.header("operation-location").expect("a record");
        for _ in 0..2 {
            let cancelled = service.send("DELETE", record, &[], b"");
            assert_eq!(
                (cancelled.status, &cancelled.json()["status"]),
                (200, &"cancelled".into())
            );
        }
    });
    assert_eq!(first.problem().as_deref(), Some("operation-cancelled"));
    let repeat = service.post("/charge", "k", "{}");
    assert_eq!(
        (repeat.status, repeat.header("idempotent-replayed")),
        (409, Some("true"))
    );
    assert_eq!(service.upstream.calls(), 1);
}

/// The lease is over at the very millisecond that it names: zero is a value.
#[test]
fn a_lease_is_over_when_it_ends_and_a_late_outcome_changes_nothing() {
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    let inside = Rc::clone(&outcomes);
    let (service, first) = charged_while(move |service| {
        if service.upstream.calls() > 1 {
            return;
        }
        pass(14_999);
        assert_eq!(
            service.post("/charge", "k", "{}").header("retry-after"),
            Some("1")
        );
        pass(1);
        inside.borrow_mut().push(service.post("/charge", "k", "{}"));
    });
    let [takeover] = &outcomes.borrow()[..] else {
        panic!("one took over")
    };
    assert_eq!(
        (takeover.status, takeover.header("idempotent-replayed")),
        (201, None)
    );
    assert_eq!((first.status, &first.body), (201, &takeover.body));
    assert_eq!(service.upstream.calls(), 2);
    let record = service.get(first.header("operation-location").expect("a record"));
    assert_eq!(record.json()["attempts"], 2);
}

#[test]
fn a_retry_is_made_by_whoever_comes_by_when_it_is_due_and_by_nobody_before() {
    let config = REFERENCE.replace(
        r#"backoff = { kind = "full_jitter", base = "1s", cap = "1m", floor = "100ms" }"#,
        r#"backoff = { kind = "constant", delay = "7s" }"#,
    );
    for comes_by in ["a repeat", "a poll"] {
        let upstream = Upstream::new(|before, _| match before {
            0 | 1 => Ok(answered(503, &[], b"")),
            _ => Ok(answered(200, &[], b"ok")),
        });
        let service = Service::new(&config, upstream);
        let first = service.post("/charge", "k", "{}");
        assert_eq!(
            (first.status, first.header("retry-after")),
            (202, Some("7"))
        );
        let record = first.header("location").expect("a record");
        let come_by = || match comes_by {
            "a poll" => service.get(record).json()["status"] == "done",
            _ => service.post("/charge", "k", "{}").status == 200,
        };
        for calls in [1, 2] {
            pass(6_999);
            assert!(
                !come_by() && service.upstream.calls() == calls,
                "{comes_by}"
            );
            pass(1);
            assert_eq!(come_by(), calls == 2, "{comes_by}");
            assert_eq!(service.upstream.calls(), calls + 1, "{comes_by}");
        }
        assert_eq!(
            service
                .post("/charge", "k", "{}")
                .header("idempotent-replayed"),
            Some("true")
        );
    }
}

/// The attempt took four of its five seconds; the wait begins when it ends, and so does what a client is told of it.
#[test]
fn the_time_to_come_back_is_told_from_when_it_is_told() {
    let config = REFERENCE.replace(
        r#"backoff = { kind = "full_jitter", base = "1s", cap = "1m", floor = "100ms" }"#,
        r#"backoff = { kind = "constant", delay = "7s" }"#,
    );
    let upstream = Upstream::new(|_, _| {
        pass(4_000);
        Ok(answered(503, &[], b""))
    });
    let service = Service::new(&config, upstream);
    let first = service.post("/charge", "k", "{}");
    assert_eq!(
        (first.status, first.header("retry-after")),
        (202, Some("7"))
    );
    pass(7_000);
    let record = service.get(first.header("location").expect("a record"));
    assert_eq!(
        (&record.json()["attempts"], record.header("retry-after")),
        (&2.into(), Some("7"))
    );
}
