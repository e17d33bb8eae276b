//! The floor of the benchmark: what Reprise asks of the key-value store for a request, asked by nobody in particular.
//!
//! A request's path says what it stands for, so nothing is parsed, hashed, checked or remembered here:
//!
//! | Request | Stands for | Calls |
//! |---|---|---|
//! | `POST /replay/{bucket}/{pointer}` | a repeat | the word, then the chain down to the node |
//! | `GET /record/{pointer}` | a look at a record | the node |
//! | `POST /create/{pointer}/{bytes}` | a new order or task | the chain, the node set, the word swapped |
//! | `POST /charge/{pointer}/{bytes}/{bytes}` | a charge | a creation, the call of the provider, the node swapped |
//!
//! The calls are those of `src/driver/store`, in their order and by the same interfaces, on a store of the same keys and
//! values: word, link and node are where they are there. The answer is treated as in `src/shell/spin.rs` too, since
//! without that the floor would be 40 ms higher than it has to be. A body is read, for what stays unread can cost the
//! connection. The benchmark counts the calls of both components and compares them.

#![cfg(target_family = "wasm")]

/// The bindings that `wit/` asks for beyond those of the SDK.
mod bindings {
    #![allow(
        clippy::all,
        clippy::pedantic,
        reason = "the code is generated; which lints it meets depends on the generator"
    )]
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "bindings",
        generate_all,
    });
}
mod chain;
mod provider;
mod record;
mod store;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt as _, Full};
use spin_sdk::http::{IntoResponse, Request};
use spin_sdk::http_service;
use spin_sdk::wasip3::http::types::{ErrorCode, Response};
use spin_sdk::wasip3::wit_bindgen::yield_async;
use store::Store;

/// As long as what Reprise answers for an order.
const ANSWER: &str = r#"{"id":"01a228fd-9eab-7e3b-be3c-658f07420793","product_id":42,"quantity":1,"created_at":"2026-11-29T20:27:19.595Z"}"#;

/// What went wrong; the benchmark ends with it.
type Failure = String;

#[http_service]
async fn handle(request: Request) -> Result<Response, ErrorCode> {
    let (head, body) = request.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let (status, answer) = match serve(head.uri.path(), body).await {
        Ok(status) => (status, Bytes::from_static(ANSWER.as_bytes())),
        Err(failure) => (StatusCode::INTERNAL_SERVER_ERROR, Bytes::from(failure)),
    };
    let response = http::Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Full::new(answer));
    let response = response
        .map_err(|_| ErrorCode::HttpProtocolError)?
        .into_response()?;
    // See `leave` in the product's shell.
    for _ in 0..3 {
        yield_async().await;
    }
    Ok(response)
}

async fn serve(path: &str, body: Bytes) -> Result<StatusCode, Failure> {
    let store = Store::open().await?;
    store.layout().await?;
    let mut parts = path.split('/').skip(1);
    let mut part = || parts.next().unwrap_or_default();
    match part() {
        "replay" => {
            let (bucket, pointer) = (hexadecimal(part())?, hexadecimal(part())?);
            chain::find(&store, bucket, pointer).await?;
            Ok(StatusCode::CREATED)
        }
        "record" => {
            record::read(&store, hexadecimal(part())?).await?;
            Ok(StatusCode::OK)
        }
        "create" => {
            let (pointer, bytes) = (hexadecimal(part())?, decimal(part())?);
            chain::create(&store, pointer, bytes).await?;
            Ok(StatusCode::CREATED)
        }
        "charge" => {
            let pointer = hexadecimal(part())?;
            let (claim, outcome) = (decimal(part())?, decimal(part())?);
            chain::create(&store, pointer, claim).await?;
            provider::charge(pointer, body).await?;
            record::update(&store, pointer, outcome)?;
            store.budget().await?;
            Ok(StatusCode::CREATED)
        }
        other => Err(format!("{other:?} stands for nothing")),
    }
}

fn hexadecimal(text: &str) -> Result<u64, Failure> {
    u64::from_str_radix(text, 16).map_err(|_| format!("{text:?} is no number in base 16"))
}

fn decimal(text: &str) -> Result<usize, Failure> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}
