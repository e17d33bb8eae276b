//! The component: Spin's trigger, clock, randomness, variables and store, each touched in one place.
//!
//! An instance serves many requests, several at a time, and ends without notice. What it keeps in [`APP`] is only what
//! the next instance would find again.

use super::app::{App, Setup, Undelivered, World};
use super::door::Inside;
use super::log::refused;
use super::outgoing::{Answered, AnsweredBody, CallError, CallLimits, Called, Outgoing};
use super::problem::Problem;
use super::reply::Reply;
use super::request::{BODY_DEADLINE_S, Invocation, RequestBody};
use super::wire::{self, Collected, Incoming};
use crate::config::{Config, Draft};
use crate::driver::entropy::Entropy;
use crate::driver::kv::{Kv, KvError, SwapError};
use crate::machine::{LimitError, Timestamp};
use crate::sorted::Sorted;
use bindings::wasi::keyvalue::{atomics, batch, store};
use futures::future::{Either, select};
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use spin_sdk::time::sleep;
use spin_sdk::wasip3::clocks::system_clock;
use spin_sdk::wasip3::exports::http::handler::Guest;
use spin_sdk::wasip3::http::types::{self, ErrorCode, Response};
use spin_sdk::wasip3::random::random;
use spin_sdk::wasip3::wit_bindgen::{spawn, yield_async};
use spin_sdk::{key_value, variables};
use std::cell::{Cell, OnceCell, RefCell};
use std::io::Write as _;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

/// The bindings that `wit/` asks for beyond those of the SDK.
mod bindings {
    #![allow(
        clippy::all,
        clippy::pedantic,
        reason = "the code is generated; which lints it meets depends on the generator"
    )]
    wit_bindgen::generate!({
        path: "wit",
        world: "bindings",
        generate_all,
    });
}

/// Where the manifest mounts the configuration.
const CONFIG: &str = "/reprise.toml";
/// Where the manifest mounts the description of the interface.
const OPENAPI: &str = "/openapi.yaml";
/// Where the manifest mounts the operators' page.
const CONSOLE: &str = "/console";
/// The label of the store in the manifest.
const STORE: &str = "default";

