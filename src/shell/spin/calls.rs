//! Calls of other services: Spin's outgoing HTTP behind the shell's trait, each call in its time and within its bytes.
//!
//! Nothing here decides whether a call is made again; it says only what is known of how one ended.

use super::wire::{self, Collected};
use super::{now, pass_over};
use crate::shell::outgoing::{Answered, AnsweredBody, CallError, CallLimits, Called, Outgoing};
use futures::future::{Either, select};
use spin_sdk::time::sleep;
use spin_sdk::wasip3::http::types::ErrorCode;
use spin_sdk::wasip3::wit_bindgen::spawn;
use std::pin::pin;
use std::time::Duration;

/// Calls other services by Spin's outgoing HTTP, which follows no redirect and repeats nothing.
pub(super) struct SpinOutgoing;

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
    let broken_off = |error| CallError::BrokenOff(in_words(&error));
    let bytes = match body.collect(bytes_max).await.map_err(broken_off)? {
        Collected::Whole(bytes) => bytes,
        Collected::Announced(bytes, ending) => {
            ending.check().await.map_err(broken_off)?;
            bytes
        }
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
