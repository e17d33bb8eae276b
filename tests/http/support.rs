//! A service in a test: its configuration, its store, its log, and an upstream that does as it is told.

use crate::app::{Running, head, keyed, now};
pub use crate::app::{Seen, pass};
use crate::model::{Client, Fault, Model, Rules, World};
use http::{HeaderMap, Request, StatusCode};
use reprise::config::{Config, Draft};
use reprise::driver::kv::{Kv, KvError, SwapError};
use reprise::shell::app::Undelivered;
use reprise::shell::outgoing::{Answered, AnsweredBody, CallError, CallLimits, Called, Outgoing};
use reprise::shell::request::{Ending, RequestBody};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The configuration at the root of the repository.
pub const REFERENCE: &str = include_str!("../../reprise.toml");
pub const JSON: (&str, &str) = ("content-type", "application/json");
pub const KEY: (&str, &str) = ("idempotency-key", "k");

thread_local! {
    // The app takes its log as a function. Each test has a thread of its own.
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn log(line: &str) {
    LOG.with_borrow_mut(|lines| lines.push(line.to_owned()));
}

/// What was written to the log since this was last asked.
pub fn logged() -> Vec<String> {
    LOG.take()
}

/// What an upstream answers to a call, told how many came before.
type Script = Rc<dyn Fn(usize, &Request<Vec<u8>>) -> Result<Answered, CallError>>;

/// An upstream that does as it is told, and remembers what it was sent.
#[derive(Clone)]
pub struct Upstream {
    script: Script,
    pub seen: Rc<RefCell<Vec<Request<Vec<u8>>>>>,
}

impl Upstream {
    pub fn new(
        script: impl Fn(usize, &Request<Vec<u8>>) -> Result<Answered, CallError> + 'static,
    ) -> Self {
        Self {
            script: Rc::new(script),
            seen: Rc::default(),
        }
    }

    /// One that always answers the same.
    pub fn answering(answer: Result<Answered, CallError>) -> Self {
        Self::new(move |_, _| answer.clone())
    }

    /// How many calls came.
    pub fn calls(&self) -> usize {
        self.seen.borrow().len()
    }
}

impl Outgoing for Upstream {
    async fn call(&self, request: Request<Vec<u8>>, _: CallLimits) -> Called {
        let before = self.calls();
        self.seen.borrow_mut().push(request.clone());
        let end = (self.script)(before, &request);
        Called {
            end,
            ended_at: now(),
        }
    }
}

/// A whole response.
pub fn answered(status: u16, headers: &[(&str, &[u8])], body: &[u8]) -> Answered {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(
            http::HeaderName::try_from(*name).expect("a name"),
            http::HeaderValue::from_bytes(value).expect("a value"),
        );
    }
    Answered {
        status: StatusCode::from_u16(status).expect("a status"),
        headers: map,
        body: AnsweredBody::Whole(body.to_vec()),
    }
}

/// The store, which may take its time for a conditional write, and may fail at one call.
#[derive(Clone)]
struct Store {
    client: Client,
    stall_ms: Rc<Cell<u64>>,
    fault: Rc<Cell<Option<(u32, Fault)>>>,
    writes: Rc<Cell<u32>>,
    /// How many writes are made before the store is too slow to begin anything.
    quick_writes: Rc<Cell<Option<u32>>>,
}

impl Store {
    fn count(&self) {
        self.writes.set(self.writes.get() + 1);
    }

    /// Makes a call, unless it is the one that fails.
    async fn call<T>(&self, call: impl Future<Output = Result<T, KvError>>) -> Result<T, KvError> {
        let failed = || KvError("the test wants it so".to_owned());
        match self.fault.get() {
            None => call.await,
            Some((0, fault)) => {
                self.fault.set(None);
                if fault == Fault::After {
                    call.await?;
                }
                Err(failed())
            }
            Some((before, fault)) => {
                self.fault.set(Some((before - 1, fault)));
                call.await
            }
        }
    }
}

impl Kv for Store {
    type Cas = usize;

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        self.call(self.client.get(key)).await
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        self.count();
        self.call(self.client.set(key, value)).await
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        self.count();
        self.call(self.client.delete(key)).await
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        self.count();
        self.call(self.client.increment(key, delta)).await
    }

    async fn cas(&self, key: &str) -> Result<usize, KvError> {
        self.client.cas(key).await
    }

    async fn current(&self, cas: &usize) -> Result<Option<Vec<u8>>, KvError> {
        self.call(self.client.current(cas)).await
    }

    async fn swap(&self, cas: usize, value: &[u8]) -> Result<(), SwapError<usize>> {
        self.count();
        pass(self.stall_ms.take());
        let mut lost = None;
        let swapped = async {
            match self.client.swap(cas, value).await {
                Ok(()) => Ok(()),
                Err(SwapError::Store(error)) => Err(error),
                Err(SwapError::CasFailed(fresh)) => {
                    lost = Some(fresh);
                    Ok(())
                }
            }
        };
        self.call(swapped).await.map_err(SwapError::Store)?;
        lost.map_or(Ok(()), |fresh| Err(SwapError::CasFailed(fresh)))
    }

    fn check_pace(&self) -> Result<(), KvError> {
        match self.quick_writes.get() {
            Some(writes) if self.writes.get() >= writes => Err(KvError("it is slow".to_owned())),
            Some(_) | None => Ok(()),
        }
    }
}

