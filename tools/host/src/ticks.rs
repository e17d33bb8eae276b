//! Ticks: calls of the application's own `POST /-/tick` at a pace, so that its work goes on when nobody asks.
//!
//! A tick is a request like any other, but that it comes over no connection. One has ended before the next begins. What
//! a tick does is the application's affair: all that is known here is its path, that the operators' token opens it, and
//! that `come_back_ms` is 0 in its answer while there is work left.
//!
//! A tick that fails is told once on stderr, and not again until it fails in another way or has succeeded.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use wasmtime_wasi_http::WasiBody;

use crate::server::{Host, INTERNAL_CLIENT};
use crate::variables::Variables;

/// The application variable that holds the operators' token.
const TOKEN_VARIABLE: &str = "admin_token";

/// What is called.
const TICK_PATH: &str = "/-/tick";

/// The pause before the next tick while there is work left, so that an application which never says otherwise still
/// leaves time for requests.
const PAUSE: Duration = Duration::from_millis(10);

/// When a tick counts as hung: longer than any lease that an application can configure (15 minutes).
const LONGEST: Duration = Duration::from_mins(20);

/// The pace, and what opens the door.
#[derive(Debug)]
pub struct Ticks {
    every: Duration,
    authorization: HeaderValue,
    host: HeaderValue,
}

impl Ticks {
    /// Ticks of an application with these variables, at this address. Fails when it has no operators' token: there is
    /// nothing to call then.
    pub fn new(every: Duration, variables: &Variables, address: SocketAddr) -> Result<Self> {
        ensure!(
            !every.is_zero(),
            "the time between two ticks must not be zero"
        );
        let token = match variables.value(TOKEN_VARIABLE) {
            None => bail!("the manifest declares no variable {TOKEN_VARIABLE:?} to tick with"),
            Some("") => bail!(
                "the variable {TOKEN_VARIABLE} is empty: set SPIN_VARIABLE_ADMIN_TOKEN, or --variable \
                 {TOKEN_VARIABLE}=VALUE"
            ),
            Some(token) => token,
        };
        let mut authorization = HeaderValue::try_from(format!("Bearer {token}"))
            .with_context(|| format!("the variable {TOKEN_VARIABLE} does not fit into a header"))?;
        authorization.set_sensitive(true);
        Ok(Self {
            every,
            authorization,
            host: HeaderValue::try_from(address.to_string())?,
        })
    }

    /// Ticks without end. The first tick comes at once: whatever a host that died has left is due now.
    pub async fn run(self, host: Arc<Host>) -> Infallible {
        let mut pace = interval(self.every);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut trouble = Trouble::default();
        loop {
            pace.tick().await;
            loop {
                let outcome = self.tick(&host).await;
                if let Some(line) = trouble.note(&outcome) {
                    eprintln!("{line}");
                }
                if !matches!(outcome, Ok(Left::Work)) {
                    break;
                }
                sleep(PAUSE).await;
            }
        }
    }

    async fn tick(&self, host: &Host) -> Result<Left> {
        let ticking = async {
            let (head, body) = host
                .answer(self.request()?, INTERNAL_CLIENT)
                .await?
                .into_parts();
            let body = body.collect().await?.to_bytes();
            read(head.status, &body)
        };
        let outcome = timeout(LONGEST, ticking).await;
        outcome.unwrap_or_else(|_| bail!("no answer within {LONGEST:?}"))
    }

    fn request(&self) -> Result<Request<WasiBody>> {
        let body = Full::new(Bytes::new())
            .map_err(|never| match never {})
            .boxed_unsync();
        let request = Request::post(TICK_PATH)
            .header(HOST, &self.host)
            .header(AUTHORIZATION, &self.authorization);
        Ok(request.body(body)?)
    }
}

/// What a tick has left to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Nothing that is due now.
    Nothing,
    /// More than one tick may do.
    Work,
}

/// Reads the answer to a tick.
fn read(status: StatusCode, body: &[u8]) -> Result<Left> {
    let document: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    if status != StatusCode::OK {
        match document["detail"].as_str() {
            Some(detail) => bail!("{status}: {detail}"),
            None => bail!("{status}"),
        }
    }
    match document["come_back_ms"].as_u64() {
        Some(0) => Ok(Left::Work),
        Some(_) => Ok(Left::Nothing),
        None => bail!("the answer has no come_back_ms"),
    }
}

/// Why the last tick failed, if it did.
#[derive(Debug, Default)]
struct Trouble(Option<String>);

impl Trouble {
    /// Takes a tick's outcome, and gives the line that tells of it where it is news.
    fn note(&mut self, outcome: &Result<Left>) -> Option<String> {
        let now = outcome.as_ref().err().map(|error| format!("{error:#}"));
        if now == self.0 {
            return None;
        }
        self.0 = now;
        Some(match &self.0 {
            Some(problem) => format!("tick: {problem}"),
            None => "tick: works again".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_whether_work_is_left() {
        for (status, body, expected) in [
            (200, r#"{"come_back_ms":0}"#, Ok(Left::Work)),
            (200, r#"{"due":0,"come_back_ms":12}"#, Ok(Left::Nothing)),
            (200, "{}", Err("the answer has no come_back_ms")),
            (200, "hello", Err("the answer has no come_back_ms")),
            (404, "", Err("404 Not Found")),
            (
                500,
                r#"{"come_back_ms":0}"#,
                Err("500 Internal Server Error"),
            ),
            (
                503,
                r#"{"detail":"the store is away"}"#,
                Err("503 Service Unavailable: the store is away"),
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let left = read(status, body.as_bytes()).map_err(|error| error.to_string());
            assert_eq!(left, expected.map_err(str::to_owned), "{status} {body}");
        }
    }

    #[test]
    fn trouble_is_told_when_it_begins_changes_and_ends() {
        let mut trouble = Trouble::default();
        let failed = |why: &'static str| Err(anyhow::anyhow!(why));
        for (outcome, line) in [
            (Ok(Left::Nothing), None),
            (failed("a"), Some("tick: a")),
            (failed("a"), None),
            (failed("b"), Some("tick: b")),
            (Ok(Left::Work), Some("tick: works again")),
            (Ok(Left::Nothing), None),
            (failed("b"), Some("tick: b")),
        ] {
            assert_eq!(trouble.note(&outcome).as_deref(), line, "{outcome:?}");
        }
    }
}
