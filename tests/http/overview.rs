//! What operators see of operations and can do about them: filters, pages, one operation with its history, cancel, retry,
//! and what a key is bound to.

use crate::support::{JSON, REFERENCE, Seen, Service, Upstream, answered, pass, reference};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};

const TOKEN: (&str, &str) = ("authorization", "Bearer operators-secret");
const ORDER: &str = r#"{"product_id":42,"quantity":1}"#;
/// The SHA-256 of a byte 0: the tenant of those who name none.
const NOBODY: &str = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";

/// An upstream that is busy as long as the cell says so, and a service before it.
fn before_busy() -> (Rc<Service>, Rc<Cell<bool>>) {
    let is_busy = Rc::new(Cell::new(true));
    let told = Rc::clone(&is_busy);
    let upstream = Upstream::new(move |_, _| {
        Ok(if told.get() {
            answered(503, &[("retry-after", b"90")], b"busy")
        } else {
            answered(201, &[], b"charged")
        })
    });
    (Service::new(REFERENCE, upstream), is_busy)
}

fn operator(service: &Service, request: &str) -> Seen {
    let (method, target) = request.split_once(' ').expect("method and target");
    service.send(method, target, &[TOKEN], b"")
}

fn list(service: &Service, query: &str) -> Value {
    let seen = operator(service, &format!("GET /-/operations?{query}"));
    assert_eq!(seen.status, 200, "{query}: {seen:?}");
    seen.json()
}

