//! The twin's routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use reprise::handler::analyze::analyze;
use reprise::machine::Timestamp;
use reprise::webhook::rfc_3339;
use reprise_e2e::now;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::charge::Provider;
use super::table::{Answer, Operation, Table};

#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) table: Arc<Table>,
    pub(crate) provider: Provider,
}

/// A refusal: the status and what is wrong.
type Refusal = (StatusCode, String);

pub(crate) fn router(service: Service) -> Router {
    Router::new()
        .route("/orders", post(order))
        .route("/orders/{id}", get(show))
        .route("/tasks", post(task))
        .route("/charge", post(charge))
        .route("/health", get(|| async {}))
        .with_state(service)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    product_id: u64,
    quantity: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    text: String,
}

async fn order(
    State(service): State<Service>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let key = key(&headers)?;
    let Order {
        product_id,
        quantity,
    } = parsed(&headers, &body)?;
    if !(1..1 << 53).contains(&product_id) || !(1..=1_000).contains(&quantity) {
        return Err(bad("a product and a quantity from 1 to 1000"));
    }
    let mut new = new("orders", Some(key), format!("{product_id} {quantity}"));
    let created_at = rfc_3339(Timestamp::from_unix_ms(new.created_at_ms));
    let body = json!({
        "id": new.id, "product_id": product_id, "quantity": quantity, "created_at": created_at,
    });
    new.answer = Some(Answer {
        status: 201,
        location: Some(format!("/orders/{}", new.id)),
        body: body.to_string(),
    });
    submitted(&service, &new)
}

async fn task(
    State(service): State<Service>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let key = key(&headers).ok();
    let Task { text } = parsed(&headers, &body)?;
    let mut new = new("tasks", key, text.clone());
    let analysis = analyze(&text).map_err(|_| bad("a text with something in it"))?;
    let mut record = shown(&new);
    let analysis = serde_json::to_value(analysis).map_err(failed)?;
    if let (Value::Object(record), Value::Object(analysis)) = (&mut record, analysis) {
        record.extend(analysis);
    }
    new.answer = Some(Answer {
        status: 201,
        location: Some(format!("/tasks/{}", new.id)),
        body: record.to_string(),
    });
    submitted(&service, &new)
}

async fn charge(
    State(service): State<Service>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let key = key(&headers)?;
    let value: Value = parsed(&headers, &body)?;
    let new = new("charge", Some(key), value.to_string());
    if let Some(known) = service.table.submit(&new).map_err(failed)? {
        return repeated(&new, &known);
    }
    let answer = service.provider.charge(new.id, body).await;
    let answer = answer.map_err(|error| (StatusCode::BAD_GATEWAY, error.to_string()))?;
    service.table.finish(new.id, &answer).map_err(failed)?;
    Ok(answered(&new, answer, false))
}

async fn show(State(service): State<Service>, Path(id): Path<Uuid>) -> Result<Response, Refusal> {
    let found = service.table.find("orders", id).map_err(failed)?;
    let found = found.ok_or((StatusCode::NOT_FOUND, "no record has this id".to_owned()))?;
    let mut record = shown(&found);
    if let Some(answer) = &found.answer {
        record["result"] = serde_json::from_str(&answer.body).map_err(failed)?;
    }
    let json = [("content-type", "application/json")];
    Ok((StatusCode::OK, json, record.to_string()).into_response())
}

/// Stores an operation that is done, or answers as the one was that has its key.
fn submitted(service: &Service, new: &Operation) -> Result<Response, Refusal> {
    match service.table.submit(new).map_err(failed)? {
        Some(known) => repeated(new, &known),
        None => {
            let answer = new.answer.clone();
            let answer =
                answer.ok_or_else(|| failed("an operation that is done has its answer"))?;
            Ok(answered(new, answer, false))
        }
    }
}

fn repeated(new: &Operation, known: &Operation) -> Result<Response, Refusal> {
    if known.request != new.request {
        let why = "the key was first used with other content";
        return Err((StatusCode::CONFLICT, why.to_owned()));
    }
    match known.answer.clone() {
        Some(answer) => Ok(answered(known, answer, true)),
        None => Err((
            StatusCode::CONFLICT,
            "the operation is in progress".to_owned(),
        )),
    }
}

fn answered(operation: &Operation, answer: Answer, is_replayed: bool) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let at = format!("/{}/{}", operation.kind, operation.id);
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("location", answer.location.unwrap_or_else(|| at.clone())),
        ("operation-location", at),
    ];
    let mut response = (status, headers, answer.body).into_response();
    if is_replayed {
        let mark = HeaderValue::from_static("true");
        response.headers_mut().insert("idempotent-replayed", mark);
    }
    response
}

fn new(kind: &'static str, key: Option<String>, request: String) -> Operation {
    Operation {
        id: Uuid::now_v7(),
        kind,
        key,
        request,
        created_at_ms: now().as_unix_ms(),
        answer: None,
    }
}

fn shown(operation: &Operation) -> Value {
    json!({
        "id": operation.id,
        "operation": operation.kind,
        "status": "done",
        "attempts": 1,
        "created_at": rfc_3339(Timestamp::from_unix_ms(operation.created_at_ms)),
    })
}

/// The key: 1 to 255 visible characters, in quotes or not.
fn key(headers: &HeaderMap) -> Result<String, Refusal> {
    let mut lines = headers.get_all("idempotency-key").iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err(bad("one Idempotency-Key"));
    };
    let line = line
        .to_str()
        .map_err(|_| bad("a key of visible characters"))?;
    let quoted = line
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let key = quoted.unwrap_or(line);
    let is_sound =
        (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    is_sound
        .then(|| key.to_owned())
        .ok_or_else(|| bad("a key of 1 to 255 visible characters"))
}

fn parsed<T: for<'a> Deserialize<'a>>(headers: &HeaderMap, body: &[u8]) -> Result<T, Refusal> {
    let media_type = headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    if media_type.and_then(|value| value.split(';').next()) != Some("application/json") {
        let why = "the body must be JSON".to_owned();
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    serde_json::from_slice(body).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))
}

fn bad(wanted: &str) -> Refusal {
    (StatusCode::BAD_REQUEST, format!("wanted: {wanted}"))
}

fn failed(error: impl std::fmt::Display) -> Refusal {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}
