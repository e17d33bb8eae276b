//! The twin's call of the payment API.

use axum::body::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use uuid::Uuid;

use super::table::Answer;

/// The payment API.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    client: Client<HttpConnector, Full<Bytes>>,
    address: String,
}

impl Provider {
    pub(crate) fn new(address: String) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            address,
        }
    }

    /// Charges, under a key that is the operation's.
    pub(crate) async fn charge(&self, id: Uuid, body: Bytes) -> anyhow::Result<Answer> {
        let request =
            axum::http::Request::post(format!("http://{}/payment-sandbox/charges", self.address))
                .header("content-type", "application/json")
                .header("idempotency-key", format!("twin-{id}"))
                .body(Full::new(body))?;
        let response = self.client.request(request).await?;
        let (head, body) = response.into_parts();
        let location = head.headers.get("location").and_then(|at| at.to_str().ok());
        Ok(Answer {
            status: head.status.as_u16(),
            location: location.map(str::to_owned),
            body: String::from_utf8(body.collect().await?.to_bytes().to_vec())?,
        })
    }
}
