//! The app: one request in, one reply out, over any key-value store and any way out.

use super::admission::{Asked, admit};
use super::log::Log;
use super::outgoing::Outgoing;
use super::problem::Problem;
use super::reply::{Reply, ReplyBody};
use super::request::{Invocation, RequestBody};
use super::tally::{Observer, Tally, class_of};
use super::{console, cors, dead_letters, inbox, metrics, operations, operators, overview, sinks};
use crate::config::Config;
use crate::driver::entropy::Entropy;
use crate::driver::inbox::is_done_event;
use crate::driver::kv::Kv;
use crate::driver::store::{Layout, Node, Store, StoreError};
use crate::driver::walk;
use crate::machine::{OperationEvent, Record, Timestamp, stored};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_LENGTH, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use std::cell::OnceCell;
use uuid::Uuid;

/// What an instance keeps between requests. All of it can be lost and found again.
#[derive(Debug)]
pub struct App {
    setup: Result<Setup, String>,
    layout: OnceCell<Layout>,
    tally: Tally,
}

/// What an app is set up with.
#[derive(Debug)]
pub struct Setup {
    /// The configuration.
    pub config: Config,
    /// Reads a file that is served as it is, by its path. That is when it is asked for, which is rare.
    pub file: fn(&str) -> Result<String, String>,
}

/// What a request asks for, or why it is refused: known from its head, before its body is read.
#[derive(Debug)]
pub struct Admission<'a>(Result<Asked<'a>, Problem>);

impl Admission<'_> {
    /// How much of the body is to be read, in bytes; `None` when it is of no use.
    #[must_use]
    pub fn body_bytes_max(&self) -> Option<usize> {
        self.0
            .as_ref()
            .ok()
            .map(Asked::body_bytes_max)
            .filter(|max| *max > 0)
    }
}

impl App {
    /// The app with this setup, or with what is wrong with it: then it answers nothing but that.
    #[must_use]
    pub fn new(setup: Result<Setup, String>) -> Self {
        Self {
            setup,
            layout: OnceCell::new(),
            tally: Tally::default(),
        }
    }

    /// Looks at the head of a request.
    #[must_use]
    pub fn admit(&self, head: &Parts) -> Admission<'_> {
        if head.uri.path() == operators::HEALTH_PATH
            && matches!(head.method, Method::GET | Method::HEAD)
        {
            return Admission(Ok(Asked::Health));
        }
        Admission(match &self.setup {
            Ok(setup) => admit(setup, head),
            Err(error) => Err(Problem::Misconfigured(error.clone())),
        })
    }

    /// Answers an admitted request.
    pub async fn answer<K: Kv, O: Outgoing>(
        &self,
        Admission(admission): Admission<'_>,
        head: &Parts,
        body: RequestBody,
        world: World<K, O>,
        invocation: Invocation,
    ) -> Reply {
        let asked = admission.as_ref().ok();
        let preflight = asked
            .and_then(|asked| asked.preflight(&head.headers))
            .map(str::to_owned);
        let operation = asked.and_then(Asked::operation);
        let (emit, clock) = (world.log, world.clock);
        let answered = match admission {
            Ok(asked) => self.carry_out(asked, head, body, world, invocation).await,
            Err(problem) => Err(problem),
        };
        let mut reply = answered.unwrap_or_else(|problem| {
            self.note(&problem, emit, clock());
            problem.reply()
        });
        let no_store = HeaderValue::from_static("no-store");
        reply.headers_mut().insert(CACHE_CONTROL, no_store);
        if let Ok(setup) = &self.setup {
            let class = operation.map_or_else(
                || class_of(&setup.config, head),
                |operation| operation.name.as_str(),
            );
            self.tally.request(class, reply.status());
            let headers = reply.headers_mut();
            cors::allow(&setup.config, &head.headers, preflight.as_deref(), headers);
        }
        finish(&mut reply, &head.method);
        reply
    }

    /// Delivers the events that a reply has left to deliver, as far as that is possible at once. What is not delivered
    /// now has a timer, or is found by the walk.
    pub async fn deliver<K: Kv, O: Outgoing>(
        &self,
        Undelivered(id): Undelivered,
        world: World<K, O>,
        invocation: Invocation,
    ) {
        let (emit, clock) = (world.log, world.clock);
        if let Ok(access) = self.access(world)
            && let Err(problem) = operations::deliver(access, id, invocation).await
        {
            // Whatever goes wrong is in the record, or left to the walk.
            self.note(&problem, emit, clock());
        }
    }

    /// Whether this instance has counted so much that it is to be brought to the store, once the answer has left.
    #[must_use]
    pub const fn has_to_flush(&self) -> bool {
        self.tally.is_full()
    }

    /// Brings what this instance has counted to the store. What cannot be brought there now stays until the next time.
    pub async fn flush<K: Kv, O: Outgoing>(&self, world: World<K, O>, mut invocation: Invocation) {
        let Ok(access) = self.access(world) else {
            return;
        };
        if let Ok(open) = access.open(&mut invocation.entropy).await {
            let now = invocation.now;
            let entropy = &mut invocation.entropy;
            let _ = walk::flush(&open.store, &open.observer, now, entropy).await;
        }
    }

    /// Notes a problem that is the store's.
    fn note(&self, problem: &Problem, emit: fn(&str), now: Timestamp) {
        if let Ok(setup) = &self.setup {
            self.observer(setup, emit).problem(problem, now);
        }
    }

    const fn observer(&self, setup: &Setup, emit: fn(&str)) -> Observer<'_> {
        let level = setup.config.log_level;
        Observer {
            tally: &self.tally,
            log: Log { level, emit },
        }
    }

    async fn carry_out<K: Kv, O: Outgoing>(
        &self,
        asked: Asked<'_>,
        head: &Parts,
        body: RequestBody,
        world: World<K, O>,
        invocation: Invocation,
    ) -> Result<Reply, Problem> {
        // Health is told without a setup: a component whose configuration is wrong runs all the same.
        let access = || self.access(world);
        match asked {
            Asked::Health => Ok(operators::health()),
            Asked::OpenApi => operators::openapi(access()?.setup.file),
            Asked::Console(file) => console::show(file, access()?.setup.file),
            Asked::Options { allow } => Ok(options(&allow)),
            Asked::Submit(submit) => {
                operations::submit(access()?, submit, head, body, invocation).await
            }
            Asked::Show(item) => {
                operations::tell(access()?, item, head, OperationEvent::Woken, invocation).await
            }
            Asked::Cancel(item) => {
                operations::tell(
                    access()?,
                    item,
                    head,
                    OperationEvent::CancelAsked,
                    invocation,
                )
                .await
            }
            Asked::Receive(settings) => {
                inbox::receive(access()?, settings, head, body, invocation).await
            }
            Asked::Projection(settings) => inbox::projection(access()?, settings, invocation).await,
            Asked::DeadLetters(from) => dead_letters::list(access()?, from, invocation).await,
            Asked::Overview(ask) => overview::answer(access()?, ask, invocation).await,
            Asked::DeadLetter(letter, fate) => {
                dead_letters::decide(access()?, letter, fate, invocation).await
            }
            Asked::Sinks => sinks::list(access()?, invocation).await,
            Asked::EnableSink(name) => sinks::enable(access()?, name, invocation).await,
            Asked::Tick => operators::tick(access()?, invocation).await,
            Asked::Metrics => metrics::show(access()?, invocation).await,
        }
    }

    fn access<K, O>(&self, world: World<K, O>) -> Result<Access<'_, K, O>, Problem> {
        match &self.setup {
            Ok(setup) => Ok(Access {
                app: self,
                setup,
                world,
            }),
            Err(error) => Err(Problem::Misconfigured(error.clone())),
        }
    }
}