thread_local! {
    // A component has one thread; this is its way to a static without a lock.
    static APP: OnceCell<Rc<App>> = const { OnceCell::new() };
    static OPENED: Rc<Opened> = Rc::default();
    /// What is to be written to the log.
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What the platform calls. The SDK's own macro answers a head that it cannot read with a 500.
struct Component;

spin_sdk::wasip3::http::service::export!(Component);

impl Guest for Component {
    async fn handle(request: types::Request) -> Result<Response, ErrorCode> {
        let inside = Inside::enter();
        match wire::head(&request) {
            Some(head) => handle(&head, request, inside).await,
            None => {
                leave(Problem::NotKept(LimitError::Malformed { what: "the head" }).reply()).await
            }
        }
    }
}

async fn handle(
    head: &Parts,
    request: types::Request,
    inside: Rc<Inside>,
) -> Result<Response, ErrorCode> {
    let app = app().await;
    let admission = app.admit(head);
    let body = match admission.body_bytes_max() {
        // Most requests that take no body have none, and then nothing has to be waited for.
        None if !head.headers.contains_key(CONTENT_LENGTH) && head.method.is_safe() => {
            RequestBody::Whole(Vec::new())
        }
        Some(bytes_max) => read(Incoming::of_request(request), bytes_max).await,
        None => {
            pass_over(Incoming::of_request(request)).await;
            RequestBody::Whole(Vec::new())
        }
    };
    let invocation = invocation_now();
    let reach = world(Rc::clone(&inside));
    let mut reply = app.answer(admission, head, &body, reach, invocation).await;
    let undelivered = reply.extensions_mut().remove::<Undelivered>();
    if undelivered.is_some() || app.has_to_flush() {
        let app = Rc::clone(&app);
        spawn(async move {
            // The answer leaves first: the store's conditional writes hold up the whole instance. Should the instance
            // end before this is done, the walk finds what is left. It will not end for want of writes: those that are
            // set aside for the request are for this too.
            sleep(Duration::from_millis(1)).await;
            if let Some(undelivered) = undelivered {
                let reach = world(Rc::clone(&inside));
                app.deliver(undelivered, reach, invocation_now()).await;
            }
            // Another request of this instance may have been faster.
            if app.has_to_flush() {
                app.flush(world(inside), invocation_now()).await;
            }
        });
    }
    leave(reply).await
}

/// How often a request steps back for the host. Two are enough for an answer's body to be there with its head.
const STEPS_BACK: u32 = 3;

/// Lets the host go on with its other work, which wakes nothing and waits for no timer.
async fn step_back() {
    for _ in 0..STEPS_BACK {
        yield_async().await;
    }
}

/// Sends a reply on its way.
async fn leave(reply: Reply) -> Result<Response, ErrorCode> {
    let response = wire::response(reply.map(|body| body.0))?;
    // A task of its own writes the body. Once the host has taken it up, head and body leave in one segment; else the
    // second one waits on a kept-alive connection until the client has acknowledged the first, which it delays by 40 ms.
    step_back().await;
    Ok(response)
}

fn invocation_now() -> Invocation {
    Invocation {
        now: now(),
        entropy: entropy(),
    }
}

fn world(inside: Rc<Inside>) -> World<SpinKv, SpinOutgoing> {
    World {
        kv: SpinKv {
            opened: OPENED.with(Rc::clone),
            inside,
        },
        outgoing: SpinOutgoing,
        clock: now,
        log,
    }
}

/// Writes a line to the log: the component's standard error, which the platform keeps or shows. Whether somebody reads
/// it is nobody's business here.
///
/// The platform takes its time over each write, and everybody in the instance waits for it. So the lines of a moment are
/// written together, by a task of their own that goes on as soon as the request at hand has to wait for something.
fn log(line: &str) {
    let is_first = LINES.with_borrow_mut(|lines| {
        let is_first = lines.is_empty();
        lines.extend([line.as_bytes(), b"\n"].concat());
        is_first
    });
    if is_first {
        spawn(async {
            step_back().await;
            let lines = LINES.take();
            let _ = std::io::stderr().write_all(&lines);
        });
    }
}

/// How much is read of a body that is of no use, and for how long.
const USELESS_BYTES_MAX: usize = 1_024 * 1_024;
const USELESS_DEADLINE: Duration = Duration::from_millis(250);

/// Reads a body of at most this many bytes.
async fn read(body: Incoming, bytes_max: usize) -> RequestBody {
    let collected = body.collect(bytes_max);
    let late = late(Duration::from_secs(BODY_DEADLINE_S));
    match select(pin!(collected), pin!(late)).await {
        Either::Left((Ok(Collected::Whole(bytes)), _)) => RequestBody::Whole(bytes),
        Either::Left((Ok(Collected::TooLarge { rest, .. }), _)) => {
            pass_over(rest).await;
            RequestBody::TooLarge
        }
        Either::Left((Err(_), _)) => RequestBody::Broken,
        Either::Right(((), _)) => RequestBody::Late,
    }
}

/// Reads a body that is of no use, some of it and for a moment: what stays unread costs the connection, and with it
/// perhaps the answer to who is still sending.
async fn pass_over(body: Incoming) {
    let late = late(USELESS_DEADLINE);
    select(pin!(body.drain(USELESS_BYTES_MAX)), pin!(late)).await;
}

/// Waits for a body's time to be over. Mostly it comes while the host goes on, and a timer is more work than that.
async fn late(deadline: Duration) {
    step_back().await;
    sleep(deadline).await;
}

/// The app of this instance. The first request sets it up; should that fail for a reason that may pass, the next one
/// does.
async fn app() -> Rc<App> {
    if let Some(app) = APP.with(|app| app.get().cloned()) {
        return app;
    }
    match set_up().await {
        Ok(setup) => {
            if let Err(problem) = &setup {
                log(&refused(problem, now()));
            }
            let app = Rc::new(App::new(setup));
            APP.with(|kept| Rc::clone(kept.get_or_init(|| app)))
        }
        Err(problem) => {
            log(&refused(&problem, now()));
            Rc::new(App::new(Err(problem)))
        }
    }
}

/// Reads what the manifest mounts, and the variables that it refers to. The inner error is there to stay as long as the
/// instance; the outer one may pass.
async fn set_up() -> Result<Result<Setup, String>, String> {
    let (config, openapi) = match (mounted(CONFIG), mounted(OPENAPI)) {
        (Ok(config), Ok(openapi)) => (config, openapi),
        (Err(problem), _) | (_, Err(problem)) => return Ok(Err(problem)),
    };
    let config = match Draft::parse(&config) {
        Ok(draft) => settle(draft).await?,
        Err(error) => Err(error.to_string()),
    };
    Ok(config.map(|config| Setup {
        config,
        openapi,
        page: |name| mounted(&format!("{CONSOLE}/{name}")),
    }))
}

async fn settle(draft: Draft) -> Result<Result<Config, String>, String> {
    let mut values = Sorted::new();
    for name in draft.variables() {
        match variables::get(name).await {
            Ok(value) => drop(values.insert(name.clone(), value)),
            Err(variables::Error::Undefined(_) | variables::Error::InvalidName(_)) => {}
            Err(error) => return Err(format!("the variable {name} cannot be read: {error}")),
        }
    }
    let config = draft.settle(|name| values.get(name).cloned());
    Ok(config.map_err(|error| error.to_string()))
}

/// Reads a file that the manifest mounts.
fn mounted(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("the file {path} cannot be read: {error}"))
}

