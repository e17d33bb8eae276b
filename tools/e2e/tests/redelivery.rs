//! Events that are delivered more than once, because a host was killed or an inbox failed, and have one effect; and events
//! that wait for nobody else's.

use reprise::webhook::{CloudEvent, EventParts, Mode, Receiver, Secret, Secrets, open, seal};
use reprise_e2e::{
    Answer, Client, Front, Host, Options, Seen, Sent, State, Upstream, now, wait_until,
};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use ureq::http::HeaderMap;

const SECRET: &str = "whsec_cmVwcmlzZS1kZXZlbG9wbWVudC1vbmx5LXNlY3JldCEh";
const SOURCE: &str = "urn:reprise";
const SOON: Duration = Duration::from_secs(30);
/// The lease of a delivery, and the time that an attempt at one may take.
const LEASE: Duration = Duration::from_secs(3);

/// The shop's events go to this receiver. A round of the walk is one tick.
fn options(receiver: &Upstream) -> Options {
    Options::default()
        .variable("admin_token", "token")
        .variable("events_host", &receiver.url())
        .edit("bucket_bits = 14", "bucket_bits = 6")
        .edit(
            "max_attempts = 10\nbackoff = { kind = \"full_jitter\", base = \"1s\", cap = \"5m\", floor = \"100ms\" }",
            "max_attempts = 3\nbackoff = { kind = \"constant\", delay = \"1s\" }",
        )
        .edit("timeout = \"5s\"\nlease = \"15s\"", "timeout = \"2s\"\nlease = \"3s\"")
}

