//! What a client of the demo sends, and how what is sent and comes back reads in short.

use std::net::TcpStream;
use std::time::Duration;

use crate::http::{self, Answer, Failure, Request};
use crate::json;

/// How long a client waits for an answer: longer than an attempt and its store may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// How much of a body is shown.
const SHOWN_CHARS: usize = 60;

/// How much of an id is shown: enough to tell two apart, and to see that two are the same.
const SHOWN_ID_CHARS: usize = 10;

/// A request that creates something, with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Post {
    path: &'static str,
    pub(crate) key: &'static str,
    body: String,
}

impl Post {
    /// A charge of so many cents.
    pub(crate) fn charge(key: &'static str, amount: u64, reference: &str) -> Self {
        let body = format!(r#"{{"amount":{amount},"currency":"EUR","reference":"{reference}"}}"#);
        let path = "/charge";
        Self { path, key, body }
    }

    /// An order of one piece.
    pub(crate) fn order(key: &'static str, product: u64) -> Self {
        let body = format!(r#"{{"product_id":{product},"quantity":1}}"#);
        let path = "/orders";
        Self { path, key, body }
    }

    /// Sends it, and waits for the answer.
    pub(crate) fn ask(&self, address: &str) -> Result<Answer, Failure> {
        http::receive(&self.send(address)?)
    }

    /// Sends it over a connection of its own, and leaves the answer there.
    pub(crate) fn send(&self, address: &str) -> Result<TcpStream, Failure> {
        let stream = http::connect(address, PATIENCE)?;
        let request = Request {
            method: "POST",
            path: self.path,
            headers: &[
                ("Content-Type", "application/json"),
                ("Idempotency-Key", self.key),
            ],
            body: &self.body,
        };
        http::send(&stream, address, &request)?;
        Ok(stream)
    }

    /// The request in a line.
    pub(crate) fn shown(&self) -> String {
        let Self { path, key, body } = self;
        format!("POST {path}  Idempotency-Key: {key}  {body}")
    }
}

/// Whether an answer is that of an earlier request.
pub(crate) fn is_replayed(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// An answer in a line: its status, the headers that tell something, and what its body is about.
pub(crate) fn shown(answer: &Answer) -> String {
    let mut words = vec![format!("{} {}", answer.status, answer.reason)];
    for name in ["Retry-After", "Idempotent-Replayed"] {
        if let Some(value) = answer.header(name) {
            words.push(format!("{name}: {value}"));
        }
    }
    words.push(gist(&answer.body));
    words.join("  ")
}

fn gist(body: &str) -> String {
    if let Some(problem) = json::text(body, "type") {
        return problem.to_owned();
    }
    if let (Some(id), Some(status)) = (json::text(body, "id"), json::text(body, "status")) {
        let id = cut(id, SHOWN_ID_CHARS);
        return match json::number(body, "amount") {
            Some(amount) => {
                format!(r#"{{"id":"{id}","amount":{amount},"status":"{status}",…}}"#)
            }
            None => format!(r#"{{"id":"{id}","status":"{status}",…}}"#),
        };
    }
    cut(body, SHOWN_CHARS)
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_line() {
        assert_eq!(
            Post::charge("k", 1_999, "order-1").shown(),
            r#"POST /charge  Idempotency-Key: k  {"amount":1999,"currency":"EUR","reference":"order-1"}"#
        );
        assert_eq!(
            Post::order("k", 42).shown(),
            r#"POST /orders  Idempotency-Key: k  {"product_id":42,"quantity":1}"#
        );
    }

    #[test]
    fn a_body_is_cut_to_what_it_is_about() {
        let long = "é".repeat(SHOWN_CHARS);
        for (body, expected) in [
            (
                r#"{"id":"ch_0123456789abcdef","amount":1999,"currency":"EUR","status":"approved"}"#,
                r#"{"id":"ch_0123456…","amount":1999,"status":"approved",…}"#,
            ),
            (
                r#"{"id":"01a2","operation":"charge","status":"waiting","attempts":1}"#,
                r#"{"id":"01a2","status":"waiting",…}"#,
            ),
            (
                r#"{"type":"urn:reprise:problem:idempotency-key-reused","title":"No","status":422}"#,
                "urn:reprise:problem:idempotency-key-reused",
            ),
            (&long, &long),
            (&format!("{long}!"), &format!("{long}…")),
            ("", ""),
        ] {
            assert_eq!(gist(body), expected);
        }
    }
}