fn now() -> Timestamp {
    let now = system_clock::now();
    let seconds = u64::try_from(now.seconds).unwrap_or_default();
    let ms = seconds
        .saturating_mul(1_000)
        .saturating_add(u64::from(now.nanoseconds / 1_000_000));
    Timestamp::from_unix_ms(ms)
}

fn entropy() -> Entropy {
    let bytes = random::get_random_bytes(32);
    Entropy::from_seed(
        bytes
            .try_into()
            .expect("as many bytes come as were asked for"),
    )
}

/// Spin's key-value store, by the two interfaces that reach it, each opened on first use.
///
/// Plain calls go through Spin's own interface: it is asynchronous, so they leave the instance free for its other
/// requests, and can be given up. The conditional write exists in `wasi:keyvalue` alone, whose calls block. Every
/// request reads before it writes, so a store that does not answer is met by a call that can be given up.
///
/// Before a value is written the request has its share of the instance's conditional writes. A counter is added to only
/// where a conditional write follows, and what is deleted is of no use any more.
struct SpinKv {
    opened: Rc<Opened>,
    inside: Rc<Inside>,
}

/// The store as it is open for all requests of the instance: opening it is a call like any other.
#[derive(Default)]
struct Opened {
    plain: OnceCell<key_value::Store>,
    conditional: OnceCell<store::Bucket>,
    /// Whether the latest calls took long.
    is_slow: Cell<bool>,
    /// For how long the instance has stood still in calls that block it, in milliseconds.
    blocked_ms: Cell<u64>,
}

/// How long a store may take for one call. SQLite gives up on a lock after 5 s, which is then its own answer; Spin's
/// Redis driver tries to connect again for minutes, which is longer than any client waits.
const CALL_DEADLINE: Duration = Duration::from_secs(6);

/// From when on a call says that the store is too slow to begin anything: a new operation takes five calls more,
/// and one that is forwarded ten, which is as long as a client waits.
const SLOW_MS: u64 = 2_500;

impl SpinKv {
    async fn plain(&self) -> Result<&key_value::Store, KvError> {
        let plain = &self.opened.plain;
        if plain.get().is_none() {
            let opened = self.in_time(key_value::Store::open(STORE)).await?;
            // Should another request have been faster, its handle stays: it is as good.
            let _ = plain.set(opened);
        }
        Ok(plain.get().expect("it was just set"))
    }

    fn conditional(&self) -> Result<&store::Bucket, KvError> {
        let conditional = &self.opened.conditional;
        if conditional.get().is_none() {
            let _ = conditional.set(store::open(STORE).map_err(error)?);
        }
        Ok(conditional.get().expect("it was just set"))
    }

