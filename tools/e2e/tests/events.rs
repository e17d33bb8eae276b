//! Events over HTTP: what a sink is sent, what its answers mean, dead letters and sinks as operators see them, and the
//! inbox's door.

use reprise::machine::Timestamp;
use reprise::webhook::{MessageId, Secret, Secrets, rfc_3339};
use reprise_e2e::{Answer, Client, Host, Options, Sent, State, Upstream, now, wait_until};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

const SECRET: &str = "whsec_cmVwcmlzZS1kZXZlbG9wbWVudC1vbmx5LXNlY3JldCEh";
const TOKEN: (&str, &str) = ("authorization", "Bearer token");
const SOON: Duration = Duration::from_secs(20);

struct Setting {
    _state: State,
    _host: Host,
    client: Client,
}

fn start(options: &Options) -> Setting {
    let state = State::new();
    let host = Host::start(&state, &options.clone().variable("admin_token", "token"));
    let client = host.client();
    Setting {
        _state: state,
        _host: host,
        client,
    }
}

/// The shop's events go to this receiver.
fn with_sink(receiver: &Upstream) -> Options {
    Options::default()
        .variable("events_host", &receiver.url())
        .variable("events_path", "/hook")
        .edit("max_attempts = 10\nbackoff = { kind = \"full_jitter\", base = \"1s\", cap = \"5m\", floor = \"100ms\" }",
              "max_attempts = 2\nbackoff = { kind = \"constant\", delay = \"100ms\" }")
}

fn order(client: &Client, key: &str, product: u64, quantity: u64) -> Answer {
    let body = json!({"product_id": product, "quantity": quantity}).to_string();
    let answer = client.post("/orders", Some(key), &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    answer
}

fn operate(client: &Client, method: &str, path: &str) -> Answer {
    client.send(method, path, &[TOKEN], b"").expect("an answer")
}

fn dead_letters(client: &Client) -> Vec<Value> {
    let mut letters = Vec::new();
    let mut from = Some("0".to_owned());
    while let Some(first) = from {
        let page = operate(client, "GET", &format!("/-/dead-letters?from={first}"));
        assert_eq!(page.status, 200, "{page:?}");
        let page = page.json();
        letters.extend(page["dead_letters"].as_array().expect("a list").clone());
        from = page["next"].as_str().map(str::to_owned);
    }
    letters
}

fn projection(client: &Client) -> Value {
    client.get("/inbox/orders/projection").json()["products"].clone()
}

#[test]
fn an_order_reaches_the_read_model_once_without_anybody_asking_again() {
    let Setting { client, .. } = &start(&Options::default());
    for (key, quantity) in [("a", 2), ("b", 3), ("a", 2)] {
        order(client, key, 42, quantity);
    }
    wait_until("the events", SOON, || {
        projection(client)["42"]["orders"] == 2
    });
    assert_eq!(
        projection(client),
        json!({"42": {"orders": 2, "quantity": 5}})
    );
}

/// An attempt takes its time, and its event is of its end: nobody ticks here, so only the answer can be followed by it.
#[test]
fn the_event_of_a_forwarded_operation_follows_its_answer() {
    let receiver = Upstream::start(|_, _| Sent::new(204, &[], b""));
    let options = with_sink(&receiver).edit(
        "max_cycles = 5",
        "max_cycles = 5\nevents = [{ on = \"done\", type = \"charge.done\", sink = \"projection\" }]",
    );
    let Setting { client, .. } = &start(&options);
    let body = r#"{"amount":1000,"currency":"EUR","reference":"a"}"#;
    let answer = client.post("/charge", Some("a"), body);
    assert_eq!(answer.status, 201, "{answer:?}");
    wait_until("the event", SOON, || receiver.seen().len() == 1);
}

#[test]
fn a_sink_is_sent_a_signed_cloudevent_under_one_id_with_a_fresh_signature_each_time() {
    let receiver =
        Upstream::start(|before, _| Sent::new(if before == 0 { 500 } else { 204 }, &[], b""));
    let Setting { client, .. } = &start(&with_sink(&receiver));
    let order = order(client, "a", 7, 1);
    wait_until("both deliveries", SOON, || {
        thread::sleep(Duration::from_millis(300));
        operate(client, "POST", "/-/tick");
        receiver.seen().len() == 2
    });
    let seen = receiver.seen();
    let secrets = Secrets::new(vec![SECRET.parse::<Secret>().expect("a secret")]).expect("one");
    for seen in &seen {
        assert_eq!(
            (seen.method.as_str(), seen.target.as_str()),
            ("POST", "/hook")
        );
        let event: Value = serde_json::from_slice(&seen.body).expect("structured mode is JSON");
        assert_eq!(
            (&event["specversion"], &event["type"]),
            (&"1.0".into(), &"order.created".into())
        );
        assert_eq!(
            (&event["source"], &event["subject"]),
            (&"urn:reprise".into(), &order.id().into())
        );
        assert_eq!(event["data"], order.json());
        assert_eq!(seen.header("webhook-id"), event["id"].as_str());
        let headers = seen.headers.iter().map(|(name, value)| {
            (
                name.parse().expect("a name"),
                value.parse().expect("a value"),
            )
        });
        let headers: ureq::http::HeaderMap = headers.collect();
        let signed = secrets.verify(&headers, now(), &seen.body);
        assert_eq!(
            signed.map(|id| Some(id.as_str().to_owned())),
            Ok(event["id"].as_str().map(str::to_owned))
        );
    }
    assert_eq!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
    assert_eq!(seen[0].body, seen[1].body);
    assert!(seen[0].header("webhook-timestamp") <= seen[1].header("webhook-timestamp"));
}

/// The status is the receiver's word. A body that never ends, or breaks off, does not take it back.
#[test]
fn an_event_that_was_taken_is_not_sent_again_because_of_the_answer_s_body() {
    let receiver = Upstream::start(|_, _| Sent::new(200, &[], b"{\"ok\":true}").cut(3));
    let Setting { client, .. } = &start(&with_sink(&receiver));
    for key in ["a", "b"] {
        order(client, key, 7, 1);
    }
    wait_until("both deliveries", SOON, || receiver.seen().len() >= 2);
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(600));
        operate(client, "POST", "/-/tick");
    }
    assert_eq!(receiver.seen().len(), 2);
    assert_eq!(dead_letters(client), Vec::<Value>::new());
}

