//! The app as tests run it: over a store and a way out that they bring, by a clock that they set. What the component does
//! around an answer is done here in one place, and a reply is what a client sees of it.
//!
//! Stores are in `tests/model`. What a service is configured with, and what has to hold of its answers, is each test's
//! own.

use crate::model::run;
use http::request::Parts;
use http::{HeaderMap, Request};
use reprise::config::Config;
use reprise::driver::entropy::Entropy;
use reprise::driver::kv::Kv;
use reprise::machine::Timestamp;
use reprise::shell::app::{Admission, App, Setup, Undelivered, World};
use reprise::shell::outgoing::Outgoing;
use reprise::shell::reply::Reply;
use reprise::shell::request::{Invocation, RequestBody};
use std::cell::Cell;

/// When every test begins, in milliseconds since the Unix epoch.
pub const START_MS: u64 = 1_800_000_000_000;

thread_local! {
    // The app takes its clock as a function. Each test has a thread of its own.
    static NOW_MS: Cell<u64> = const { Cell::new(START_MS) };
}

pub fn now() -> Timestamp {
    Timestamp::from_unix_ms(NOW_MS.get())
}

/// Lets time pass.
pub fn pass(ms: u64) {
    NOW_MS.set(NOW_MS.get().saturating_add(ms));
}

/// Sets the clock to the beginning again, for the next input of one thread.
pub fn begin_again() {
    NOW_MS.set(START_MS);
}

/// A running app, with all that it reaches.
pub struct Running<K, O> {
    app: App,
    pub kv: K,
    pub outgoing: O,
    log: fn(&str),
    /// How often randomness was drawn, which is other each time and the same in each run.
    draws: Cell<u64>,
}

impl<K: Kv + Clone, O: Outgoing + Clone> Running<K, O> {
    pub fn new(config: Config, kv: K, outgoing: O, log: fn(&str)) -> Self {
        let setup = Setup {
            config,
            file: |path| Ok(format!("the file {path}")),
        };
        Self {
            app: App::new(Ok(setup)),
            kv,
            outgoing,
            log,
            draws: Cell::new(0),
        }
    }

    /// The same after a restart with another configuration.
    pub fn restarted(&self, config: Config) -> Self {
        let next = Self::new(config, self.kv.clone(), self.outgoing.clone(), self.log);
        next.draws.set(self.draws.get());
        next
    }

    /// Answers a request, and tells what is to be done once the answer has left.
    pub fn answer(&self, head: &Parts, body: &[u8]) -> (Seen, Option<Undelivered>) {
        let admission = self.app.admit(head);
        let body = match admission.body_bytes_max() {
            Some(max) if body.len() > max => RequestBody::TooLarge,
            Some(_) | None => RequestBody::Whole(body.to_vec()),
        };
        self.answer_admitted(admission, head, body)
    }

    /// [`Running::answer`] to a body as the component has read it.
    pub fn answer_to(&self, head: &Parts, body: RequestBody) -> (Seen, Option<Undelivered>) {
        self.answer_admitted(self.app.admit(head), head, body)
    }

    fn answer_admitted(
        &self,
        admission: Admission<'_>,
        head: &Parts,
        body: RequestBody,
    ) -> (Seen, Option<Undelivered>) {
        let (world, invocation) = self.reach();
        let mut reply = run(self.app.answer(admission, head, body, world, invocation));
        let undelivered = reply.extensions_mut().remove();
        (Seen::of(reply), undelivered)
    }

    /// Delivers the events of an answer that has left.
    pub fn deliver(&self, undelivered: Undelivered) {
        let (world, invocation) = self.reach();
        run(self.app.deliver(undelivered, world, invocation));
    }

    /// Whether the component would bring its counts to the store now.
    pub fn has_to_flush(&self) -> bool {
        self.app.has_to_flush()
    }

    pub fn flush(&self) {
        let (world, invocation) = self.reach();
        run(self.app.flush(world, invocation));
    }

    fn reach(&self) -> (World<K, O>, Invocation) {
        self.draws.set(self.draws.get() + 1);
        let mut seed = [7; 32];
        seed[..8].copy_from_slice(&self.draws.get().to_le_bytes());
        let invocation = Invocation {
            now: now(),
            entropy: Entropy::from_seed(seed),
        };
        let world = World {
            kv: self.kv.clone(),
            outgoing: self.outgoing.clone(),
            clock: now,
            log: self.log,
        };
        (world, invocation)
    }
}

/// The head of a request.
pub fn head(method: &str, target: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, value.as_bytes());
    }
    request.body(()).expect("a sound request").into_parts().0
}

/// What is sent with JSON under a key.
pub fn keyed(key: &str) -> [(&str, &str); 2] {
    [
        ("idempotency-key", key),
        ("content-type", "application/json"),
    ]
}

/// A reply as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Seen {
    fn of(reply: Reply) -> Self {
        let (head, body) = reply.into_parts();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.0,
        }
    }

    /// The value of the only header line of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.headers.get_all(name).iter();
        let line = lines.next();
        assert!(lines.next().is_none(), "{name} comes twice: {self:?}");
        line.map(|line| str::from_utf8(line.as_bytes()).expect("UTF-8"))
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The type of the problem document in the body, without its common start; `None` when the reply is no problem.
    pub fn problem(&self) -> Option<String> {
        if self.header("content-type") != Some("application/problem+json") {
            return None;
        }
        let document = self.json();
        assert_eq!(document["status"], self.status, "{document}");
        let members = ["type", "title", "status", "detail", "retryable"];
        assert!(
            members.iter().all(|member| !document[member].is_null()),
            "{document}"
        );
        let kind = document["type"].as_str().expect("a type is a string");
        Some(kind.trim_start_matches("urn:reprise:problem:").to_owned())
    }
}
