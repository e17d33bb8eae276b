//! One operation: its history and deadlines, cancel and retry, and the key that leads to it.

use super::{before_busy, failed, id_of, ids, list, operator, text, waiting};
use crate::support::{JSON, REFERENCE, Service, Upstream, answered, pass, reference};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

#[test]
fn one_operation_is_shown_with_its_history_and_deadlines() {
    let (service, is_busy) = before_busy();
    let headers = [
        JSON,
        ("idempotency-key", "secret-key"),
        ("authorization", "Bearer secret-tenant"),
        (
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ),
    ];
    let body = br#"{"secret":"content"}"#;
    let id = id_of(&service.send("POST", "/charge?secret=query", &headers, body));
    let show = || operator(&service, &format!("GET /-/operations/{id}"));
    let first = show().json();
    let busy =
        json!({ "kind": "status", "detail": "the upstream answered 503 Service Unavailable" });
    let expected = json!({
        "id": id,
        "operation": "charge",
        // A byte 1 says that the tenant has a name.
        "tenant_hash": "a1c14cd1d1cf5b57d436c2f28791269a9983759f6877d1d295b26d16bc7bd898",
        // printf secret-key | sha256sum
        "key_hash": "85dbe15d75ef9308c7ae0f33c7a324cc6f4bf519a2ed2f3027bd33c140a4f9aa",
        "state": "waiting",
        "attempts": 1,
        "created_at": "2027-01-15T08:00:00.000Z",
        "next_step_at": "2027-01-15T08:01:30.000Z",
        "last_error": busy,
        "events": { "undelivered": 0, "delivered": 0, "dead": 0, "dropped": 0 },
        "cycles": 1,
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
        "upstream_key": format!("reprise-{id}"),
        "request": { "body_bytes": body.len() },
        "deadlines": first["deadlines"],
        "history": [{
            "attempt": 1,
            "started_at": "2027-01-15T08:00:00.000Z",
            "ended_at": "2027-01-15T08:00:00.000Z",
            "outcome": "retrying",
            "error": busy,
            "delay_ms": 90_000,
            "delay_reason": "server_hint",
        }],
        "history_dropped": 0,
        "deliveries": [],
    });
    assert_eq!(first, expected);
    let deadlines: Vec<(String, String)> = first["deadlines"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (text(&one["name"]), text(&one["at"])))
        .collect();
    assert_eq!(
        deadlines[0],
        ("retry".to_owned(), "2027-01-15T08:01:30.000Z".to_owned())
    );
    assert_eq!(deadlines[1].0, "total_deadline");
    pass(90_000);
    assert_eq!(show().json(), first, "a look moves nothing on");
    assert_eq!(service.upstream.calls(), 1);

    is_busy.set(false);
    let retried = operator(&service, &format!("POST /-/operations/{id}/retry"));
    assert_eq!(retried.status, 200);
    let done = retried.json();
    assert_eq!(show().json(), done);
    assert_eq!(
        (&done["state"], &done["attempts"]),
        (&"done".into(), &2.into())
    );
    assert_eq!(
        done["result"],
        json!({ "status": 201, "body_bytes": 7, "is_body_kept": true })
    );
    assert_eq!(done["history"][1]["outcome"], "succeeded");
    assert_eq!(done["deadlines"][0]["name"], "expiry");
    assert_eq!(done["deadlines"][0]["at"], done["expires_at"]);

    // Nothing of what the client sent or was answered is shown.
    let listed = operator(&service, "GET /-/operations");
    for seen in [show(), listed] {
        let shown = String::from_utf8(seen.body).expect("JSON is text");
        for secret in ["secret", "content\"", "charged", "query"] {
            assert!(!shown.contains(secret), "{secret} is in {shown}");
        }
    }
}

/// The attempt that runs is part of the history, with its time and its lease.
#[test]
fn an_attempt_that_runs_is_seen() {
    let slot: Rc<RefCell<Weak<Service>>> = Rc::default();
    let inside = Rc::clone(&slot);
    let shown = Rc::new(RefCell::new(Value::Null));
    let note = Rc::clone(&shown);
    let upstream = Upstream::new(move |_, _| {
        let service = inside.borrow().upgrade().expect("it runs");
        let page = list(&service, "state=running");
        let id = text(&page["operations"][0]["id"]);
        *note.borrow_mut() = operator(&service, &format!("GET /-/operations/{id}")).json();
        let refused = operator(&service, &format!("POST /-/operations/{id}/retry"));
        assert_eq!(refused.problem().as_deref(), Some("operation-not-to-retry"));
        assert_eq!(refused.json()["detail"], "it is running");
        Ok(answered(201, &[], b"charged"))
    });
    let service = Service::new(REFERENCE, upstream);
    slot.replace(Rc::downgrade(&service));
    assert_eq!(service.post("/charge", "k", "{}").status, 201);
    let shown = shown.borrow();
    assert_eq!(
        shown["history"],
        json!([{ "attempt": 1, "started_at": "2027-01-15T08:00:00.000Z", "outcome": "running" }])
    );
    let names: Vec<&Value> = shown["deadlines"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["attempt_timeout", "lease_end", "total_deadline"]);
    assert_eq!(shown["deadlines"][0]["at"], "2027-01-15T08:00:05.000Z");
    assert_eq!(shown["deadlines"][1]["at"], "2027-01-15T08:00:15.000Z");
}

