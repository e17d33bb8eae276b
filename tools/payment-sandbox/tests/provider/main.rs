//! The whole sandbox natively, over models of SQLite and Redis: each behaviour, and every place at which another client
//! or a kill can come between two calls of the store.

mod store;

use http::{Method, Request};
use payment_sandbox::answer::{Answer, Delivery};
use payment_sandbox::app;
use payment_sandbox::ledger::{Count, count};
use serde_json::{Value, json};
use store::{Kind, ModelStore};

const KINDS: [Kind; 2] = [Kind::Sqlite, Kind::Redis];
/// 2026-01-01T00:00:00Z
const NOW_MS: u64 = 1_767_225_600_000;
/// How many calls of the store the first request with a key makes, if nobody comes in between: three looks at the
/// claim, its two writes, and the counter.
const CALLS: u32 = 6;

fn post(store: &ModelStore<'_>, key: Option<&str>, amount: u64, reference: &str) -> Answer {
    let body = json!({ "amount": amount, "currency": "EUR", "reference": reference });
    let mut request = Request::post("http://localhost/payment-sandbox/charges");
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let request = request.body(body.to_string().into_bytes());
    app::answer(&request.expect("a sound request"), store, NOW_MS)
}

fn send(method: Method, path: &str, body: &str) -> Answer {
    let request = Request::builder().method(method).uri(path);
    let request = request
        .body(body.as_bytes().to_vec())
        .expect("a sound request");
    app::answer(&request, &ModelStore::new(Kind::Sqlite), NOW_MS)
}

fn status(answer: &Answer) -> u16 {
    answer.response.status().as_u16()
}

fn json_of(answer: &Answer) -> Value {
    serde_json::from_slice(answer.response.body()).expect("a JSON body")
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let value = answer.response.headers().get(name)?;
    Some(value.to_str().expect("our headers are text"))
}

fn counted(store: &ModelStore<'_>, reference: &str) -> (u64, u64) {
    let Count { charges, calls, .. } = count(store, reference).expect("the store works");
    (charges, calls)
}

