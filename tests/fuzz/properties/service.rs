//! A service that is given whatever an input says: the whole app over a model of the store, with an upstream and a
//! receiver that do as their bodies ask. What holds for every answer of it is checked with every answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use http::request::Parts;
use http::{Method, Request, StatusCode};
use reprise::config::{Config, Draft};
use reprise::shell::outgoing::{Answered, AnsweredBody, CallError, CallLimits, Called, Outgoing};

use crate::app::{Running, Seen, begin_again, head, keyed, now, pass};
use crate::model::{Client, Model, Rules, World};

pub(super) const TOKEN: &str = "operators-secret";
pub(super) const WEBHOOK_SECRET: &str = "whsec_cmVwcmlzZS1kZXZlbG9wbWVudC1vbmx5LXNlY3JldCEh";

/// What comes before every path at the upstream of the routes with parameters.
pub(super) const LEDGER: &str = "https://ledger.example/v1/base/";

/// What the service is configured with beside the reference: routes with parameters, with and without a path of their
/// own at the upstream.
const MORE: &str = r#"
[upstreams.ledger]
url = "https://ledger.example/v1/base/"

[[operations]]
name = "payments"
route = "/accounts/{account}/payments"
handler = "forward"
upstream = "ledger"
upstream_path = "/book/{account}/entries"
key = "optional"
fingerprint = "raw"

[[operations]]
name = "mirror"
route = "/mirror/{first}/{second}"
method = "PUT"
handler = "forward"
upstream = "ledger"
key = "optional"
fingerprint = "raw"
"#;

thread_local! {
    static CONFIG: Config = config();
}

fn log(line: &str) {
    assert!(!line.contains('\n'), "one line is one entry: {line:?}");
}

/// Values that suit the variables of the reference file.
pub(super) fn sound_value(variable: &str) -> Option<String> {
    let value = match variable {
        "purge_grace" => "10m",
        "admin_token" => TOKEN,
        "tenant_header" => "",
        "retention" => "24h",
        "log_level" => "debug",
        "payment_api_url" => "http://payments.example",
        "payment_api_authorization" => "Bearer payments-secret",
        "events_url" => "http://events.example/inbox",
        "webhook_secret" => WEBHOOK_SECRET,
        _ => return None,
    };
    Some(value.to_owned())
}

