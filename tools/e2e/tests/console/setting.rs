//! A service whose payment API and receiver of events can be switched on and off, with a browser before it.

use reprise_e2e::{
    Answer, Arrangement, Browser, Client, Host, Options, Sent, State, Upstream, wait_until,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const TOKEN: &str = "operators-secret";
/// What a charge is named by that is asked to come back in an hour.
pub const PATIENT: &str = "patient";

const AUTHORIZATION: (&str, &str) = ("authorization", "Bearer operators-secret");

pub struct Setting {
    pub browser: Browser,
    pub client: Client,
    pub payments: Upstream,
    pub receiver: Upstream,
    host: Host,
    is_up: Arc<AtomicBool>,
    _state: State,
}

impl Setting {
    /// Starts a service whose payment API and receiver are down. Orders tell of an event of this type.
    pub fn start(event: &str) -> Self {
        let is_up = Arc::new(AtomicBool::new(false));
        let (payments, receiver) = (payments(&is_up), receiver(&is_up));
        let options = Options::default()
            .variable("admin_token", TOKEN)
            .variable("payment_api_url", &payments.url())
            .variable("events_host", &receiver.url())
            .variable("events_path", "/hook")
            .edit("type = \"order.created\"", &format!("type = \"{event}\""))
            .edit("max_attempts = 4", "max_attempts = 2")
            .edit(
                "{ kind = \"full_jitter\", base = \"1s\", cap = \"1m\", floor = \"100ms\" }",
                "{ kind = \"constant\", delay = \"300ms\" }",
            )
            .edit("retry_after_cap = \"5m\"", "retry_after_cap = \"2h\"")
            .edit("total_deadline = \"10m\"", "total_deadline = \"3h\"")
            .tick("200ms");
        let state = State::new();
        // Where a page cannot read many words at once, the page of a large store's first buckets would be a small part.
        let options = match state.arrangement() {
            Arrangement::Sqlite => options,
            Arrangement::Redis | Arrangement::RedisTwo => {
                options.edit("bucket_bits = 14", "bucket_bits = 9")
            }
        };
        let host = Host::start(&state, &options);
        Self {
            browser: Browser::start(),
            client: host.client(),
            payments,
            receiver,
            host,
            is_up,
            _state: state,
        }
    }

    /// Has the payment API and the receiver work, or not.
    pub fn switch(&self, on: bool) {
        self.is_up.store(on, Ordering::SeqCst);
    }

    /// Kills the service.
    pub fn end(&mut self) {
        self.host.kill();
    }

    /// Where the service is.
    pub fn origin(&self) -> String {
        self.host.url()
    }

    /// Opens the page and enters the token.
    pub fn enter(&self) {
        let browser = &self.browser;
        browser.open(&format!("{}/-/console", self.origin()));
        browser.enter("#token", TOKEN);
        browser.click("#entry-form button");
        browser.await_text("#operations-title", "Operations");
    }

    /// Asks for a charge.
    pub fn charge(&self, reference: &str) -> Answer {
        let body = json!({"amount": 1999, "currency": "EUR", "reference": reference}).to_string();
        self.client.post("/charge", Some(reference), &body)
    }

    /// Asks for an order.
    pub fn order(&self, key: &str) -> Answer {
        let body = r#"{"product_id":42,"quantity":1}"#;
        self.client.post("/orders", Some(key), body)
    }

    /// Waits until the operators' list of operations with this query has so many.
    pub fn await_operations(&self, query: &str, count: usize) {
        wait_until(
            &format!("{count} of {query}"),
            Duration::from_secs(20),
            || {
                let path = format!("/-/operations?limit=200&{query}");
                self.list(path, "operations").len() == count
            },
        );
    }

    /// Waits until there are so many dead letters.
    pub fn await_dead_letters(&self, count: usize) {
        wait_until(
            &format!("{count} dead letters"),
            Duration::from_secs(20),
            || {
                let path = "/-/dead-letters?from=0".to_owned();
                self.list(path, "dead_letters").len() == count
            },
        );
    }

    /// Waits until the receiver was sent so many events.
    pub fn await_events(&self, count: usize) {
        wait_until(&format!("{count} events"), Duration::from_secs(20), || {
            self.receiver.seen().len() == count
        });
    }

    /// What all pages of an operators' list show.
    fn list(&self, path: String, name: &str) -> Vec<Value> {
        let (mut all, mut next) = (Vec::new(), Some(path));
        while let Some(path) = next {
            let page = self.client.send("GET", &path, &[AUTHORIZATION], b"");
            let page = page.expect("an answer").json();
            all.extend(page[name].as_array().expect("a list").clone());
            next = page["next"].as_str().map(str::to_owned);
        }
        all
    }
}

fn payments(is_up: &Arc<AtomicBool>) -> Upstream {
    let is_up = Arc::clone(is_up);
    Upstream::start(move |_, seen| {
        let body = String::from_utf8_lossy(&seen.body);
        if body.contains(PATIENT) {
            Sent::new(503, &[("Retry-After", "3600")], b"")
        } else if is_up.load(Ordering::SeqCst) {
            Sent::new(
                201,
                &[("Content-Type", "application/json")],
                br#"{"status":"approved"}"#,
            )
        } else {
            Sent::new(503, &[], b"")
        }
    })
}

fn receiver(is_up: &Arc<AtomicBool>) -> Upstream {
    let is_up = Arc::clone(is_up);
    Upstream::start(move |_, _| {
        Sent::new(
            if is_up.load(Ordering::SeqCst) {
                204
            } else {
                400
            },
            &[],
            b"",
        )
    })
}
