//! The component: Spin's trigger, clock and store, each touched in one place.

use crate::answer::{Answer, Delivery, LATE_MS, error};
use crate::app::{self, BODY_BYTES_MAX};
use crate::ledger::{Store, StoreError};
use bindings::wasi::keyvalue::{atomics, store};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::once;
use http::StatusCode;
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited, StreamBody};
use spin_sdk::http::{IntoResponse, Request};
use spin_sdk::http_service;
use spin_sdk::time::sleep;
use spin_sdk::wasip3::clocks::system_clock;
use spin_sdk::wasip3::http::types::{ErrorCode, Response};
use std::time::Duration;

/// The bindings that `wit/` asks for beyond those of the SDK.
mod bindings {
    #![allow(
        clippy::all,
        clippy::pedantic,
        reason = "the code is generated; which lints it meets depends on the generator"
    )]
    wit_bindgen::generate!({
        path: "../../wit",
        world: "bindings",
        generate_all,
    });
}

/// The label of the store in the manifest.
const STORE: &str = "default";
/// How long the first half of an answer has to leave before the connection is cut.
const HALF_SENT: Duration = Duration::from_millis(100);

#[http_service]
async fn handle(request: Request) -> Result<Response, ErrorCode> {
    let answer = answer(request).await;
    let (head, body) = answer.response.into_parts();
    let body = Bytes::from(body);
    let body = match answer.delivery {
        Delivery::Whole => Either::Left(Full::new(body)),
        Delivery::Late => {
            sleep(Duration::from_millis(LATE_MS)).await;
            Either::Left(Full::new(body))
        }
        Delivery::CutOff => {
            let half = body.slice(..body.len() / 2);
            let half = once(async { Ok(http_body::Frame::data(half)) });
            let cut = once(async {
                sleep(HALF_SENT).await;
                Err(ErrorCode::ConnectionTerminated)
            });
            Either::Right(StreamBody::new(Box::pin(half.chain(cut))))
        }
    };
    let response = http::Response::from_parts(head, body).into_response()?;
    // A body that has begun leaves together with its head; see the product's shell.
    sleep(Duration::from_micros(1)).await;
    Ok(response)
}

async fn answer(request: Request) -> Answer {
    let (head, body) = request.into_parts();
    let body = match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => body.to_bytes().to_vec(),
        Err(failure) if failure.is::<LengthLimitError>() => {
            let message = "a charge takes fewer bytes";
            return error(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message);
        }
        Err(_) => return error(StatusCode::BAD_REQUEST, "broken_body", "the body broke off"),
    };
    match store::open(STORE) {
        Ok(store) => app::answer(
            &http::Request::from_parts(head, body),
            &SpinStore(store),
            now_ms(),
        ),
        Err(failure) => app::unavailable(&store_error(failure)),
    }
}

fn now_ms() -> u64 {
    let now = system_clock::now();
    let seconds = u64::try_from(now.seconds).unwrap_or_default();
    seconds
        .saturating_mul(1_000)
        .saturating_add(u64::from(now.nanoseconds / 1_000_000))
}

/// Spin's key-value store by `wasi:keyvalue`, whose calls block the instance: that is good enough here.
struct SpinStore(store::Bucket);

fn store_error(failure: store::Error) -> StoreError {
    StoreError(match failure {
        store::Error::NoSuchStore => format!("the store \"{STORE}\" is not set up"),
        store::Error::AccessDenied => format!("the manifest does not grant the store \"{STORE}\""),
        store::Error::Other(message) => message,
    })
}

impl Store for SpinStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.get(key).map_err(store_error)
    }

    fn increment(&self, key: &str, delta: i64) -> Result<i64, StoreError> {
        atomics::increment(&self.0, key, delta).map_err(store_error)
    }

    fn swap(&self, key: &str, old: &[u8], new: &[u8]) -> Result<(), StoreError> {
        let cas = atomics::Cas::new(&self.0, key).map_err(store_error)?;
        // The store compares with what this handle read, so it must have read what the caller did.
        if cas.current().map_err(store_error)?.as_deref() != Some(old) {
            return Ok(());
        }
        match atomics::swap(cas, new) {
            // Redis says this also when it has written.
            Ok(()) | Err(atomics::CasError::CasFailed(_)) => Ok(()),
            Err(atomics::CasError::StoreError(failure)) => Err(store_error(failure)),
        }
    }

    fn keys(&self) -> Result<Vec<String>, StoreError> {
        // Spin answers everything in one page.
        Ok(self.0.list_keys(None).map_err(store_error)?.keys)
    }
}
