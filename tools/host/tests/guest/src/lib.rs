//! A component that does with the host's interfaces what a request asks for, so that the host's tests can be written
//! as requests and answers.
//!
//! `POST /kv` runs a script of key-value calls, see `script`; the other paths are in `handle`.

#![cfg(target_family = "wasm")]

mod bindings;
mod script;
mod spin_script;

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::once;
use http_body::Frame;
use http_body_util::StreamBody;
use serde_json::{Value, json};
use spin_sdk::http::body::IncomingBodyExt as _;
use spin_sdk::http::{HeaderValue, IntoResponse, Request, StatusCode, get};
use spin_sdk::http_service;
use spin_sdk::wasip3::clocks::monotonic_clock;
use spin_sdk::wasip3::http::types::{ErrorCode, Response};

/// How many requests this instance has had; shows which requests share an instance.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

#[http_service]
async fn entry(request: Request) -> Result<Response, ErrorCode> {
    if request.uri().path() == "/cut" {
        return cut(request.uri().query());
    }
    match handle(request).await {
        Ok(answer) => (StatusCode::OK, answer.to_string()).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error:#}")).into_response(),
    }
}

/// Answers with a body that breaks off after five bytes, and with a length if one is given.
fn cut(length: Option<&str>) -> Result<Response, ErrorCode> {
    let start = once(async { Ok(Frame::data(Bytes::from("12345"))) });
    let end = once(async { Err(ErrorCode::ConnectionTerminated) });
    let body = StreamBody::new(Box::pin(start.chain(end)));
    let mut response = spin_sdk::http::Response::new(body);
    if let Some(length) = length {
        let length = HeaderValue::from_str(length).map_err(|_| ErrorCode::HttpProtocolError)?;
        response.headers_mut().insert("content-length", length);
    }
    response.into_response()
}

async fn handle(request: Request) -> Result<Value> {
    let count = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    Ok(match path.as_str() {
        "/plain" => json!("plain"),
        // Which request of its instance this is.
        "/count" => json!(count),
        // Takes no more requests.
        "/close" => {
            wit_bindgen::backpressure_inc();
            json!(count)
        }
        "/wait" => {
            monotonic_clock::wait_for(query.parse::<u64>()? * 1_000_000).await;
            json!(count)
        }
        "/headers" => headers(&request)?,
        "/echo" => json!(String::from_utf8(
            request.into_body().bytes().await?.to_vec()
        )?),
        "/kv" => script::run(&request.into_body().bytes().await?)?,
        "/spin-kv" => spin_script::run(&request.into_body().bytes().await?).await?,
        "/file" => json!(std::fs::read_to_string(&query)?),
        "/write" => json!(std::fs::write(&query, "x").map_err(|error| error.kind().to_string())),
        "/environment" => json!(std::env::var(&query)?),
        "/variable" => match spin_sdk::variables::get(&query).await {
            Ok(value) => json!(value),
            Err(error) => bail!("{error:?}"),
        },
        "/print" => {
            println!("to stdout: {query}");
            eprintln!("to stderr: {query}");
            json!(null)
        }
        "/fetch" => fetch(&query, count).await?,
        "/-/tick" => tick(&request, count)?,
        "/panic" => panic!("asked to"),
        "/loop" => {
            eprintln!("looping");
            loop {
                std::hint::spin_loop();
            }
        }
        "/random" => json!(spin_sdk::wasip3::random::random::get_random_u64()),
        other => bail!("no such path: {other}"),
    })
}

/// All header lines as pairs.
fn headers(request: &Request) -> Result<Value> {
    let pairs = request
        .headers()
        .iter()
        .map(|(name, value)| Ok((name.as_str().to_owned(), value.to_str()?.to_owned())))
        .collect::<Result<Vec<_>>>()?;
    Ok(json!({ "uri": request.uri().to_string(), "headers": pairs }))
}

/// Prints what it was called with, and says until this instance's third request that work is left.
fn tick(request: &Request, count: u64) -> Result<Value> {
    let token = request.headers().get("authorization");
    let token = token.map_or(Ok("nobody"), HeaderValue::to_str)?;
    ensure!(token != "Bearer wrong", "the token is wrong");
    eprintln!("{} {} by {token}", request.method(), request.uri());
    Ok(json!({ "come_back_ms": if count < 3 { 0 } else { 1000 } }))
}

/// Gets an address and tells the status and body, or the error code that came in place of either, and which request of
/// the instance this was.
async fn fetch(address: &str, count: u64) -> Result<Value> {
    let response = match get(address).await {
        Ok(response) => response,
        Err(error) => return Ok(json!({ "error": format!("{error:?}") })),
    };
    let status = response.status().as_u16();
    Ok(match response.into_body().bytes().await {
        Ok(body) => {
            json!({ "count": count, "status": status, "body": String::from_utf8_lossy(&body) })
        }
        Err(error) => json!({ "count": count, "status": status, "error": format!("{error:?}") }),
    })
}
