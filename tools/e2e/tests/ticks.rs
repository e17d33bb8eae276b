//! Ticks: work that a client has left goes on and ends when nobody asks again, whoever ticks.
//!
//! Until the end these tests ask only those that can move nothing: the sandbox and a test's own upstream, which count
//! calls, and the projection, which counts events.

use reprise_e2e::{Answer, Client, Host, Options, Sent, State, Upstream, wait_until};
use serde_json::json;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
const TOKEN: &str = "ticks-of-a-test";
/// The sandbox answers this amount with 503 twice, and then approves it.
const TWICE_503: u64 = 50_300;

/// Everything is left to ticks, the first delivery of an event too.
fn without_ticks() -> Options {
    Options::default().variable("admin_token", TOKEN).edit(
        "first_attempt = \"after_answer\"",
        "first_attempt = \"tick\"",
    )
}

fn with_ticks() -> Options {
    without_ticks().tick("200ms")
}

/// Charges an amount that ends later than the answer.
fn charge(client: &Client, key: &str) -> Answer {
    let body = json!({"amount": TWICE_503, "currency": "EUR", "reference": key}).to_string();
    let answer = client.post("/charge", Some(key), &body);
    assert_eq!(answer.status, 202, "{answer:?}");
    answer
}

fn order(client: &Client, key: &str) {
    let answer = client.post("/orders", Some(key), r#"{"product_id":42,"quantity":3}"#);
    assert_eq!(answer.status, 201, "{answer:?}");
}

/// Waits until the sandbox has charged once, in the third call.
fn charged_once(client: &Client, reference: &str) {
    let path = format!("/payment-sandbox/charges?reference={reference}");
    let counts = || client.get(&path).json();
    wait_until("the charge", SOON, || counts()["charges"] == 1);
    assert_eq!(counts()["calls"], 3);
}

/// Waits until the projection counts one order, of three pieces.
fn counted_once(client: &Client) {
    let projection = || client.get("/inbox/orders/projection").json();
    wait_until("the event", SOON, || projection()["products"] != json!({}));
    assert_eq!(
        projection()["products"],
        json!({"42": {"orders": 1, "quantity": 3}})
    );
}

/// The record of a charge, which asking for may have moved: so only once nothing is left to do.
fn is_done(client: &Client, charge: &Answer) -> bool {
    let path = charge.header("location").expect("a record");
    client.get(path).json()["status"] == "done"
}

#[test]
fn a_charge_ends_and_an_event_arrives_though_nobody_asks_again() {
    let state = State::new();
    let host = Host::start(&state, &with_ticks());
    let client = host.client();
    let charge = charge(&client, "charge");
    order(&client, "order");
    charged_once(&client, "charge");
    counted_once(&client);
    assert!(is_done(&client, &charge));
}

#[test]
fn a_host_that_was_killed_goes_on_by_itself() {
    let state = State::new();
    // Without ticks, so that the charge and the event are still to come when it is killed.
    let mut host = Host::start(&state, &without_ticks());
    let charge = charge(&host.client(), "charge");
    order(&host.client(), "order");
    host.kill();
    let host = Host::start(&state, &with_ticks());
    charged_once(&host.client(), "charge");
    counted_once(&host.client());
    assert!(is_done(&host.client(), &charge));
}

#[test]
fn an_attempt_that_died_with_its_host_is_made_again_with_the_same_key() {
    let upstream = Upstream::start(|before, _| {
        let sent = Sent::new(201, &[], b"made");
        if before == 0 {
            sent.after(Duration::from_mins(1))
        } else {
            sent
        }
    });
    let config = format!(
        r#"
[store]
bucket_bits = 4
[operators]
token = "{TOKEN}"
[upstreams.parts]
url = "{}"
[[operations]]
name = "parts"
route = "/parts"
handler = "forward"
upstream = "parts"
attempt_timeout = "1s"
lease = "2s"
"#,
        upstream.url()
    );
    let options = Options::default().variable("admin_token", TOKEN);
    let options = options.config(&config).tick("200ms");
    let state = State::new();
    let mut host = Host::start(&state, &options);
    let _unheard = host.client().post_unheard("/parts", "k", "{}");
    wait_until("the first call", SOON, || upstream.seen().len() == 1);
    host.kill();
    let host = Host::start(&state, &options);
    wait_until("the second call", SOON, || upstream.seen().len() == 2);
    let keys: Vec<_> = upstream
        .seen()
        .iter()
        .map(|seen| seen.header("idempotency-key").map(str::to_owned))
        .collect();
    assert!(keys[0].is_some() && keys[0] == keys[1], "{keys:?}");
    wait_until("the answer", SOON, || {
        host.client().post("/parts", Some("k"), "{}").status == 201
    });
    assert_eq!(upstream.seen().len(), 2);
}

/// The script that ticks where nothing else does. It is killed with this value.
struct Script(Child);

impl Script {
    fn start(host: &Host, state: &Path) -> Self {
        let header = state.join("tick-header");
        std::fs::write(&header, format!("Authorization: Bearer {TOKEN}\n"))
            .expect("the state's folder can be written to");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/tick.sh");
        let mut command = Command::new("sh");
        command
            .arg(script)
            .env("REPRISE_URL", host.url())
            .env("REPRISE_TICK_HEADER", header)
            .env("REPRISE_TICK_SECONDS", "0.2")
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        Self(command.spawn().expect("there is a shell"))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_script_for_deployments_ticks_as_well() {
    let state = State::new();
    let host = Host::start(&state, &without_ticks());
    let client = host.client();
    let charge = charge(&client, "charge");
    order(&client, "order");
    let mut script = Script::start(&host, state.path());
    charged_once(&client, "charge");
    counted_once(&client);
    assert!(is_done(&client, &charge));
    let ended = script.0.try_wait().expect("it was started");
    assert_eq!(ended, None, "it goes on");
}
