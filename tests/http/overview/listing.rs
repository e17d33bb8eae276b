//! The list of operations: its filters, its pages, and queries that are refused.

use super::{before_busy, failed, id_of, ids, list, operator, text, waiting};
use crate::support::{JSON, REFERENCE, Service, Upstream, answered, pass, reference};
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeSet;

const ORDER: &str = r#"{"product_id":42,"quantity":1}"#;
/// The SHA-256 of a byte 0: the tenant of those who name none.
const NOBODY: &str = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";

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