/// A running service.
pub struct Service {
    running: Running<Store, Upstream>,
    pub upstream: Upstream,
    undelivered: Cell<Option<Undelivered>>,
}

impl Service {
    /// A service with this configuration, before this upstream, over an empty store.
    pub fn new(config: &str, upstream: Upstream) -> Rc<Self> {
        let world = World::direct(Model::new(Rules::Sqlite, 1));
        let kv = Store {
            client: Client { world, id: 0 },
            stall_ms: Rc::default(),
            fault: Rc::default(),
            writes: Rc::default(),
            quick_writes: Rc::default(),
        };
        Self::of(Running::new(settled(config), kv, upstream, log))
    }

    /// The service after a restart with another configuration.
    pub fn restarted(&self, config: &str) -> Rc<Self> {
        Self::of(self.running.restarted(settled(config)))
    }

    fn of(running: Running<Store, Upstream>) -> Rc<Self> {
        Rc::new(Self {
            upstream: running.outgoing.clone(),
            running,
            undelivered: Cell::new(None),
        })
    }

    /// Has the next conditional write take this long.
    pub fn stall(&self, ms: u64) {
        self.running.kv.stall_ms.set(ms);
    }

    /// Has the store be too slow to begin anything, after this many writes; or not any more.
    pub fn slow_down(&self, writes: Option<u32>) {
        let writes = writes.map(|writes| self.running.kv.writes.get() + writes);
        self.running.kv.quick_writes.set(writes);
    }

    /// Has the store fail once, after this many calls that it answers; with its effect or without.
    pub fn fail(&self, before: u32, has_effect: bool) {
        let fault = if has_effect {
            Fault::After
        } else {
            Fault::Before
        };
        self.running.kv.fault.set(Some((before, fault)));
    }

    /// Has the store answer again. Whether it has not failed yet.
    pub fn heal(&self) -> bool {
        self.running.kv.fault.take().is_some()
    }

    /// Does what the component does once the last answer has left: delivers its events.
    pub fn deliver(&self) {
        if let Some(undelivered) = self.undelivered.take() {
            self.running.deliver(undelivered);
        }
    }

    /// Whether the component would bring its counts to the store now.
    pub fn has_to_flush(&self) -> bool {
        self.running.has_to_flush()
    }

    pub fn flush(&self) {
        self.running.flush();
    }

    /// The store's writes until now, of all services over it.
    pub fn writes(&self) -> u32 {
        self.running.kv.writes.get()
    }

    /// Sends a request.
    pub fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Seen {
        let head = head(method, target, headers);
        let (seen, undelivered) = self.running.answer(&head, body);
        self.undelivered.set(undelivered);
        seen
    }

    /// Sends JSON under a key in a body of the announced length, which has ended whole or has not.
    pub fn post_announced(&self, target: &str, key: &str, body: &str, is_whole: bool) -> Seen {
        let ending = Ending::told_by(async move { is_whole });
        let body = RequestBody::Announced(body.as_bytes().to_vec(), ending);
        let head = head("POST", target, &keyed(key));
        self.running.answer_to(&head, body).0
    }

    /// Sends JSON under a key.
    pub fn post(&self, target: &str, key: &str, body: &str) -> Seen {
        self.send("POST", target, &keyed(key), body.as_bytes())
    }

    pub fn get(&self, target: &str) -> Seen {
        self.send("GET", target, &[], b"")
    }
}

/// A service with the reference configuration, before an upstream that takes every charge.
pub fn reference() -> Rc<Service> {
    let response = answered(201, &[("content-type", b"text/plain")], b"charged");
    Service::new(REFERENCE, Upstream::answering(Ok(response)))
}

fn settled(text: &str) -> Config {
    let variables: BTreeMap<&str, &str> = BTreeMap::from([
        ("purge_grace", "10m"),
        ("admin_token", "operators-secret"),
        ("tenant_header", ""),
        ("retention", "24h"),
        ("log_level", "info"),
        ("payment_api_url", "http://payments.example"),
        ("payment_api_authorization", "Bearer payments-secret"),
        ("events_url", "http://events.example/inbox"),
        (
            "webhook_secret",
            "whsec_cmVwcmlzZS1kZXZlbG9wbWVudC1vbmx5LXNlY3JldCEh",
        ),
    ]);
    let draft = Draft::parse(text).unwrap_or_else(|error| panic!("{error}"));
    draft
        .settle(|name| variables.get(name).map(|value| (*value).to_owned()))
        .unwrap_or_else(|error| panic!("{error}"))
}