fn order(client: &Client, key: &str, product: u64, quantity: u64) -> Answer {
    let body = json!({"product_id": product, "quantity": quantity}).to_string();
    let answer = client.post("/orders", Some(key), &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    answer
}

fn operate(client: &Client, method: &str, path: &str) -> Value {
    let token = [("authorization", "Bearer token")];
    let answer = client.send(method, path, &token, b"").expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn tick(client: &Client) -> Value {
    operate(client, "POST", "/-/tick")
}

fn projection(client: &Client) -> Value {
    client.get("/inbox/orders/projection").json()["products"].clone()
}

/// Passes a delivery on to the inbox, as it came. The answer says what became of it.
fn pass_on(inbox: &Client, seen: &Seen) -> Answer {
    let headers: Vec<(&str, &str)> = seen
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| *name == "content-type" || name.starts_with("webhook-"))
        .collect();
    let answer = inbox.send("POST", "/inbox/orders", &headers, &seen.body);
    answer.expect("the inbox is there")
}

fn status_of(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["status"].as_str().expect("a word").to_owned()
}

fn secrets() -> Secrets {
    Secrets::new(vec![SECRET.parse::<Secret>().expect("a secret")]).expect("one secret")
}

/// Scenarios 29 and 33.
#[test]
fn a_kill_between_delivery_and_mark_delivers_again_under_the_same_id_and_changes_nothing() {
    let front = Front::start(|_, _| false);
    let (delivered, is_delivered) = mpsc::channel();
    let (killed, is_killed) = mpsc::channel::<()>();
    let is_killed = Mutex::new(is_killed);
    let said = Arc::new(Mutex::new(Vec::new()));
    let receiver = Upstream::start({
        let (inbox, said) = (front.client(), Arc::clone(&said));
        move |before, seen| {
            let status = status_of(&pass_on(&inbox, seen));
            said.lock().expect("nobody panics with it").push(status);
            if before == 0 {
                delivered.send(Instant::now()).expect("the test waits");
                // The event has had its effect, and nobody hears of it.
                let held = is_killed.lock().expect("nobody panics with it").recv();
                held.expect("the test goes on");
            }
            Sent::new(200, &[], b"")
        }
    });
    let state = State::new();
    let mut host = Host::start(&state, &options(&receiver));
    front.lead_to(vec![host.address().to_owned()]);
    let order = order(&host.client(), "k", 7, 2);
    let first_at = is_delivered.recv_timeout(SOON).expect("the first delivery");
    let before = projection(&host.client());
    assert_eq!(before, json!({"7": {"orders": 1, "quantity": 2}}));
    host.kill();
    killed.send(()).expect("the receiver waits");

    let host = Host::start(&state, &options(&receiver));
    front.lead_to(vec![host.address().to_owned()]);
    let client = host.client();
    wait_until("the second delivery", SOON, || {
        tick(&client);
        receiver.seen().len() == 2
    });
    // The lease began a little before the delivery came.
    let waited = first_at.elapsed();
    assert!(waited + Duration::from_millis(500) > LEASE, "{waited:?}");
    let deliveries = receiver.seen();
    assert_same_event(&deliveries[0], &deliveries[1], &order.id());
    wait_until("what the inbox says", SOON, || {
        said.lock().unwrap().len() == 2
    });
    assert_eq!(*said.lock().unwrap(), ["applied", "duplicate"]);
    assert_eq!(projection(&client), before);

    // Marked now: nothing is left to do, neither for timers nor for the walk.
    wait_until("the mark", SOON, || {
        let report = tick(&client);
        ["due", "found", "advanced"]
            .iter()
            .all(|name| report[name] == 0)
    });
    thread::sleep(LEASE + Duration::from_secs(1));
    let report = tick(&client);
    assert_eq!(
        (&report["due"], &report["found"]),
        (&0.into(), &0.into()),
        "{report}"
    );
    assert_eq!(receiver.seen().len(), 2);
}

/// Two deliveries of one event: one id and body, but each with a time and a signature of its own, and both sound.
fn assert_same_event(one: &Seen, two: &Seen, subject: &str) {
    let receiver = Receiver {
        secrets: secrets(),
        source: Some(SOURCE.to_owned()),
    };
    let events = [one, two].map(|seen| {
        let headers = seen.headers.iter();
        let headers: HeaderMap = headers
            .map(|(name, value)| {
                (
                    name.parse().expect("a name"),
                    value.parse().expect("a value"),
                )
            })
            .collect();
        open(&receiver, &headers, &seen.body, now()).expect("a signed event")
    });
    assert_eq!(events[0], events[1]);
    assert_eq!(events[0].parts().subject.as_deref(), Some(subject));
    assert_eq!(one.header("webhook-id"), two.header("webhook-id"));
    assert_eq!(one.body, two.body);
    let seconds = |seen: &Seen| -> u64 {
        let seconds = seen.header("webhook-timestamp").expect("a time");
        seconds.parse().expect("seconds")
    };
    assert!(seconds(two) > seconds(one), "{one:?} {two:?}");
    assert_ne!(
        one.header("webhook-signature"),
        two.header("webhook-signature")
    );
}

/// Scenario 30, but for the replay.
#[test]
fn a_poisoned_event_holds_up_none_behind_it_in_its_record_or_in_others() {
    // The first event of every record goes to a receiver that breaks at one product alone; so does every second one.
    let receiver = Upstream::start(|_, seen| {
        let event: Value = serde_json::from_slice(&seen.body).expect("structured mode is JSON");
        let is_poisoned = event["type"] == "order.first" && event["data"]["product_id"] == 13;
        Sent::new(if is_poisoned { 500 } else { 204 }, &[], b"")
    });
    let options = options(&receiver).edit(
        "events = [{ on = \"done\",",
        "events = [{ on = \"done\", type = \"order.first\", sink = \"projection\" }, { on = \"done\",",
    );
    let state = State::new();
    let host = Host::start(&state, &options);
    let client = host.client();
    for product in [13, 1, 2] {
        order(&client, &format!("k{product}"), product, 1);
    }
    let seen_of = |kind: &str, product: u64| {
        let seen = receiver.seen();
        let events = seen
            .iter()
            .map(|seen| serde_json::from_slice::<Value>(&seen.body));
        let events = events.map(|event| event.expect("JSON"));
        events
            .filter(|event| event["type"] == kind && event["data"]["product_id"] == product)
            .count()
    };
    // Nobody ticks: all but the poisoned one are delivered right after the answer.
    for (kind, product) in [
        ("order.created", 13),
        ("order.first", 1),
        ("order.created", 1),
        ("order.first", 2),
        ("order.created", 2),
    ] {
        wait_until("an event", SOON, || seen_of(kind, product) == 1);
    }
    assert_eq!(seen_of("order.first", 13), 1);

    let letters = || operate(&client, "GET", "/-/dead-letters")["dead_letters"].clone();
    wait_until("the dead letter", SOON, || {
        tick(&client);
        letters().as_array().expect("a list").len() == 1
    });
    assert_eq!(letters()[0]["type"], "order.first");
    assert_eq!(letters()[0]["attempts"], 3);
    assert_eq!(seen_of("order.first", 13), 3);
    assert_eq!(receiver.seen().len(), 8, "and each other event once");
}

/// An order's event as somebody sends it, signed now.
fn deliver(client: &Client, id: &str, product: u64) -> Option<Answer> {
    let event = CloudEvent::new(EventParts {
        id: id.to_owned(),
        source: SOURCE.to_owned(),
        kind: "order.created".to_owned(),
        time: Some(now()),
        data: Some(
            json!({"product_id": product, "quantity": 1})
                .to_string()
                .into_bytes(),
        ),
        ..EventParts::default()
    });
    let event = event.expect("a sound event");
    let message = seal(&event, Mode::Structured, &secrets(), now()).expect("a sound id");
    let headers = message.headers.iter();
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    client
        .send("POST", "/inbox/orders", &headers, &message.body)
        .ok()
}

/// Scenario 31: what comes again is processed, because nothing was noted of what had failed.
#[test]
fn an_event_whose_handler_failed_is_processed_when_it_comes_again() {
    let Some(state) = State::only_on_sqlite("the store fails because its file is locked") else {
        return;
    };
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    assert_eq!(
        status_of(&deliver(&client, "e0", 1).expect("an answer")),
        "applied"
    );
    let lock = Connection::open(state.file()).expect("the store");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("nobody else writes");
    let failed = deliver(&client, "e1", 1).expect("an answer");
    assert_eq!(
        (failed.status, failed.problem().as_str()),
        (503, "store-unavailable")
    );
    assert!(failed.header("retry-after").is_some());
    assert_eq!(
        projection(&client)["1"]["orders"],
        1,
        "it has had no effect"
    );

    lock.execute_batch("ROLLBACK").expect("the lock is ours");
    for expected in ["applied", "duplicate"] {
        assert_eq!(
            status_of(&deliver(&client, "e1", 1).expect("an answer")),
            expected
        );
        assert_eq!(projection(&client)["1"]["orders"], 2);
    }
}

/// Scenario 32, where nothing is signed at all; the rest of it is in `events.rs`.
#[test]
fn an_event_without_a_signature_is_refused() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let event = json!({
        "specversion": "1.0", "id": "e1", "source": SOURCE, "type": "order.created",
        "time": "2026-01-01T00:00:00Z", "data": {"product_id": 1, "quantity": 1},
    });
    let headers = [
        ("content-type", "application/cloudevents+json"),
        ("webhook-id", "e1"),
        ("webhook-timestamp", "1767225600"),
    ];
    for shown in 1..=headers.len() {
        let body = event.to_string();
        let answer = client.send("POST", "/inbox/orders", &headers[..shown], body.as_bytes());
        let answer = answer.expect("an answer");
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (401, "event-not-trusted")
        );
    }
    assert_eq!(projection(&client), json!({}));
}

