//! From a request to its answer, over any store and at a given time.

use crate::answer::{Answer, charged, error, json_answer, text_answer};
use crate::behaviour;
use crate::charge::{Charge, ChargeRequest};
use crate::key;
use crate::ledger::{self, Call, Store, StoreError};
use http::header::{ALLOW, HeaderValue, RETRY_AFTER};
use http::{Method, Request, StatusCode};

/// The longest body, in bytes.
pub const BODY_BYTES_MAX: usize = 65_536;

/// Answers a request. `now_ms` is the time in milliseconds since the Unix epoch.
pub fn answer(request: &Request<Vec<u8>>, store: &impl Store, now_ms: u64) -> Answer {
    let path = request.uri().path().trim_end_matches('/');
    let is_charges = path.ends_with("/charges");
    let answered = match (request.method(), is_charges) {
        (&Method::POST, true) => charge(request, store, now_ms),
        (&Method::GET, true) => count(request, store),
        (_, true) => Ok(method_not_allowed("GET, POST")),
        (&Method::GET, false) if path == "/payment-sandbox" => Ok(page()),
        (_, false) if path == "/payment-sandbox" => Ok(method_not_allowed("GET")),
        (_, false) => Ok(error(
            StatusCode::NOT_FOUND,
            "not_found",
            "there is nothing here",
        )),
    };
    answered.unwrap_or_else(|failure| unavailable(&failure))
}

fn charge(
    request: &Request<Vec<u8>>,
    store: &impl Store,
    now_ms: u64,
) -> Result<Answer, StoreError> {
    let invalid = |code, message: &str| Ok(error(StatusCode::BAD_REQUEST, code, message));
    let key = match key::parse(request.headers()) {
        Ok(key) => key,
        Err(message) => return invalid("invalid_idempotency_key", message),
    };
    let wanted = match ChargeRequest::parse(request.body()) {
        Ok(wanted) => wanted,
        Err(message) => return invalid("invalid_body", &message),
    };
    match ledger::call(store, &wanted, key.as_deref())? {
        Call::Number(call) => {
            let charge = Charge::new(wanted, key.as_deref(), call);
            Ok(charged(&charge, call, now_ms))
        }
        Call::OtherRequest => Ok(error(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_key_reused",
            "the Idempotency-Key was first used with another amount, currency or reference",
        )),
    }
}

fn count(request: &Request<Vec<u8>>, store: &impl Store) -> Result<Answer, StoreError> {
    let query = request.uri().query().unwrap_or_default();
    let reference = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "reference");
    let Some((_, reference)) = reference else {
        let message = "say whose charges: ?reference=…";
        return Ok(error(StatusCode::BAD_REQUEST, "missing_reference", message));
    };
    let count = ledger::count(store, &reference)?;
    Ok(json_answer(StatusCode::OK, &count))
}

/// The page for people.
fn page() -> Answer {
    text_answer(format!(
        "A payment provider to practise on. The amount chooses what happens to a charge:\n\n{}\n\
         POST charges  {{\"amount\": 1999, \"currency\": \"EUR\", \"reference\": \"order-7\"}}, with an \
         Idempotency-Key or without\n\
         GET  charges?reference=order-7  how many charges were made and how many calls came\n\n\
         \"Twice\", \"once\" and \"then\" are per Idempotency-Key, and without one per reference. \
         A key charges once.\n",
        behaviour::table()
    ))
}

fn method_not_allowed(allowed: &'static str) -> Answer {
    let mut answer = error(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        allowed,
    );
    let allowed = HeaderValue::from_static(allowed);
    answer.response.headers_mut().insert(ALLOW, allowed);
    answer
}

/// Here, as with any provider, a failure of its own leaves the client in doubt until it sends the key again.
pub fn unavailable(failure: &StoreError) -> Answer {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let mut answer = error(status, "store_unavailable", &failure.0);
    let seconds = HeaderValue::from_static("1");
    answer.response.headers_mut().insert(RETRY_AFTER, seconds);
    answer
}
