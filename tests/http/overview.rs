//! What operators see of operations and can do about them: the list of them, and one operation.

mod listing;
mod operation;

use crate::support::{REFERENCE, Seen, Service, Upstream, answered, pass};
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

const TOKEN: (&str, &str) = ("authorization", "Bearer operators-secret");

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
