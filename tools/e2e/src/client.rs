//! A client: requests as a person would type them, answers as values.

use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use ureq::Agent;
use ureq::http::{HeaderMap, Request};

/// Longer than any answer takes, the store's own waits included.
const TIMEOUT: Duration = Duration::from_mins(2);

/// A client with kept-alive connections of its own.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    /// Each `HOST:PORT`.
    addresses: Vec<String>,
    /// Whose turn it is, shared with those who ask the same.
    turn: Arc<AtomicUsize>,
}

/// What a client was answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The header lines.
    pub headers: HeaderMap,
    /// The body.
    pub body: String,
}

impl Answer {
    /// Everything that a repeat has to give again: status, body and headers, but for those of the moment.
    #[must_use]
    pub fn lasting(&self) -> (u16, Vec<(String, String)>, String) {
        let of_the_moment = ["date", "idempotent-replayed", "connection"];
        let mut headers: Vec<_> = self
            .headers
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .filter(|(name, _)| !of_the_moment.contains(&name.as_str()))
            .collect();
        headers.sort();
        (self.status, headers, self.body.clone())
    }

    /// The type of the problem document in the body, without its common start.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn problem(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        let document = self.json();
        assert_eq!(document["status"], self.status, "{self:?}");
        let kind = document["type"]
            .as_str()
            .and_then(|kind| kind.strip_prefix("urn:reprise:problem:"));
        kind.unwrap_or_else(|| panic!("no problem: {self:?}"))
            .to_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The `id` of the task in the body.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn id(&self) -> String {
        self.json()["id"]
            .as_str()
            .unwrap_or_else(|| panic!("no id: {self:?}"))
            .to_owned()
    }

    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether this is the reply to an earlier request.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}

impl Client {
    /// A client of what serves at `HOST:PORT`.
    #[must_use]
    pub fn new(address: &str) -> Self {
        Self::in_turn(vec![address.to_owned()], Arc::default())
    }

    /// A client of what serves at these addresses, each `HOST:PORT`, which it asks in turn, together with all others that
    /// count their requests here.
    pub(crate) fn in_turn(addresses: Vec<String>, turn: Arc<AtomicUsize>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .allow_non_standard_methods(true)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build();
        Self {
            agent: config.into(),
            addresses,
            turn,
        }
    }

    /// Whom the next request goes to.
    fn next_address(&self) -> &str {
        let turn = self.turn.fetch_add(1, Relaxed);
        &self.addresses[turn % self.addresses.len()]
    }

    /// Sends a request. An error says that no answer came.
    ///
    /// # Panics
    /// When the request is none.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, ureq::Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.next_address()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body).expect("the test sends a sound request");
        let mut response = self.agent.run(request)?;
        Ok(Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.body_mut().read_to_string()?,
        })
    }

    /// `GET`
    ///
    /// # Panics
    /// When no answer comes.
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
            .unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// `POST` with a JSON body, and with a key or without. An error says that no answer came.
    pub fn try_post(
        &self,
        path: &str,
        key: Option<&str>,
        body: &str,
    ) -> Result<Answer, ureq::Error> {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(key.map(|key| ("idempotency-key", key)));
        self.send("POST", path, &headers, body.as_bytes())
    }

    /// `POST` with a JSON body, answered.
    ///
    /// # Panics
    /// When no answer comes.
    #[must_use]
    pub fn post(&self, path: &str, key: Option<&str>, body: &str) -> Answer {
        self.try_post(path, key, body)
            .unwrap_or_else(|error| panic!("POST {path}: {error}"))
    }

    /// Sends a POST without reading the answer. Dropping the connection loses the answer, as a network does.
    ///
    /// # Panics
    /// When the host does not listen.
    #[must_use]
    pub fn post_unheard(&self, path: &str, key: &str, body: &str) -> TcpStream {
        let address = self.next_address();
        let mut stream = TcpStream::connect(address).expect("the host listens");
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Idempotency-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream
            .write_all(request.as_bytes())
            .expect("the request is sent");
        stream
    }

    /// `POST /tasks` with this text, and with a key or without.
    pub fn try_task(&self, text: &str, key: Option<&str>) -> Result<Answer, ureq::Error> {
        let body = serde_json::json!({ "text": text }).to_string();
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(key.map(|key| ("idempotency-key", key)));
        self.send("POST", "/tasks", &headers, body.as_bytes())
    }

    /// `POST /tasks` by a client that is so slow that its body comes this much later than its head. Gives the answer as
    /// it comes, head and body.
    ///
    /// # Panics
    /// When no answer comes.
    #[must_use]
    pub fn slow_task(&self, body: &str, delay: Duration) -> String {
        let address = self.next_address();
        let mut stream = TcpStream::connect(address).expect("the host listens");
        let head = format!(
            "POST /tasks HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("the head is sent");
        std::thread::sleep(delay);
        stream.write_all(body.as_bytes()).expect("the body is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer comes");
        answer
    }

    /// `POST /tasks`, answered.
    ///
    /// # Panics
    /// When no answer comes.
    #[must_use]
    pub fn task(&self, text: &str, key: Option<&str>) -> Answer {
        self.try_task(text, key)
            .unwrap_or_else(|error| panic!("POST /tasks: {error}"))
    }
}