    /// Waits for a call, but not for ever, and notes how long that was. A write that is given up may still happen.
    ///
    /// While the call is under way the instance may stand still for other requests, in calls of theirs that block it.
    /// That is not the store's time for this call, or may not be: it makes no call slow, and none late.
    async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, key_value::Error>>,
    ) -> Result<T, KvError> {
        let begun = now();
        let blocked_ms = self.opened.blocked_ms.get();
        let own_ms = |elapsed_ms: u64| {
            let blocked_ms = self.opened.blocked_ms.get() - blocked_ms;
            elapsed_ms.saturating_sub(blocked_ms)
        };
        let mut call = pin!(call);
        let mut left = CALL_DEADLINE;
        let end = loop {
            match select(call.as_mut(), pin!(sleep(left))).await {
                Either::Left((end, _)) => {
                    break end.map_err(plain_error);
                }
                Either::Right(((), _)) => {}
            }
            let own = Duration::from_millis(own_ms(now().since(begun).get()));
            // The clock and the timer may differ by what is too short to wait for.
            left = CALL_DEADLINE.saturating_sub(own);
            if left < Duration::from_millis(10) {
                break Err(KvError(format!(
                    "the store did not answer within {} s",
                    CALL_DEADLINE.as_secs()
                )));
            }
        };
        let elapsed_ms = now().since(begun).get();
        if own_ms(elapsed_ms) >= SLOW_MS {
            self.opened.is_slow.set(true);
        } else if elapsed_ms < SLOW_MS {
            self.opened.is_slow.set(false);
        }
        end
    }

    /// Makes a call that blocks the instance, and notes how long that was.
    fn blocking<T>(&self, call: impl FnOnce() -> T) -> T {
        let begun = now();
        let end = call();
        let blocked_ms = now().since(begun).get();
        let sum_ms = self.opened.blocked_ms.get().saturating_add(blocked_ms);
        self.opened.blocked_ms.set(sum_ms);
        if blocked_ms >= SLOW_MS {
            self.opened.is_slow.set(true);
        }
        end
    }
}

fn error(error: store::Error) -> KvError {
    match error {
        store::Error::NoSuchStore => not_set_up(),
        store::Error::AccessDenied => not_granted(),
        store::Error::Other(message) => KvError(message),
    }
}

fn plain_error(error: key_value::Error) -> KvError {
    match error {
        key_value::Error::NoSuchStore => not_set_up(),
        key_value::Error::AccessDenied => not_granted(),
        other @ (key_value::Error::StoreTableFull | key_value::Error::Other(_)) => {
            KvError(other.to_string())
        }
    }
}

fn not_set_up() -> KvError {
    KvError(format!("the store \"{STORE}\" is not set up"))
}

fn not_granted() -> KvError {
    KvError(format!(
        "the manifest gives this component no key-value store \"{STORE}\""
    ))
}

impl Kv for SpinKv {
    type Cas = atomics::Cas;

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        self.in_time(self.plain().await?.get(key)).await
    }

    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, KvError> {
        let bucket = self.conditional()?;
        let found = self.blocking(|| batch::get_many(bucket, &keys));
        let found = found.map_err(error)?;
        let found = found.into_iter();
        Ok(found
            .filter_map(|(key, value)| Some((key, value?)))
            .collect())
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        self.inside.check()?;
        self.in_time(self.plain().await?.set(key, value)).await
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        self.in_time(self.plain().await?.delete(key)).await
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        let bucket = self.conditional()?;
        self.blocking(|| atomics::increment(bucket, key, delta))
            .map_err(error)
    }

    async fn cas(&self, key: &str) -> Result<Self::Cas, KvError> {
        self.inside.check()?;
        let bucket = self.conditional()?;
        self.blocking(|| atomics::Cas::new(bucket, key))
            .map_err(error)
    }

    async fn current(&self, cas: &Self::Cas) -> Result<Option<Vec<u8>>, KvError> {
        self.blocking(|| cas.current()).map_err(error)
    }

    async fn swap(&self, cas: Self::Cas, value: &[u8]) -> Result<(), SwapError<Self::Cas>> {
        self.inside.take();
        let swapped = self.blocking(|| atomics::swap(cas, value));
        swapped.map_err(|failure| match failure {
            atomics::CasError::StoreError(failure) => SwapError::Store(error(failure)),
            atomics::CasError::CasFailed(fresh) => SwapError::CasFailed(fresh),
        })
    }

    fn check_pace(&self) -> Result<(), KvError> {
        if self.opened.is_slow.get() {
            return Err(KvError(
                "the store is too slow to begin anything".to_owned(),
            ));
        }
        Ok(())
    }

    fn reserve(&self, swaps: u32) -> bool {
        self.inside.reserve(swaps)
    }
}

