//! The app: one request in, one reply out, over any key-value store.

use super::operators;
use super::problem::Problem;
use super::reply::{Reply, ReplyBody};
use super::request::{Invocation, RequestBody};
use super::settings::Settings;
use super::tasks;
use crate::driver::entropy::Entropy;
use crate::driver::kv::Kv;
use crate::driver::store::{Layout, Store, StoreError};
use http::header::{CACHE_CONTROL, HeaderValue};
use http::{Method, Request};
use std::cell::OnceCell;

/// What an instance keeps between requests. All of it can be lost and found again.
#[derive(Debug)]
pub struct App {
    settings: Result<Settings, String>,
    layout: OnceCell<Layout>,
}

impl App {
    /// The app with these settings, or with what is wrong with them: then it answers nothing but that.
    #[must_use]
    pub const fn new(settings: Result<Settings, String>) -> Self {
        Self {
            settings,
            layout: OnceCell::new(),
        }
    }

    /// Answers a request over this key-value store.
    pub async fn answer<K: Kv>(
        &self,
        request: &Request<RequestBody>,
        kv: K,
        invocation: Invocation,
    ) -> Reply {
        let store = StoreAccess { app: self, kv };
        let mut reply = match self.route(request, store, invocation).await {
            Ok(reply) => reply,
            Err(problem) => problem.reply(),
        };
        reply
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if *request.method() == Method::HEAD {
            *reply.body_mut() = ReplyBody::default();
        }
        reply
    }

    async fn route<K: Kv>(
        &self,
        request: &Request<RequestBody>,
        store: StoreAccess<'_, K>,
        invocation: Invocation,
    ) -> Result<Reply, Problem> {
        let path = request.uri().path();
        if path == operators::HEALTH_PATH {
            return read_only(request.method()).map(|()| operators::health());
        }
        let settings = self
            .settings
            .as_ref()
            .map_err(|error| Problem::Misconfigured(error.clone()))?;
        if path == operators::TICK_PATH {
            operators::authorize(settings, request.headers())?;
            only(request.method(), &Method::POST, "POST")?;
            return operators::tick(settings, store, invocation).await;
        }
        if path == tasks::PATH {
            only(request.method(), &Method::POST, "POST")?;
            return tasks::submit(settings, store, request, invocation).await;
        }
        if let Some(id) = path
            .strip_prefix(tasks::PATH)
            .and_then(|rest| rest.strip_prefix('/'))
        {
            read_only(request.method())?;
            return tasks::show(settings, store, request, id, invocation).await;
        }
        Err(Problem::NotFound("no route has this path"))
    }
}

fn read_only(method: &Method) -> Result<(), Problem> {
    match *method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Problem::MethodNotAllowed("GET, HEAD")),
    }
}

fn only(method: &Method, known: &Method, allow: &'static str) -> Result<(), Problem> {
    if method == known {
        Ok(())
    } else {
        Err(Problem::MethodNotAllowed(allow))
    }
}

/// The way to the store, for those requests that go there.
pub(super) struct StoreAccess<'a, K> {
    app: &'a App,
    kv: K,
}

impl<K: Kv> StoreAccess<'_, K> {
    /// Opens the store. An instance reads its layout once.
    pub(super) async fn open(
        self,
        settings: &Settings,
        entropy: &mut Entropy,
    ) -> Result<Store<K>, StoreError> {
        if let Some(layout) = self.app.layout.get() {
            return Ok(Store::with_layout(self.kv, *layout));
        }
        let store = Store::open(self.kv, settings.bucket_bits, entropy).await?;
        // Another request of this instance may have been faster; it found the same.
        let _ = self.app.layout.set(store.layout());
        Ok(store)
    }
}