#[test]
fn a_failed_charge_is_started_again_in_the_call_that_asks_for_it() {
    let (service, is_busy) = before_busy();
    let id = failed(&service, "k");
    let before = service.upstream.calls();
    let retry = || operator(&service, &format!("POST /-/operations/{id}/retry"));
    // The upstream is still busy: a fresh start has all its attempts again.
    let retried = retry().json();
    assert_eq!(
        (&retried["state"], &retried["attempts"]),
        (&"waiting".into(), &5.into())
    );
    assert_eq!(retried["history"][3]["end_reason"], "attempts_exhausted");
    assert_eq!(retried["cycles"], 1);
    is_busy.set(false);
    let retried = retry().json();
    assert_eq!(
        (&retried["state"], &retried["attempts"]),
        (&"done".into(), &6.into())
    );
    assert_eq!(service.upstream.calls(), before + 2);
    let repeat = service.post("/charge", "k", "{}");
    assert_eq!(
        (repeat.status, repeat.body.as_slice()),
        (201, &b"charged"[..])
    );
    let refused = retry();
    assert_eq!(refused.problem().as_deref(), Some("operation-not-to-retry"));
    assert_eq!(
        (refused.status, &refused.json()["detail"]),
        (409, &"it is done".into())
    );
}

#[test]
fn what_can_be_cancelled_and_retried_depends_on_the_state() {
    let (service, is_busy) = before_busy();
    let failed = failed(&service, "failed");
    let waiting = waiting(&service, "waiting");
    is_busy.set(false);
    let done = id_of(&service.post("/charge", "done", "{}"));
    let nobody = "01a228f7-24e1-74a5-be33-c70543c6305d";
    let table = [
        (&*failed, "cancel", 409, "operation-ended"),
        (&*done, "cancel", 409, "operation-ended"),
        (&*done, "retry", 409, "operation-not-to-retry"),
        (&*waiting, "cancel", 200, ""),
        (&*waiting, "cancel", 200, ""),
        (&*waiting, "retry", 409, "operation-not-to-retry"),
        (nobody, "cancel", 404, "not-found"),
        (nobody, "retry", 404, "not-found"),
        ("7", "retry", 404, "not-found"),
    ];
    let calls = service.upstream.calls();
    for (id, act, status, problem) in table {
        let seen = operator(&service, &format!("POST /-/operations/{id}/{act}"));
        let told = seen.problem().unwrap_or_default();
        assert_eq!(
            (seen.status, told.as_str()),
            (status, problem),
            "{act} {id}"
        );
        if status == 200 {
            assert_eq!(seen.json()["state"], "cancelled");
        }
    }
    assert_eq!(service.upstream.calls(), calls, "nothing was started");
    // Its client is told, too.
    let repeat = service.post("/charge", "waiting", "{}");
    assert_eq!(repeat.problem().as_deref(), Some("operation-cancelled"));
}

#[test]
fn a_key_leads_to_its_operation() {
    let service = reference();
    let task = r#"{"text":"a"}"#;
    let mine = id_of(&service.post("/tasks", "k", task));
    let theirs = [JSON, ("authorization", "t"), ("idempotency-key", "k")];
    let theirs = id_of(&service.send("POST", "/tasks", &theirs, task.as_bytes()));
    let table = [
        ("operation=tasks&key=k", Some(&mine)),
        ("operation=tasks&key=%22k%22&tenant=", Some(&mine)),
        ("operation=tasks&key=k&tenant=t", Some(&theirs)),
        ("operation=tasks&key=k&tenant=u", None),
        ("operation=charge&key=k", None),
        ("operation=tasks&key=K", None),
    ];
    for (query, expected) in table {
        let seen = operator(&service, &format!("GET /-/keys?{query}"));
        match expected {
            Some(id) => assert_eq!(seen.json()["id"], **id, "{query}"),
            None => assert_eq!(seen.problem().as_deref(), Some("not-found"), "{query}"),
        }
    }
    let summary = &list(&service, "key=k&operation=tasks&tenant=t")["operations"][0];
    assert_eq!(
        operator(&service, "GET /-/keys?operation=tasks&key=k&tenant=t").json(),
        *summary
    );
    // The record's retention is over, and so is the binding.
    pass(24 * 3_600_000);
    assert_eq!(
        operator(&service, "GET /-/keys?operation=tasks&key=k").status,
        404
    );
    assert_eq!(ids(&list(&service, "")).len(), 0);
}

/// An operation that the configuration does not have any more is seen, and nothing can be done about it.
#[test]
fn what_the_configuration_has_forgotten_is_seen_and_left_alone() {
    let (service, _) = before_busy();
    let id = waiting(&service, "k");
    let service =
        service.restarted(&REFERENCE.replace(r#"name = "charge""#, r#"name = "payment""#));
    assert_eq!(
        ids(&list(&service, "operation=charge")),
        BTreeSet::from([id.clone()])
    );
    assert_eq!(
        operator(&service, &format!("GET /-/operations/{id}")).json()["state"],
        "waiting"
    );
    for act in ["cancel", "retry"] {
        let seen = operator(&service, &format!("POST /-/operations/{id}/{act}"));
        assert_eq!(seen.problem().as_deref(), Some("not-found"), "{act}");
    }
}