/// Calls other services by Spin's outgoing HTTP, which follows no redirect and repeats nothing.
struct SpinOutgoing;

impl Outgoing for SpinOutgoing {
    async fn call(&self, request: http::Request<Vec<u8>>, limits: CallLimits) -> Called {
        let left = limits.until.since(now());
        let called = call_whole(request, limits.response_bytes_max);
        let end = match select(pin!(called), pin!(sleep(Duration::from_millis(left.get())))).await {
            Either::Left((end, _)) => end,
            Either::Right(((), _)) => Err(CallError::TimedOut),
        };
        Called {
            end,
            ended_at: now(),
        }
    }
}

/// Makes a call and reads the response, unless it is too large or its head is enough.
async fn call_whole(
    request: http::Request<Vec<u8>>,
    bytes_max: Option<usize>,
) -> Result<Answered, CallError> {
    let sent = wire::send(request).await;
    let (status, headers, body) = sent.map_err(|error| call_error(&error))?;
    let length = Answered::announced_bytes(status, &headers);
    let too_large = |read: usize| AnsweredBody::TooLarge {
        length_bytes: length.unwrap_or_default().max(read as u64),
    };
    let answered = |body| Answered {
        status,
        headers,
        body,
    };
    let Some(bytes_max) = bytes_max else {
        // The other side may be about to do something after its answer.
        spawn(pass_over(body));
        return Ok(answered(too_large(0)));
    };
    if length.is_some_and(|length| length > bytes_max as u64) {
        // What will not be kept is not waited for.
        return Ok(answered(too_large(0)));
    }
    let collected = body.collect(bytes_max).await;
    let bytes = match collected.map_err(|error| CallError::BrokenOff(in_words(&error)))? {
        Collected::Whole(bytes) => bytes,
        Collected::TooLarge { read, .. } => return Ok(answered(too_large(read))),
    };
    if length.is_some_and(|length| length != bytes.len() as u64) {
        return Err(CallError::BrokenOff(format!(
            "the response broke off after {} bytes",
            bytes.len()
        )));
    }
    Ok(answered(AnsweredBody::Whole(bytes)))
}

/// What an error of a call is called in a record, in words for the common ones.
fn in_words(error: &ErrorCode) -> String {
    let words = match error {
        ErrorCode::HttpRequestDenied => {
            "the manifest's allowed_outbound_hosts do not name this host"
        }
        ErrorCode::ConnectionRefused | ErrorCode::DestinationUnavailable => {
            "the connection was refused"
        }
        ErrorCode::DnsError(_) | ErrorCode::DnsTimeout | ErrorCode::DestinationNotFound => {
            "the host's name could not be resolved"
        }
        ErrorCode::ConnectionTimeout => "the connection was not made in time",
        ErrorCode::TlsProtocolError | ErrorCode::TlsCertificateError => {
            "the connection could not be encrypted"
        }
        ErrorCode::ConnectionTerminated
        | ErrorCode::HttpResponseIncomplete
        | ErrorCode::HttpProtocolError => "no whole HTTP response came before the connection ended",
        ErrorCode::ConnectionReadTimeout | ErrorCode::HttpResponseTimeout => {
            "the response did not come in time"
        }
        _ => return error.to_string(),
    };
    words.to_owned()
}

/// Tells the errors that come before anything was sent from those after which nobody knows what the upstream has done.
fn call_error(error: &ErrorCode) -> CallError {
    let detail = in_words(error);
    match error {
        ErrorCode::DnsTimeout
        | ErrorCode::DnsError(_)
        | ErrorCode::DestinationNotFound
        | ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpProhibited
        | ErrorCode::DestinationIpUnroutable
        | ErrorCode::ConnectionRefused
        | ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionLimitReached
        | ErrorCode::TlsProtocolError
        | ErrorCode::TlsCertificateError
        | ErrorCode::TlsAlertReceived(_)
        | ErrorCode::HttpRequestDenied
        | ErrorCode::HttpRequestUriInvalid
        | ErrorCode::HttpRequestMethodInvalid => CallError::Unreachable(detail),
        _ => CallError::BrokenOff(detail),
    }
}
