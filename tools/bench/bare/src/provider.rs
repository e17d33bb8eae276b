//! The call of the payment sandbox, with the headers that Reprise sends.

use crate::Failure;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};

const URL: &str = "http://payment-sandbox.spin.internal/payment-sandbox/charges";

/// Charges once: the key is the pointer's.
pub(crate) async fn charge(pointer: u64, body: Bytes) -> Result<(), Failure> {
    let request = Request::post(URL)
        .header("content-type", "application/json")
        .header(
            "idempotency-key",
            format!("reprise-00000000-0000-7000-{pointer:017x}"),
        )
        .header(
            "traceparent",
            format!("00-0000000000000000{pointer:016x}-{pointer:016x}-00"),
        )
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    let response = spin_sdk::http::send(request)
        .await
        .map_err(|error| error.to_string())?;
    let status = response.status();
    let body = response.into_body().collect().await;
    body.map_err(|error| error.to_string())?;
    if status == http::StatusCode::CREATED {
        Ok(())
    } else {
        Err(format!("the provider answered {status}"))
    }
}