/// Scenario 31, where the handler is killed.
#[test]
fn an_inbox_that_is_killed_at_any_moment_counts_each_event_once() {
    const KILLS: u64 = 12;
    let state = State::new();
    let mut host = Host::start(&state, &Options::default());
    let (mut cut_short, mut applied) = (0, 0);
    for kill in 0..KILLS {
        let client = host.client();
        // The first event of a host compiles nothing, but opens the store.
        deliver(&client, &format!("warm{kill}"), 2).expect("an answer");
        let ids: Vec<String> = (0..4).map(|number| format!("e{kill}-{number}")).collect();
        let answered = thread::scope(|scope| {
            let shots: Vec<_> = ids
                .iter()
                .map(|id| scope.spawn(|| deliver(&client.clone(), id, 1)))
                .collect();
            thread::sleep(Duration::from_millis(2 * kill));
            host.kill();
            let answers = shots
                .into_iter()
                .filter_map(|shot| shot.join().expect("it lives"));
            answers.count()
        });
        cut_short += ids.len() - answered;
        host = Host::start(&state, &Options::default());
        for id in &ids {
            let again = status_of(&deliver(&host.client(), id, 1).expect("an answer"));
            applied += usize::from(again == "applied");
            assert_eq!(
                status_of(&deliver(&host.client(), id, 1).expect("an answer")),
                "duplicate"
            );
        }
        let products = projection(&host.client());
        assert_eq!(
            products["1"],
            json!({"orders": 4 * (kill + 1), "quantity": 4 * (kill + 1)})
        );
        assert_eq!(products["2"]["orders"], kill + 1);
    }
    println!("{cut_short} deliveries were not answered; {applied} were applied by the next one");
    assert!(cut_short > 0, "the kills hit the middle");
}
