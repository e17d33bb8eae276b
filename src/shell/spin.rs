//! The component: Spin's trigger, clock, randomness, variables and store, each touched in one place.
//!
//! An instance serves many requests, several at a time, and ends without notice. What it keeps in [`APP`] is only what
//! the next instance would find again.

use super::app::App;
use super::request::{BODY_BYTES_MAX, Invocation, RequestBody};
use super::settings::{Settings, VARIABLES};
use crate::driver::entropy::Entropy;
use crate::driver::kv::{Kv, KvError, SwapError};
use crate::machine::Timestamp;
use bindings::wasi::keyvalue::{atomics, store};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use spin_sdk::http::{IntoResponse, Request};
use spin_sdk::wasip3::clocks::system_clock;
use spin_sdk::wasip3::random::random;
use spin_sdk::{http_service, variables};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The bindings that `wit/` asks for beyond those of the SDK.
mod bindings {
    #![expect(
        clippy::pedantic,
        clippy::allow_attributes_without_reason,
        reason = "the code is generated"
    )]
    wit_bindgen::generate!({
        path: "wit",
        world: "bindings",
        generate_all,
    });
}

/// The label of the store in the manifest.
const STORE: &str = "default";

thread_local! {
    // A component has one thread; this is its way to a static without a lock.
    static APP: OnceCell<&'static App> = const { OnceCell::new() };
}

#[http_service]
async fn handle(request: Request) -> impl IntoResponse {
    let app = app().await;
    let invocation = Invocation {
        now: now(),
        entropy: entropy(),
    };
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => RequestBody::Whole(body.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => RequestBody::TooLarge,
        Err(_) => RequestBody::Broken,
    };
    let request = http::Request::from_parts(head, body);
    let reply = app.answer(&request, SpinKv::open, invocation).await;
    reply.map(|body| Full::new(Bytes::from(body.0)))
}

/// The app of this instance. The first request reads the variables.
async fn app() -> &'static App {
    if let Some(app) = APP.with(|app| app.get().copied()) {
        return app;
    }
    let mut values = BTreeMap::new();
    let mut settings = Ok(());
    for name in VARIABLES {
        match variables::get(name).await {
            Ok(value) => drop(values.insert(name, value)),
            Err(error) => settings = Err(format!("the variable {name} cannot be read: {error}")),
        }
    }
    let settings = settings.and_then(|()| Settings::read(|name| values.get(name).cloned()));
    APP.with(|app| *app.get_or_init(|| Box::leak(Box::new(App::new(settings)))))
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

/// Spin's key-value store.
struct SpinKv(store::Bucket);

impl SpinKv {
    fn open() -> Result<Self, KvError> {
        store::open(STORE).map(Self).map_err(error)
    }
}

fn error(error: store::Error) -> KvError {
    KvError(match error {
        store::Error::NoSuchStore => format!("the store \"{STORE}\" is not set up"),
        store::Error::AccessDenied => format!("the manifest does not grant the store \"{STORE}\""),
        store::Error::Other(message) => message,
    })
}

impl Kv for SpinKv {
    type Cas = atomics::Cas;

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        self.0.get(key).map_err(error)
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        self.0.set(key, value).map_err(error)
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        self.0.delete(key).map_err(error)
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        atomics::increment(&self.0, key, delta).map_err(error)
    }

    async fn cas(&self, key: &str) -> Result<Self::Cas, KvError> {
        atomics::Cas::new(&self.0, key).map_err(error)
    }

    async fn current(&self, cas: &Self::Cas) -> Result<Option<Vec<u8>>, KvError> {
        cas.current().map_err(error)
    }

    async fn swap(&self, cas: Self::Cas, value: &[u8]) -> Result<(), SwapError<Self::Cas>> {
        atomics::swap(cas, value).map_err(|failure| match failure {
            atomics::CasError::StoreError(failure) => SwapError::Store(error(failure)),
            atomics::CasError::CasFailed(fresh) => SwapError::CasFailed(fresh),
        })
    }
}