/// Says how long the body is, or leaves it out where there is none.
fn finish(reply: &mut Reply, method: &Method) {
    let has_none = matches!(
        reply.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    if has_none || *method == Method::HEAD {
        *reply.body_mut() = ReplyBody::default();
    } else {
        let length = HeaderValue::from(reply.body().0.len());
        reply.headers_mut().insert(CONTENT_LENGTH, length);
    }
}

fn options(allow: &str) -> Reply {
    let mut reply = Response::new(ReplyBody::default());
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let allow = HeaderValue::try_from(allow).expect("methods are visible ASCII");
    reply.headers_mut().insert(ALLOW, allow);
    reply
}

/// The record of a reply whose events are to be delivered now. It travels with the reply, as an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undelivered(pub(super) Uuid);

/// What a request may reach beyond this component.
#[derive(Debug)]
pub struct World<K, O> {
    /// The key-value store.
    pub kv: K,
    /// The way out to other services.
    pub outgoing: O,
    /// The clock, for what takes long.
    pub clock: fn() -> Timestamp,
    /// Where the lines of the log go.
    pub log: fn(&str),
}

/// The setup and the world, for those requests that need them.
pub(super) struct Access<'a, K, O> {
    app: &'a App,
    pub(super) setup: &'a Setup,
    world: World<K, O>,
}

impl<'a, K: Kv, O: Outgoing> Access<'a, K, O> {
    /// Opens the store. An instance reads its layout once.
    pub(super) async fn open(self, entropy: &mut Entropy) -> Result<Open<'a, K, O>, StoreError> {
        let Self { app, setup, world } = self;
        let store = if let Some(layout) = app.layout.get() {
            Store::with_layout(world.kv, *layout)
        } else {
            let store = Store::open(world.kv, setup.config.store.bucket_bits, entropy).await?;
            // Another request of this instance may have been faster; it found the same.
            let _ = app.layout.set(store.layout());
            store
        };
        Ok(Open {
            config: &setup.config,
            store,
            outgoing: world.outgoing,
            clock: world.clock,
            observer: app.observer(setup, world.log),
        })
    }
}

/// An open store, with what else a request needs.
pub(super) struct Open<'a, K, O> {
    pub(super) config: &'a Config,
    pub(super) store: Store<K>,
    pub(super) outgoing: O,
    pub(super) clock: fn() -> Timestamp,
    /// Who hears of what is done.
    pub(super) observer: Observer<'a>,
}

impl<K: Kv, O> Open<'_, K, O> {
    /// The record of an operation by its id, in its node; `None` where there is none.
    pub(super) async fn find(
        &self,
        id: Uuid,
        now: Timestamp,
    ) -> Result<Option<(Node, Record)>, Problem> {
        let node = self.store.load(id, now.as_unix_ms()).await?;
        let Some(node) = node.filter(|node| !is_done_event(node)) else {
            return Ok(None);
        };
        let record = record_in(&node)?;
        Ok(Some((node, record)))
    }
}

/// The record in a node.
pub(super) fn record_in(node: &Node) -> Result<Record, Problem> {
    let refused = |error| Problem::StoreRefused(format!("the record {}: {error}", node.id()));
    stored::decode(node.payload()).map_err(refused)
}