/// An amount, and of four calls the status, `Retry-After` and delivery; how many charges there then are with one key,
/// and without.
type Row = (u64, [(u16, Option<&'static str>, Delivery); 4], u64, u64);

const OK: (u16, Option<&str>, Delivery) = (201, None, Delivery::Whole);
const AWAY: (u16, Option<&str>, Delivery) = (503, None, Delivery::Whole);
const DECLINED: (u16, Option<&str>, Delivery) = (402, None, Delivery::Whole);
const DATE: &str = "Thu, 01 Jan 2026 00:00:02 GMT";

const TABLE: [Row; 11] = [
    (1, [OK; 4], 1, 4),
    (1_999, [OK; 4], 1, 4),
    (40_200, [DECLINED; 4], 0, 0),
    (50_300, [AWAY, AWAY, OK, OK], 1, 2),
    (
        50_301,
        [(503, Some("2"), Delivery::Whole), OK, OK, OK],
        1,
        3,
    ),
    (
        50_302,
        [(503, Some(DATE), Delivery::Whole), OK, OK, OK],
        1,
        3,
    ),
    (
        42_900,
        [(429, Some("1"), Delivery::Whole), OK, OK, OK],
        1,
        3,
    ),
    (40_800, [(201, None, Delivery::Late), OK, OK, OK], 1, 4),
    (50_200, [(201, None, Delivery::CutOff), OK, OK, OK], 1, 4),
    (41_300, [OK; 4], 1, 4),
    (40_100, [OK; 4], 1, 4),
];

#[test]
fn each_amount_behaves_as_the_table_says_and_is_counted() {
    for kind in KINDS {
        let store = ModelStore::new(kind);
        for (amount, calls, charges, keyless_charges) in TABLE {
            for key in [Some("one"), None] {
                let key = key.map(|key| format!("{key}-{amount}"));
                let reference = format!("{amount} {}", key.is_some());
                let name = format!("{kind:?} {amount} {key:?}");
                let mut bodies = Vec::new();
                for (number, expected) in calls.into_iter().enumerate() {
                    let answer = post(&store, key.as_deref(), amount, &reference);
                    let seen = (
                        status(&answer),
                        header(&answer, "retry-after"),
                        answer.delivery,
                    );
                    assert_eq!(seen, expected, "{name} {number}");
                    if matches!(seen.0, 201 | 402) {
                        bodies.push(answer.response.body().clone());
                    }
                }
                let expected = if key.is_some() {
                    charges
                } else {
                    keyless_charges
                };
                assert_eq!(counted(&store, &reference), (expected, 4), "{name}");
                bodies.sort();
                bodies.dedup();
                let distinct = if key.is_some() {
                    1
                } else {
                    keyless_charges.max(1)
                };
                let distinct = if amount == 40_200 && key.is_none() {
                    4
                } else {
                    distinct
                };
                assert_eq!(u64::try_from(bodies.len()), Ok(distinct), "{name}");
            }
        }
        assert_eq!(counted(&store, "other"), (0, 0));
    }
}

#[test]
fn an_approved_charge_is_shown_as_a_provider_would() {
    let store = ModelStore::new(Kind::Sqlite);
    let answer = post(&store, Some("a"), 1_999, "order-7");
    let charge = json_of(&answer);
    let id = charge["id"].as_str().expect("an id");
    assert_eq!(
        charge,
        json!({ "id": id, "amount": 1_999, "currency": "EUR", "reference": "order-7", "status": "approved" })
    );
    assert_eq!(
        header(&answer, "location"),
        Some(format!("/payment-sandbox/charges/{id}").as_str())
    );
    assert_eq!(header(&answer, "content-type"), Some("application/json"));
    assert!(
        header(&answer, "etag").is_some_and(|tag| tag.len() == 34),
        "{answer:?}"
    );
    assert!(header(&answer, "link").is_some() && header(&answer, "set-cookie").is_none());
    let length = answer.response.body().len().to_string();
    assert_eq!(header(&answer, "content-length"), Some(length.as_str()));

    let declined = post(&store, Some("b"), 40_200, "order-7");
    assert_eq!(json_of(&declined)["status"], "declined");
    assert_eq!(header(&declined, "location"), None);
    let large = post(&store, Some("c"), 41_300, "order-7");
    assert!(large.response.body().len() > 3_000_000);
    let private = post(&store, Some("d"), 40_100, "order-7");
    for name in [
        "set-cookie",
        "www-authenticate",
        "te",
        "trailer",
        "location",
    ] {
        assert!(header(&private, name).is_some(), "{name}");
    }
}

#[test]
fn a_key_stands_for_one_request() {
    for kind in KINDS {
        let store = ModelStore::new(kind);
        assert_eq!(status(&post(&store, Some("a"), 1_999, "r")), 201);
        assert_eq!(
            status(&post(&store, Some("\"a\""), 1_999, "r")),
            201,
            "quoted"
        );
        for (amount, reference) in [(2_000, "r"), (1_999, "s"), (50_300, "r")] {
            let answer = post(&store, Some("a"), amount, reference);
            assert_eq!(status(&answer), 422, "{kind:?} {amount} {reference}");
        }
        assert_eq!(
            (counted(&store, "r"), counted(&store, "s")),
            ((1, 2), (0, 0))
        );
        // A refusal before any effect binds the key as well.
        assert_eq!(status(&post(&store, Some("b"), 50_300, "r")), 503);
        assert_eq!(status(&post(&store, Some("b"), 1_999, "r")), 422);
    }
}

#[test]
fn what_is_no_request_for_a_charge_is_refused() {
    let good = r#"{"amount":1,"currency":"EUR"}"#;
    for (method, path, body, expected) in [
        (Method::POST, "/payment-sandbox/charges", good, 201),
        (Method::POST, "/any/prefix/charges/", good, 201),
        (Method::POST, "/payment-sandbox/charges", "{", 400),
        (Method::POST, "/payment-sandbox/charges", "{}", 400),
        (Method::PUT, "/payment-sandbox/charges", good, 405),
        (Method::GET, "/payment-sandbox/charges", "", 400),
        (Method::GET, "/payment-sandbox/charges?reference=", "", 200),
        (Method::GET, "/payment-sandbox/charges/ch_1", "", 404),
        (Method::GET, "/payment-sandbox/", "", 200),
        (Method::GET, "/payment-sandbox", "", 200),
        (Method::POST, "/payment-sandbox/", good, 405),
        (Method::POST, "/charge", good, 404),
    ] {
        let answer = send(method.clone(), path, body);
        assert_eq!(status(&answer), expected, "{method} {path} {body}");
        assert_eq!(header(&answer, "allow").is_some(), expected == 405);
        if expected >= 400 {
            assert!(json_of(&answer)["error"]["message"].is_string(), "{path}");
        }
    }
}

#[test]
fn a_reference_is_counted_by_what_it_says_however_it_is_written() {
    let store = ModelStore::new(Kind::Sqlite);
    post(&store, None, 1, "order 7/ä");
    let query = "/payment-sandbox/charges?other=1&reference=order+7%2F%C3%A4";
    let request = Request::get(query)
        .body(Vec::new())
        .expect("a sound request");
    let answer = app::answer(&request, &store, NOW_MS);
    assert_eq!(
        answer.response.body(),
        r#"{"reference":"order 7/ä","charges":1,"calls":1}"#.as_bytes()
    );
}

/// The same request of another client, whole, between any two calls of ours.
#[test]
fn wherever_the_same_key_comes_in_between_it_charges_once() {
    for kind in KINDS {
        for (amount, calls, charges, _) in TABLE {
            for place in 1.. {
                let store = ModelStore::new(kind);
                store.before_call(place, |store| drop(post(store, Some("k"), amount, "r")));
                post(&store, Some("k"), amount, "r");
                if store.is_event_pending() {
                    assert_eq!(place, CALLS + 1, "all places were visited");
                    break;
                }
                let name = format!("{kind:?} {amount} before call {place}");
                assert_eq!(counted(&store, "r").1, 2, "{name}");
                let third = status(&post(&store, Some("k"), amount, "r"));
                assert_eq!(third, calls[2].0, "{name}");
                assert_eq!(counted(&store, "r"), (charges, 3), "{name}");
            }
        }
    }
}

/// Another request of another client under the same key: one of the two has the key, and the other has no effect.
#[test]
fn wherever_another_request_with_the_key_comes_in_between_one_of_them_has_it() {
    for kind in KINDS {
        for (amount, calls, ..) in TABLE {
            for place in 1.. {
                let store = ModelStore::new(kind);
                store.before_call(place, |store| drop(post(store, Some("k"), 7, "other")));
                let ours = status(&post(&store, Some("k"), amount, "r"));
                if store.is_event_pending() {
                    assert_eq!(place, CALLS + 1, "all places were visited");
                    break;
                }
                let name = format!("{kind:?} {amount} before call {place}");
                let counts = (counted(&store, "r").1, counted(&store, "other").1);
                if ours == 422 {
                    assert_eq!(counts, (0, 1), "{name}");
                } else {
                    assert_eq!((ours, counts), (calls[0].0, (1, 0)), "{name}");
                }
                let again = status(&post(&store, Some("k"), 7, "other"));
                assert_eq!(
                    again == 422,
                    ours != 422,
                    "{name}: the claim does not change"
                );
            }
        }
    }
}

/// A kill before any call of the store, then the client again and again.
#[test]
fn wherever_a_kill_comes_the_key_is_not_stuck_and_charges_once() {
    for kind in KINDS {
        for (amount, calls, charges, _) in TABLE {
            for place in 1.. {
                let store = ModelStore::new(kind);
                store.kill_before_call(place);
                let killed = status(&post(&store, Some("k"), amount, "r"));
                if store.is_event_pending() {
                    assert_eq!(place, CALLS + 1, "all places were visited");
                    break;
                }
                let name = format!("{kind:?} {amount} before call {place}");
                assert_eq!(killed, 503, "{name}");
                store.restart();
                let seen: Vec<u16> = (0..4)
                    .map(|_| status(&post(&store, Some("k"), amount, "r")))
                    .collect();
                assert_eq!(seen, calls.map(|(status, ..)| status), "{name}");
                assert_eq!(counted(&store, "r"), (charges, 4), "{name}");
            }
        }
    }
}
