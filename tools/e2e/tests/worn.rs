//! Instances that have made as many conditional writes as Spin lets them: others take over, and nobody notices.

use reprise_e2e::{Answer, Client, Host, Options, Sent, State, Upstream, wait_until};
use serde_json::json;
use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_mins(1);
const TOKEN: &str = "ticks-of-a-test";
/// Few, so that few instances serve them.
const CLIENTS: usize = 4;
/// Each takes five conditional writes, so this is twice what one instance may make.
const CHARGES_PER_CLIENT: usize = 100;
/// Fewer than wear an instance out.
const ORDERS_PER_HOST: usize = 60;
const HOSTS: usize = 4;

/// The service with an event for each charge, all of which go to this receiver.
fn with_events(receiver: &Upstream) -> Options {
    Options::default()
        .variable("admin_token", TOKEN)
        .variable("events_host", &receiver.url())
        .variable("events_path", "/hook")
        .edit(
            "upstream_path = \"/payment-sandbox/charges\"",
            "upstream_path = \"/payment-sandbox/charges\"\n\
             events = [{ on = \"done\", type = \"charge.made\", sink = \"projection\" }]",
        )
}

fn receiver() -> Upstream {
    Upstream::start(|_, _| Sent::new(204, &[], b""))
}

/// The ids of the events that came.
fn events(receiver: &Upstream) -> BTreeSet<String> {
    let seen = receiver.seen();
    let ids = seen.iter().map(|seen| seen.header("webhook-id"));
    ids.map(|id| id.expect("an id").to_owned()).collect()
}

fn charge(client: &Client, key: &str) -> Answer {
    let body = json!({"amount": 1_999, "currency": "EUR", "reference": key}).to_string();
    client.post("/charge", Some(key), &body)
}

fn charges_of(client: &Client, reference: &str) -> u64 {
    let path = format!("/payment-sandbox/charges?reference={reference}");
    client.get(&path).json()["charges"]
        .as_u64()
        .expect("a number")
}

/// Every charge is taken at once and made once, and its event arrives though nobody ticks.
fn charges_are_taken(options: &Options, receiver: &Upstream) {
    let state = State::new();
    let host = Host::start(&state, options);
    // Lays the store out before they all come.
    let first = host.client().post("/tasks", None, r#"{"text":"a"}"#);
    assert_eq!(first.status, 201, "{first:?}");
    thread::scope(|scope| {
        for one in 0..CLIENTS {
            let client = host.client();
            scope.spawn(move || {
                for number in 0..CHARGES_PER_CLIENT {
                    let key = format!("{one}-{number}");
                    let first = charge(&client, &key);
                    assert_eq!(first.status, 201, "{key}: {first:?}");
                    assert!(!first.is_replayed(), "{key}: {first:?}");
                }
            });
        }
    });
    let client = host.client();
    wait_until("the events", SOON, || {
        events(receiver).len() == CLIENTS * CHARGES_PER_CLIENT
    });
    for one in 0..CLIENTS {
        for number in 0..CHARGES_PER_CLIENT {
            let key = format!("{one}-{number}");
            let repeat = charge(&client, &key);
            assert_eq!((repeat.status, repeat.is_replayed()), (201, true), "{key}");
            assert_eq!(charges_of(&client, &key), 1, "{key}");
        }
    }
}

#[test]
fn charges_by_the_hundred_are_taken() {
    let receiver = receiver();
    charges_are_taken(&with_events(&receiver), &receiver);
}

/// A client alone, whose requests all go to one instance as long as that takes them.
#[test]
fn one_client_wears_out_instance_after_instance_and_never_waits_for_one() {
    let receiver = receiver();
    let state = State::new();
    let host = Host::start(&state, &with_events(&receiver));
    let client = host.client();
    for number in 0..300 {
        let answer = charge(&client, &number.to_string());
        assert_eq!(answer.status, 201, "{number}: {answer:?}");
    }
    wait_until("the events", SOON, || events(&receiver).len() == 300);
}

/// Leaves orders whose events wait for a tick, with hosts that are killed before they are worn out.
fn leave_orders(state: &State, options: &Options) {
    for part in 0..HOSTS {
        let mut host = Host::start(state, options);
        for number in 0..ORDERS_PER_HOST {
            let key = format!("{part}-{number}");
            let body = r#"{"product_id":42,"quantity":1}"#;
            let answer = host.client().post("/orders", Some(&key), body);
            assert_eq!(answer.status, 201, "{key}: {answer:?}");
        }
        host.kill();
    }
}

#[test]
fn ticks_with_hundreds_due_stop_in_time_and_leave_nothing() {
    let receiver = receiver();
    let state = State::new();
    let options = with_events(&receiver).edit(
        "first_attempt = \"after_answer\"",
        "first_attempt = \"tick\"",
    );
    leave_orders(&state, &options);
    let host = Host::start(&state, &options);
    let client = host.client();
    let authorization = format!("Bearer {TOKEN}");
    let mut delivered = 0;
    wait_until("the events", SOON, || {
        let headers = [("authorization", authorization.as_str())];
        let answer = client.send("POST", "/-/tick", &headers, b"");
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
        let ticked = answer.json();
        assert_eq!(ticked["failed"], 0, "{ticked}");
        delivered += ticked["delivered"].as_u64().expect("a number");
        let is_all = delivered == (HOSTS * ORDERS_PER_HOST) as u64;
        let comes_back_at_once = ticked["come_back_ms"] == 0;
        assert!(is_all || comes_back_at_once, "work is left: {ticked}");
        is_all
    });
    assert_eq!(events(&receiver).len(), HOSTS * ORDERS_PER_HOST);
    assert_eq!(
        receiver.seen().len(),
        HOSTS * ORDERS_PER_HOST,
        "none came twice"
    );
}