fn config() -> Config {
    let reference = include_str!("../../../reprise.toml");
    // Few buckets: chains of several records, and pages that are read quickly.
    let text = reference.replace("bucket_bits = 14", "bucket_bits = 2") + MORE;
    let draft = Draft::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    draft
        .settle(sound_value)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The configuration of every service here.
pub(super) fn with_config<T>(read: impl FnOnce(&Config) -> T) -> T {
    CONFIG.with(read)
}

/// What is stored, by key.
pub(super) type Data = BTreeMap<String, Vec<u8>>;

/// The other side of every call, which remembers them.
#[derive(Clone, Default)]
struct Others(Rc<RefCell<Vec<Request<Vec<u8>>>>>);

impl Outgoing for Others {
    async fn call(&self, request: Request<Vec<u8>>, _: CallLimits) -> Called {
        let has = |word: &str| {
            let body = String::from_utf8_lossy(request.body());
            body.contains(word)
        };
        let end = if has("late") {
            Err(CallError::TimedOut)
        } else if has("down") {
            Err(CallError::Unreachable("nobody is there".to_owned()))
        } else if has("busy") {
            Ok(answered(503, "busy"))
        } else if has("666") && request.uri().host() == Some("events.example") {
            Ok(answered(400, "never"))
        } else {
            Ok(answered(201, "taken"))
        };
        self.0.borrow_mut().push(request);
        let ended_at = now();
        Called { end, ended_at }
    }
}

fn answered(status: u16, body: &str) -> Answered {
    let headers = [
        ("content-type", "text/plain"),
        ("set-cookie", "session=1"),
        ("retry-after", "7"),
        ("location", "/taken/1"),
    ];
    let line = |(name, value)| {
        let name = http::HeaderName::from_static(name);
        (name, http::HeaderValue::from_static(value))
    };
    Answered {
        status: StatusCode::from_u16(status).expect("a status"),
        headers: headers.map(line).into_iter().collect(),
        body: AnsweredBody::Whole(body.as_bytes().to_vec()),
    }
}

/// A running service.
pub(super) struct Service {
    running: Running<Client, Others>,
}

impl Service {
    /// A service over a store that holds this.
    pub(super) fn over(data: Data) -> Self {
        begin_again();
        let mut model = Model::new(Rules::Sqlite, 1);
        model.data = data;
        let world = World::direct(model);
        let client = Client { world, id: 0 };
        let config = with_config(Config::clone);
        let running = Running::new(config, client, Others::default(), log);
        Self { running }
    }

    /// What is stored now.
    pub(super) fn data(&self) -> Data {
        self.running.kv.world.borrow().model.data.clone()
    }

    /// The calls to other services until now.
    pub(super) fn calls(&self) -> Vec<Request<Vec<u8>>> {
        self.running.outgoing.0.borrow().clone()
    }

    /// Answers a request, and delivers its events, as the component does.
    pub(super) fn answer(&self, head: &Parts, body: &[u8]) -> Seen {
        let (seen, undelivered) = self.running.answer(head, body);
        if let Some(undelivered) = undelivered {
            self.running.deliver(undelivered);
        }
        well_formed(&head.method, &seen);
        let is_broken = self.running.kv.world.borrow().model.broken;
        assert!(
            !is_broken,
            "something else than eight bytes was incremented"
        );
        seen
    }

    /// Sends a request.
    pub(super) fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Seen {
        self.answer(&head(method, target, headers), body)
    }

    /// Sends JSON under a key.
    pub(super) fn post(&self, target: &str, key: &str, body: &str) -> Seen {
        self.send("POST", target, &keyed(key), body.as_bytes())
    }

    /// Asks as an operator.
    pub(super) fn operator(&self, method: &str, target: &str) -> Seen {
        let authorization = format!("Bearer {TOKEN}");
        self.send(method, target, &[("authorization", &authorization)], b"")
    }
}

/// What holds for every reply: a status that says whose fault it is, a body as long as it says, no cookie, and a
/// problem document that says what its head says.
fn well_formed(method: &Method, seen: &Seen) {
    let status = StatusCode::from_u16(seen.status).expect("a status");
    assert!((200..=599).contains(&seen.status), "{seen:?}");
    assert_ne!(seen.status, 500, "{seen:?}");
    let one = |name| seen.header(name);
    assert_eq!(one("cache-control"), Some("no-store"));
    assert!(!seen.headers.contains_key("set-cookie"), "{seen:?}");
    if *method == Method::HEAD || status == StatusCode::NO_CONTENT {
        return assert!(seen.body.is_empty(), "{seen:?}");
    }
    if status != StatusCode::NOT_MODIFIED {
        assert_eq!(one("content-length"), Some(&*seen.body.len().to_string()));
    }
    if one("content-type") == Some("application/problem+json") {
        let document = seen.json();
        assert_eq!(document["status"], seen.status);
        let kind = document["type"].as_str().expect("a text");
        assert!(kind.starts_with("urn:reprise:problem:"), "{kind}");
        let is_retryable = document["retryable"].as_bool().expect("a truth value");
        if is_retryable && seen.status == 503 {
            has_retry_after(seen);
        }
        let is_text = |name: &str| document[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_text("title") && is_text("detail"), "{document}");
    } else {
        assert!(
            seen.status < 400,
            "an error is a problem document: {seen:?}"
        );
    }
    if seen.status == 202 {
        has_retry_after(seen);
    }
}

fn has_retry_after(seen: &Seen) {
    let wait = seen
        .headers
        .get("retry-after")
        .and_then(|wait| wait.to_str().ok()?.parse().ok());
    assert!(wait.is_some_and(|seconds: u64| seconds > 0), "{seen:?}");
}

/// A store that was in use: operations in every state, waiting retries, dead letters, counts and timers.
pub(super) fn in_use() -> Data {
    let service = Service::over(Data::new());
    let order = |key: &str, product: u64| {
        service.post(
            "/orders",
            key,
            &format!(r#"{{"product_id":{product},"quantity":1}}"#),
        )
    };
    for (key, product) in [("o-1", 42), ("o-2", 7), ("o-dead", 666)] {
        assert_eq!(order(key, product).status, 201);
    }
    assert_eq!(
        service
            .post("/tasks", "t-1", r#"{"text":"Good morning."}"#)
            .status,
        201
    );
    for (key, word, status) in [
        ("c-done", "now", 201),
        ("c-busy", "busy", 202),
        ("c-late", "late", 202),
    ] {
        let body = format!(r#"{{"amount":1,"note":"{word}"}}"#);
        let seen = service.post("/charge", key, &body);
        assert_eq!(seen.status, status, "{seen:?}");
        if key == "c-late" {
            let path = seen.headers["location"].to_str().expect("a path");
            assert_eq!(service.send("DELETE", path, &[], b"").status, 200);
        }
    }
    assert_eq!(
        service
            .send("POST", "/accounts/7/payments", &[], b"down")
            .status,
        202
    );
    pass(1);
    assert_eq!(service.operator("POST", "/-/tick").status, 200);
    assert_eq!(service.operator("GET", "/-/metrics").status, 200);
    service.data()
}