#[test]
fn a_dead_letter_is_listed_replayed_and_dropped() {
    let receiver =
        Upstream::start(|before, _| Sent::new(if before < 2 { 400 } else { 204 }, &[], b""));
    let Setting { client, .. } = &start(&with_sink(&receiver));
    for key in ["a", "b"] {
        order(client, key, 7, 1);
        let known = receiver.seen().len();
        wait_until("the delivery", SOON, || {
            receiver.seen().len() > known.min(1)
        });
    }
    wait_until("two dead letters", SOON, || dead_letters(client).len() == 2);
    let letters = dead_letters(client);
    for letter in &letters {
        assert_eq!(
            (&letter["status"], &letter["attempts"]),
            (&"dead".into(), &1.into()),
            "{letter}"
        );
        assert_eq!(
            (&letter["type"], &letter["sink"]),
            (&"order.created".into(), &"projection".into())
        );
        assert_eq!(letter["last_error"]["kind"], "status");
    }
    let path = |letter: &Value| {
        format!(
            "/-/dead-letters/{}/{}",
            letter["record"].as_str().expect("an id"),
            letter["seq"]
        )
    };
    let replayed = operate(client, "POST", &format!("{}/replay", path(&letters[0])));
    assert_eq!(
        (replayed.status, &replayed.json()["status"]),
        (200, &"pending".into())
    );
    let dropped = operate(client, "DELETE", &path(&letters[1]));
    assert_eq!(
        (dropped.status, &dropped.json()["status"]),
        (200, &"dropped".into())
    );
    wait_until("the replay", SOON, || receiver.seen().len() == 3);
    assert_eq!(dead_letters(client), Vec::<Value>::new());
    for letter in &letters {
        let again = operate(client, "DELETE", &path(letter));
        assert_eq!(
            (again.status, again.problem().as_str()),
            (409, "event-not-dead")
        );
    }
    let unknown = operate(
        client,
        "DELETE",
        &path(&json!({"record": "01a228f0-9844-7adf-b4ef-2ac6a86d4a79", "seq": 0})),
    );
    assert_eq!(unknown.status, 404);
}

#[test]
fn a_receiver_that_is_gone_is_sent_nothing_until_an_operator_enables_it() {
    let receiver =
        Upstream::start(|before, _| Sent::new(if before == 0 { 410 } else { 204 }, &[], b""));
    let Setting { client, .. } = &start(&with_sink(&receiver));
    let sinks = || operate(client, "GET", "/-/sinks").json();
    assert_eq!(
        sinks(),
        json!({"sinks": {"projection": {"is_enabled": true}}})
    );
    order(client, "a", 7, 1);
    wait_until("the first dead letter", SOON, || {
        dead_letters(client).len() == 1
    });
    assert_eq!(
        sinks(),
        json!({"sinks": {"projection": {"is_enabled": false}}})
    );
    order(client, "b", 7, 1);
    wait_until("the second dead letter", SOON, || {
        dead_letters(client).len() == 2
    });
    assert_eq!(receiver.seen().len(), 1, "nothing is sent to it");

    assert_eq!(
        operate(client, "POST", "/-/sinks/projection/enable").status,
        200
    );
    assert_eq!(
        sinks(),
        json!({"sinks": {"projection": {"is_enabled": true}}})
    );
    order(client, "c", 7, 1);
    wait_until("the third event", SOON, || receiver.seen().len() == 2);
    assert_eq!(operate(client, "POST", "/-/sinks/other/enable").status, 404);
}