fn ids(page: &Value) -> BTreeSet<String> {
    let operations = page["operations"].as_array().expect("a list").iter();
    operations.map(|one| text(&one["id"])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The id of the record that a reply is about.
fn id_of(seen: &Seen) -> String {
    let path = seen
        .header("location")
        .or(seen.header("operation-location"));
    let path = path.unwrap_or_else(|| panic!("a record: {seen:?}"));
    path.rsplit('/').next().expect("an id").to_owned()
}

/// A charge that waits for its second attempt.
fn waiting(service: &Service, key: &str) -> String {
    let first = service.post("/charge", key, "{}");
    assert_eq!(first.status, 202);
    id_of(&first)
}

/// A charge all of whose attempts have failed.
fn failed(service: &Service, key: &str) -> String {
    let id = waiting(service, key);
    for _ in 0..3 {
        pass(90_000);
        service.get(&format!("/charge/{id}"));
    }
    assert_eq!(
        service.get(&format!("/charge/{id}")).json()["status"],
        "failed"
    );
    id
}

#[test]
fn each_filter_selects_what_it_names() {
    let (service, is_busy) = before_busy();
    let failed = failed(&service, "a");
    pass(1_000);
    let waiting = waiting(&service, "b");
    is_busy.set(false);
    let done = id_of(&service.post("/charge", "c", "{}"));
    let order = id_of(&service.post("/orders", "a", ORDER));
    let theirs = [
        JSON,
        ("authorization", "Bearer t+1"),
        ("idempotency-key", "a"),
    ];
    let order_of_theirs = id_of(&service.send("POST", "/orders", &theirs, ORDER.as_bytes()));
    let keyless = service.send("POST", "/tasks", &[JSON], br#"{"text":"a"}"#);
    let keyless = id_of(&keyless);
    let cancelled = waiting_then_cancelled(&service, &is_busy);

    let one = |id: &str| {
        text(&operator(&service, &format!("GET /-/operations/{id}")).json()["tenant_hash"])
    };
    let their_hash = one(&order_of_theirs);
    let since =
        text(&operator(&service, &format!("GET /-/operations/{waiting}")).json()["created_at"]);
    let all = [
        &failed,
        &waiting,
        &done,
        &order,
        &order_of_theirs,
        &keyless,
        &cancelled,
    ];
    let table: &[(&str, &[&String])] = &[
        ("", &all),
        ("limit=200", &all),
        ("operation=charge", &[&failed, &waiting, &done, &cancelled]),
        ("operation=none", &[]),
        ("state=failed", &[&failed]),
        ("state=waiting", &[&waiting]),
        ("state=cancelled", &[&cancelled]),
        ("state=running", &[]),
        ("state=queued", &[]),
        ("state=done&operation=charge", &[&done]),
        (
            &format!("since={since}"),
            &[
                &waiting,
                &done,
                &order,
                &order_of_theirs,
                &keyless,
                &cancelled,
            ],
        ),
        ("since=1970-01-01T00:00:00Z", &all),
        ("since=9999-12-31T23:59:59Z", &[]),
        (
            "tenant=",
            &[&failed, &waiting, &done, &order, &keyless, &cancelled],
        ),
        ("tenant=Bearer+t%2B1", &[&order_of_theirs]),
        ("tenant=Bearer+t+1", &[]),
        (&format!("tenant_hash={their_hash}"), &[&order_of_theirs]),
        (&format!("tenant_hash={NOBODY}&operation=orders"), &[&order]),
        (&format!("tenant_hash={NOBODY}&tenant=Bearer+t%2B1"), &[]),
        ("key=a", &[&failed, &order, &order_of_theirs]),
        ("key=%22a%22&operation=orders", &[&order, &order_of_theirs]),
        ("key=a&operation=orders&tenant=", &[&order]),
        ("key=a&operation=orders&tenant=&state=failed", &[]),
        ("key=z&operation=orders&tenant=", &[]),
        (
            &format!("key=a&operation=orders&tenant=&tenant_hash={their_hash}"),
            &[],
        ),
    ];
    for (query, expected) in table {
        let page = list(&service, query);
        let expected: BTreeSet<String> = expected.iter().map(|id| (*id).clone()).collect();
        assert_eq!(ids(&page), expected, "{query}");
        assert_eq!(page["next"], Value::Null, "{query}");
        assert_eq!(page["looked_at"]["of"], 16_384);
        let is_look_up =
            query.contains("key=") && query.contains("operation=") && query.contains("tenant");
        let looked_at = if is_look_up { 1 } else { 16_384 };
        assert_eq!(page["looked_at"]["buckets"], looked_at, "{query}");
        assert_eq!(page["looked_at"]["unreadable"], 0, "{query}");
    }
}

fn waiting_then_cancelled(service: &Service, is_busy: &Cell<bool>) -> String {
    is_busy.set(true);
    let id = waiting(service, "d");
    assert_eq!(
        operator(service, &format!("POST /-/operations/{id}/cancel")).status,
        200
    );
    id
}

/// Whatever is created between two pages: what was there comes once, and what came later at most once.
#[test]
fn a_pass_shows_each_operation_once_while_others_are_created() {
    for limit in [1, 3, 7] {
        let config = REFERENCE.replace("bucket_bits = 14", "bucket_bits = 2");
        let service = Service::new(&config, Upstream::answering(Ok(answered(201, &[], b"ok"))));
        let mut created = 0;
        let mut create = || {
            created += 1;
            id_of(&service.post("/charge", &format!("k-{created}"), "{}"))
        };
        let there: Vec<String> = (0..20).map(|_| create()).collect();
        let mut seen: Vec<String> = Vec::new();
        let (mut buckets, mut pages) = (0, 0);
        let mut next = format!("/-/operations?state=done&limit={limit}");
        loop {
            let page = operator(&service, &format!("GET {next}")).json();
            let here = ids(&page);
            assert!(here.len() <= limit, "{here:?}");
            seen.extend(here);
            buckets += page["looked_at"]["buckets"].as_u64().expect("a number");
            pages += 1;
            match page["next"].as_str() {
                Some(behind) => next = behind.to_owned(),
                None => break,
            }
            assert!(
                next.starts_with(&format!("/-/operations?state=done&limit={limit}&from=")),
                "{next}"
            );
            create();
        }
        assert_eq!(buckets, 4);
        assert!(pages > 20 / limit, "{pages} pages");
        for id in &there {
            assert_eq!(seen.iter().filter(|one| *one == id).count(), 1, "{id}");
        }
        let all = seen.len();
        assert_eq!(
            seen.into_iter().collect::<BTreeSet<_>>().len(),
            all,
            "none comes twice"
        );
    }
}

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

#[test]
fn a_query_that_is_not_sound_is_refused() {
    let service = reference();
    for target in [
        "/-/operations?limit=0",
        "/-/operations?limit=201",
        "/-/operations?state=ended",
        "/-/operations?since=today",
        "/-/operations?from=x",
        "/-/operations?key=",
        "/-/operations?tenant_hash=1",
        "/-/operations?colour=red",
        "/-/operations?limit=1&limit=2",
        "/-/keys",
        "/-/keys?operation=orders",
        "/-/keys?key=k",
        "/-/keys?operation=orders&key=a%20b",
        "/-/dead-letters?from=x",
        "/-/dead-letters?to=1",
    ] {
        let seen = operator(&service, &format!("GET {target}"));
        let told = (seen.status, seen.problem().unwrap_or_default());
        assert_eq!(told, (400, "invalid-query".to_owned()), "{target}");
    }
    for target in [
        "/-/operations/",
        "/-/operationsx",
        "/-/operations/7",
        "/-/keys/k",
        "/-/operations/7/cancel/8",
    ] {
        assert_eq!(
            operator(&service, &format!("GET {target}")).status,
            404,
            "{target}"
        );
    }
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
