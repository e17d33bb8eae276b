//! The component: Spin's trigger, clock, randomness and variables, each touched in one place.
//!
//! The rest of what knows Spin is in a file each: the instance's [`door`], HTTP as it comes and goes ([`wire`]), the
//! [`store`], and the [`calls`] of other services.
//!
//! An instance serves many requests, several at a time, and ends without notice. What it keeps in [`APP`] is only what
//! the next instance would find again.

mod calls;
mod door;
mod store;
mod wire;

use super::app::{App, Setup, Undelivered, World};
use super::log::refused;
use super::problem::Problem;
use super::reply::Reply;
use super::request::{BODY_DEADLINE_S, Ending, Invocation, RequestBody};
use crate::config::{Config, Draft};
use crate::driver::entropy::Entropy;
use crate::machine::{LimitError, Timestamp};
use crate::sorted::Sorted;
use calls::SpinOutgoing;
use door::Inside;
use futures::future::{Either, select};
use http::header::CONTENT_LENGTH;
use http::request::Parts;
use spin_sdk::time::sleep;
use spin_sdk::variables;
use spin_sdk::wasip3::clocks::system_clock;
use spin_sdk::wasip3::exports::http::handler::Guest;
use spin_sdk::wasip3::http::types::{self, ErrorCode, Response};
use spin_sdk::wasip3::random::random;
use spin_sdk::wasip3::wit_bindgen::{spawn, yield_async};
use std::cell::{Cell, OnceCell, RefCell};
use std::io::Write as _;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use store::SpinKv;
use wire::{Collected, Incoming};

/// Where the manifest mounts the configuration.
const CONFIG: &str = "/reprise.toml";

thread_local! {
    // A component has one thread; this is its way to a static without a lock.
    static APP: OnceCell<Rc<App>> = const { OnceCell::new() };
    /// When the clock was read last.
    static READ_AT: Cell<Timestamp> = const { Cell::new(Timestamp::from_unix_ms(0)) };
    /// Random bytes that were drawn and are not used yet.
    static SEEDS: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// What is to be written to the log.
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How long the seed of a request's randomness is.
const SEED_BYTES: u64 = 32;
/// How many seeds are drawn at once. Each drawing is a call of the host's, and an instance serves 128 requests.
const SEEDS_DRAWN: u64 = 32;

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
        Some(bytes_max) => read(Incoming::of_request(request, head), bytes_max).await,
        None => {
            // Most requests that take no body have none, and then nothing has to be waited for.
            if head.headers.contains_key(CONTENT_LENGTH) || !head.method.is_safe() {
                pass_over(Incoming::of_request(request, head)).await;
            }
            RequestBody::Whole(Vec::new())
        }
    };
    let invocation = invocation_now();
    let reach = world(Rc::clone(&inside));
    let mut reply = app.answer(admission, head, body, reach, invocation).await;
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
        kv: SpinKv::new(inside),
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
        lines.extend_from_slice(line.as_bytes());
        lines.push(b'\n');
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
        Either::Left((Ok(Collected::Announced(bytes, ending)), _)) => {
            let ending = async { ending.check().await.is_ok() };
            RequestBody::Announced(bytes, Ending::told_by(ending))
        }
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

/// Reads the configuration, and the variables that it refers to. The inner error is there to stay as long as the
/// instance; the outer one may pass.
async fn set_up() -> Result<Result<Setup, String>, String> {
    let config = match mounted(CONFIG) {
        Ok(config) => config,
        Err(problem) => return Ok(Err(problem)),
    };
    let config = match Draft::parse(&config) {
        Ok(draft) => settle(draft).await?,
        Err(error) => Err(error.to_string()),
    };
    Ok(config.map(|config| Setup {
        config,
        file: mounted,
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

/// Reads the clock.
fn now() -> Timestamp {
    let now = system_clock::now();
    let seconds = u64::try_from(now.seconds).unwrap_or_default();
    let ms = seconds
        .saturating_mul(1_000)
        .saturating_add(u64::from(now.nanoseconds / 1_000_000));
    let now = Timestamp::from_unix_ms(ms);
    READ_AT.set(now);
    now
}

/// The latest reading of the clock. Each call is another one of the host's, so what begins now begins at this time: the
/// clock is read wherever a request has waited for something before it calls the store.
fn last_reading() -> Timestamp {
    READ_AT.get()
}

/// Randomness for one request. Seeds are drawn for several requests at once.
fn entropy() -> Entropy {
    let seed = SEEDS.with_borrow_mut(|seeds| {
        if seeds.is_empty() {
            *seeds = random::get_random_bytes(SEED_BYTES * SEEDS_DRAWN);
        }
        let (rest, seed) = seeds
            .split_last_chunk()
            .expect("as many bytes come as were asked for");
        let (rest_bytes, seed) = (rest.len(), *seed);
        seeds.truncate(rest_bytes);
        seed
    });
    Entropy::from_seed(seed)
}