#[test]
fn operators_routes_are_closed_without_the_token() {
    let Setting { client, .. } = &start(&Options::default());
    for (method, path) in [
        ("GET", "/-/dead-letters"),
        (
            "POST",
            "/-/dead-letters/01a228f0-9844-7adf-b4ef-2ac6a86d4a79/0/replay",
        ),
        (
            "DELETE",
            "/-/dead-letters/01a228f0-9844-7adf-b4ef-2ac6a86d4a79/0",
        ),
        ("GET", "/-/sinks"),
        ("POST", "/-/sinks/projection/enable"),
        ("POST", "/-/tick"),
    ] {
        let answer = client.send(method, path, &[], b"").expect("an answer");
        assert_eq!(answer.status, 401, "{method} {path}");
    }
}

/// An event as JSON, as a sender of ours would send it.
fn event(id: &str, product: u64) -> Value {
    json!({
        "specversion": "1.0", "id": id, "source": "urn:reprise", "type": "order.created", "time": rfc_3339(now()),
        "datacontenttype": "application/json", "data": {"product_id": product, "quantity": 1},
    })
}

fn send(client: &Client, id: Option<&str>, secret: &str, at: Timestamp, body: &str) -> Answer {
    let secrets = Secrets::new(vec![secret.parse::<Secret>().expect("a secret")]).expect("one");
    let signed = secrets.sign(
        &MessageId::new(id.unwrap_or("none")).expect("an id"),
        at,
        body.as_bytes(),
    );
    let mut headers = vec![("content-type", "application/cloudevents+json")];
    for (name, value) in &signed {
        if id.is_some() || name.as_str() != "webhook-id" {
            headers.push((name.as_str(), value.as_str()));
        }
    }
    client
        .send("POST", "/inbox/orders", &headers, body.as_bytes())
        .expect("an answer")
}

#[test]
fn the_inbox_takes_an_event_once() {
    let Setting { client, .. } = &start(&Options::default());
    let body = event("e1", 5).to_string();
    for status in ["applied", "duplicate", "duplicate"] {
        let answer = send(client, Some("e1"), SECRET, now(), &body);
        assert_eq!(
            (answer.status, &answer.json()["status"]),
            (200, &status.into())
        );
    }
    let one = json!({"5": {"orders": 1, "quantity": 1}});
    assert_eq!(projection(client), one);
    let other = client.send("POST", "/inbox/other", &[], b"");
    assert_eq!(other.expect("an answer").status, 404);
}

/// Scenario 32.
#[test]
fn the_inbox_takes_events_from_their_sender_alone() {
    let Setting { client, .. } = &start(&Options::default());
    let body = event("e2", 5).to_string();
    let stranger = "whsec_b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldC1vdGhlciE=";
    let early = Timestamp::from_unix_ms(now().as_unix_ms() - 6 * 60 * 1_000);
    let mut nameless = event("e2", 5);
    nameless.as_object_mut().expect("an object").remove("id");
    let nameless = nameless.to_string();
    let no_order = body.replace("\"quantity\":1", "\"quantity\":\"1\"");
    let id = Some("e2");
    let table = [
        (
            "another secret",
            send(client, id, stranger, now(), &body),
            401,
        ),
        ("no id", send(client, None, SECRET, now(), &body), 401),
        (
            "an id outside",
            send(client, Some("e3"), SECRET, now(), &body),
            401,
        ),
        (
            "an old signature",
            send(client, id, SECRET, early, &body),
            401,
        ),
        (
            "an event without id",
            send(client, id, SECRET, now(), &nameless),
            400,
        ),
        ("no event", send(client, id, SECRET, now(), "{}"), 400),
        ("no order", send(client, id, SECRET, now(), &no_order), 400),
    ];
    for (what, answer, status) in table {
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        assert!(!answer.problem().is_empty(), "{what}");
    }
    assert_eq!(projection(client), json!({}));
    // What was refused is processed once it comes as it should.
    let sound = send(client, id, SECRET, now(), &body);
    assert_eq!(sound.json()["status"], "applied");
}
