//! Answers, as a real provider would give them, and how they reach the client.

use crate::behaviour::Behaviour;
use crate::charge::{Charge, digest};
use http::header::{
    CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderValue, LINK, LOCATION, RETRY_AFTER, SET_COOKIE, TE,
    TRAILER, WWW_AUTHENTICATE,
};
use http::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;
use std::time::{Duration, SystemTime};

/// An answer, and what happens to it on its way.
#[derive(Debug)]
pub struct Answer {
    /// The answer, whole.
    pub response: Response<Vec<u8>>,
    /// How it is delivered.
    pub delivery: Delivery,
}

/// How an answer reaches the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// At once.
    Whole,
    /// After a wait.
    Late,
    /// The connection breaks when half of the body is sent.
    CutOff,
}

/// How long a late answer takes, in milliseconds.
pub const LATE_MS: u64 = 10_000;
/// How much is added to a large answer, in bytes.
const PADDING_BYTES: usize = 3_000_000;
/// How far ahead the date of a `Retry-After` is, in milliseconds, and its next whole second at that.
const DATE_AHEAD_MS: u64 = 2_000;

/// The body of an answer that shows a charge.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    charge: &'a Charge,
    /// Why it is declined.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    padding: Option<String>,
}

/// The answer to a call of this number for a charge, at this time, in milliseconds since the Unix epoch.
pub fn charged(charge: &Charge, call: u64, now_ms: u64) -> Answer {
    let behaviour = charge.request.behaviour();
    if call <= behaviour.failures() {
        return refused(behaviour, now_ms);
    }
    let mut body = Body {
        charge,
        code: None,
        padding: None,
    };
    let mut delivery = Delivery::Whole;
    let mut status = StatusCode::CREATED;
    match behaviour {
        Behaviour::Declined => {
            status = StatusCode::PAYMENT_REQUIRED;
            body.code = Some("card_declined");
        }
        Behaviour::Slow if call == 1 => delivery = Delivery::Late,
        Behaviour::CutOff if call == 1 => delivery = Delivery::CutOff,
        Behaviour::Large => body.padding = Some("x".repeat(PADDING_BYTES)),
        Behaviour::Approved
        | Behaviour::UnavailableTwice
        | Behaviour::UnavailableForSeconds
        | Behaviour::UnavailableUntilDate
        | Behaviour::RateLimited
        | Behaviour::Slow
        | Behaviour::CutOff
        | Behaviour::PrivateHeaders => {}
    }
    let mut answer = json_answer(status, &body);
    answer.delivery = delivery;
    add_headers(&mut answer, charge, behaviour);
    answer
}

/// The headers by which a charge is found again and cached; and those that are for one client or one hop.
fn add_headers(answer: &mut Answer, charge: &Charge, behaviour: Behaviour) {
    let value = |text: String| HeaderValue::from_str(&text).expect("hexadecimal is a header value");
    let headers = answer.response.headers_mut();
    let tag = digest(&[&charge.id, charge.status]);
    headers.insert(ETAG, value(format!("\"{tag}\"")));
    let link = "</payment-sandbox/>; rel=\"help\"";
    headers.insert(LINK, HeaderValue::from_static(link));
    if behaviour != Behaviour::Declined {
        headers.insert(
            LOCATION,
            value(format!("/payment-sandbox/charges/{}", charge.id)),
        );
    }
    if behaviour == Behaviour::PrivateHeaders {
        let cookie = "session=of-one-client; HttpOnly";
        headers.insert(SET_COOKIE, HeaderValue::from_static(cookie));
        let challenge = "Bearer realm=\"payments\"";
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        // No host lets a component set `Connection`, `Keep-Alive`, `Transfer-Encoding`, `Upgrade` or `Proxy-…`, so
        // these two stand for all headers of one hop.
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(TRAILER, HeaderValue::from_static("expires"));
    }
}

/// The answer to a call that fails before any effect.
fn refused(behaviour: Behaviour, now_ms: u64) -> Answer {
    let unavailable = || {
        error(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "come back later",
        )
    };
    let (mut answer, retry_after) = match behaviour {
        Behaviour::UnavailableForSeconds => (unavailable(), Some("2".to_owned())),
        Behaviour::UnavailableUntilDate => (unavailable(), Some(http_date(now_ms))),
        Behaviour::RateLimited => (
            error(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limited",
                "one call too many",
            ),
            Some("1".to_owned()),
        ),
        Behaviour::UnavailableTwice
        | Behaviour::Approved
        | Behaviour::Declined
        | Behaviour::Slow
        | Behaviour::CutOff
        | Behaviour::Large
        | Behaviour::PrivateHeaders => (unavailable(), None),
    };
    if let Some(text) = retry_after {
        let value = HeaderValue::from_str(&text).expect("a number or a date is a header value");
        answer.response.headers_mut().insert(RETRY_AFTER, value);
    }
    answer
}

/// The first whole second that is far enough ahead.
fn http_date(now_ms: u64) -> String {
    let second = now_ms.saturating_add(DATE_AHEAD_MS).div_ceil(1_000);
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(second))
}

/// An error as providers report it.
pub fn error(status: StatusCode, code: &str, message: &str) -> Answer {
    let body = json!({ "error": { "code": code, "message": message } });
    json_answer(status, &body)
}

/// An answer with a JSON body.
pub fn json_answer(status: StatusCode, body: &impl Serialize) -> Answer {
    let bytes = serde_json::to_vec(body).expect("our own answers have a JSON form");
    answer(status, HeaderValue::from_static("application/json"), bytes)
}

/// An answer that people read.
pub fn text_answer(text: String) -> Answer {
    let media_type = HeaderValue::from_static("text/plain; charset=utf-8");
    answer(StatusCode::OK, media_type, text.into_bytes())
}

fn answer(status: StatusCode, media_type: HeaderValue, body: Vec<u8>) -> Answer {
    let length = HeaderValue::from(body.len());
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response.headers_mut().insert(CONTENT_LENGTH, length);
    Answer {
        response,
        delivery: Delivery::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_two_to_three_seconds_ahead() {
        // 2026-01-01T00:00:00Z
        let midnight = 1_767_225_600_000;
        assert_eq!(http_date(midnight), "Thu, 01 Jan 2026 00:00:02 GMT");
        assert_eq!(http_date(midnight + 1), "Thu, 01 Jan 2026 00:00:03 GMT");
        assert_eq!(http_date(midnight + 999), "Thu, 01 Jan 2026 00:00:03 GMT");
    }
}
