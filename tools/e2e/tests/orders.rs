//! `POST /orders`: the row of orders in the table of the three systems, cell by cell, and what one key may mean.

use reprise_e2e::{Client, Host, Options, State};
use serde_json::Value;
use std::collections::BTreeSet;
use std::thread;

const ORDER: &str = r#"{"product_id":42,"quantity":1}"#;

fn with_host(test: impl FnOnce(&Client)) {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    test(&host.client());
}

/// Scenario 8.
#[test]
fn an_order_needs_a_key() {
    with_host(|client| {
        let answer = client.post("/orders", None, ORDER);
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (400, "idempotency-key-missing")
        );
        for key in ["", " ", "\"\""] {
            let answer = client.post("/orders", Some(key), ORDER);
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (400, "invalid-idempotency-key"),
                "{key:?}"
            );
        }
        // Two requests without a usable key share nothing: with one, the first order is the first.
        assert_eq!(client.post("/orders", Some("k"), ORDER).status, 201);
    });
}

#[test]
fn an_order_that_is_repeated_gets_the_original_result() {
    with_host(|client| {
        let first = client.post("/orders", Some("checkout-123"), ORDER);
        assert_eq!(first.status, 201);
        let order = first.json();
        let location = format!("/orders/{}", first.id());
        assert_eq!(
            (&order["product_id"], &order["quantity"]),
            (&42.into(), &1.into())
        );
        assert_eq!(first.header("location"), Some(location.as_str()));
        assert!(!first.is_replayed());
        for key in ["checkout-123", "\"checkout-123\""] {
            let repeat = client.post("/orders", Some(key), ORDER);
            assert!(repeat.is_replayed());
            assert_eq!(repeat.lasting(), first.lasting());
        }
        let record = client.get(&location).json();
        assert_eq!(
            (&record["status"], &record["attempts"]),
            (&"done".into(), &1.into())
        );
        assert_eq!(
            (&record["product_id"], &record["quantity"]),
            (&42.into(), &1.into())
        );
    });
}

/// Scenarios 5 to 7: what a key was first used for is what it means, also tomorrow.
#[test]
fn other_content_under_an_order_s_key_is_409_in_every_state_and_forever() {
    let state = State::new();
    let mut host = Host::start(&state, &Options::default());
    assert_eq!(host.client().post("/orders", Some("k"), ORDER).status, 201);
    let other = r#"{"product_id":42,"quantity":2}"#;
    for _ in 0..2 {
        let answer = host.client().post("/orders", Some("k"), other);
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (409, "idempotency-key-reused")
        );
        assert_eq!(answer.json()["retryable"], false);
        assert_eq!(answer.header("retry-after"), None);
        host.kill();
        host = Host::start(&state, &Options::default());
    }
    assert_eq!(host.client().post("/orders", Some("k"), ORDER).status, 201);
}

/// Scenario 9.
#[test]
fn an_order_is_compared_as_a_json_value() {
    with_host(|client| {
        let first = client.post("/orders", Some("k"), ORDER);
        for same in [
            r#"{"quantity":1,"product_id":42}"#,
            "\n{ \"product_id\" : 42 ,\t\"quantity\" : 1 }\r\n",
            r#"{"product_id":42.0,"quantity":1}"#,
            r#"{"product_id":4.2e1,"quantity":1e0}"#,
            r#"{"\u0070roduct_id":42,"quantity":1}"#,
        ] {
            assert_eq!(
                client.post("/orders", Some("k"), same).lasting(),
                first.lasting(),
                "{same}"
            );
        }
        for other in [
            r#"{"product_id":43,"quantity":1}"#,
            r#"{"product_id":42,"quantity":11}"#,
        ] {
            assert_eq!(
                client.post("/orders", Some("k"), other).status,
                409,
                "{other}"
            );
        }
    });
}

#[test]
fn a_bad_order_is_400_and_leaves_its_key_free() {
    with_host(|client| {
        for body in [
            r#"{"product_id":0,"quantity":1}"#,
            r#"{"product_id":1,"quantity":0}"#,
            r#"{"product_id":1,"quantity":1001}"#,
            r#"{"product_id":1.5,"quantity":1}"#,
            r#"{"product_id":"1","quantity":1}"#,
            r#"{"product_id":1}"#,
            r#"{"product_id":1,"quantity":1,"more":1}"#,
            r#"{"product_id":1,"product_id":1,"quantity":1}"#,
            "[1,1]",
            "null",
            "",
        ] {
            let answer = client.post("/orders", Some("k"), body);
            assert_eq!(
                (answer.status, answer.problem().as_str()),
                (400, "invalid-body"),
                "{body}"
            );
        }
        assert_eq!(client.post("/orders", Some("k"), ORDER).status, 201);
    });
}

/// Those who lose the race leave the winner's record as it is.
#[test]
fn of_many_concurrent_orders_with_one_key_exactly_one_is_new() {
    with_host(|client| {
        let answers: Vec<_> = thread::scope(|scope| {
            let calls: Vec<_> = (0..30)
                .map(|_| scope.spawn(|| client.clone().post("/orders", Some("k"), ORDER)))
                .collect();
            calls
                .into_iter()
                .map(|call| call.join().expect("it was answered"))
                .collect()
        });
        let ids: BTreeSet<String> = answers.iter().map(reprise_e2e::Answer::id).collect();
        assert_eq!(ids.len(), 1, "{answers:?}");
        assert!(answers.iter().all(|answer| answer.status == 201));
        assert_eq!(
            answers
                .iter()
                .filter(|answer| !answer.is_replayed())
                .count(),
            1
        );
    });
}

/// Scenario 16.
#[test]
fn one_key_on_two_operations_and_for_two_tenants_is_four_operations() {
    with_host(|client| {
        let mut ids = BTreeSet::new();
        for (path, body) in [("/orders", ORDER), ("/tasks", r#"{"text":"a"}"#)] {
            for tenant in ["Bearer a", "Bearer b"] {
                let headers = [
                    ("content-type", "application/json"),
                    ("idempotency-key", "k"),
                    ("authorization", tenant),
                ];
                let answer = client
                    .send("POST", path, &headers, body.as_bytes())
                    .expect("an answer");
                assert_eq!(answer.status, 201, "{path} {tenant}");
                let own = format!("{path}/{}", answer.id());
                let of = |tenant| {
                    client
                        .send("GET", &own, &[("authorization", tenant)], b"")
                        .expect("an answer")
                };
                assert_eq!(of(tenant).status, 200);
                assert_eq!(of("Bearer c").status, 404);
                let elsewhere = if path == "/orders" {
                    "/tasks"
                } else {
                    "/orders"
                };
                let moved = format!("{elsewhere}/{}", answer.id());
                assert_eq!(
                    client
                        .send("GET", &moved, &[("authorization", tenant)], b"")
                        .expect("an answer")
                        .status,
                    404
                );
                ids.insert(answer.id());
            }
        }
        assert_eq!(ids.len(), 4);
    });
}

#[test]
fn an_order_that_has_ended_cannot_be_cancelled() {
    with_host(|client| {
        let location = format!("/orders/{}", client.post("/orders", Some("k"), ORDER).id());
        let answer = client
            .send("DELETE", &location, &[], b"")
            .expect("an answer");
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (409, "operation-ended")
        );
        assert_eq!(client.get(&location).json()["status"], Value::from("done"));
    });
}
