//! A host with operations of each kind before an upstream that keeps every byte, and a table's one line of a request
//! and what is expected of it.

use reprise_e2e::raw::{RawAnswer, RawRequest};
use reprise_e2e::wire::{Wire, one_request};
use reprise_e2e::{Client, Host, Options, State};

pub(crate) const TOKEN: &str = "operators-token-of-a-test";

/// What the upstream answers, unless a test says otherwise.
pub(crate) const ANSWER: &[u8] =
    b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// What should come of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The host refuses it with this status and no word, before any component sees it.
    Host(u16),
    /// The host closes the connection without an answer, as Spin does.
    Closed,
    /// A problem document of this status and type.
    Problem(u16, &'static str),
    /// It is forwarded once, and what the upstream answers comes back.
    Forwarded,
    /// It makes one operation here, and is answered with this status.
    Taken(u16),
    /// It is answered with this status, and nothing comes of it.
    Told(u16),
}

/// A host and its upstream.
pub(crate) struct Setting {
    _state: State,
    pub(crate) host: Host,
    pub(crate) client: Client,
    pub(crate) wire: Wire,
}

/// The configuration of these tests, in front of an upstream.
pub(crate) fn options(upstream: &str) -> Options {
    let config = format!(
        r#"
[store]
bucket_bits = 3

[operators]
token = "{TOKEN}"

[upstreams.wire]
url = "{upstream}"
headers = {{ authorization = "Bearer upstream-secret-7c1" }}

[[operations]]
name = "parts"
route = "/items/{{item}}/parts"
method = "PUT"
handler = "forward"
upstream = "wire"
upstream_path = "/v1/{{item}}/parts"
key = "optional"
fingerprint = "raw"
forward_headers = ["content-type", "x-shop"]

[[operations]]
name = "pay"
route = "/pay"
handler = "forward"
upstream = "wire"

[[operations]]
name = "orders"
route = "/orders"
handler = "order"

[[operations]]
name = "tasks"
route = "/tasks"
handler = "analyze"
key = "optional"
"#
    );
    Options::default().config(&config)
}

impl Setting {
    pub(crate) fn start() -> Self {
        let wire = Wire::start(ANSWER);
        let state = State::new();
        let host = Host::start(&state, &options(&wire.url()));
        let client = host.client();
        Self {
            _state: state,
            host,
            client,
            wire,
        }
    }

    /// How many operations the store has.
    pub(crate) fn operations(&self) -> usize {
        let authorization = format!("Bearer {TOKEN}");
        let headers = [("authorization", authorization.as_str())];
        let mut path = Some("/-/operations?limit=200".to_owned());
        let mut count = 0;
        while let Some(page) = path {
            let answer = self.client.send("GET", &page, &headers, b"");
            let page = answer.expect("a page").json();
            count += page["operations"].as_array().expect("a list").len();
            path = page["next"].as_str().map(str::to_owned);
        }
        count
    }

    /// Sends each request of a table and holds the answers, the upstream's calls and the store against it.
    pub(crate) fn hold(&self, table: &[(&str, RawRequest, Expected)]) {
        let operations = self.operations();
        let calls = self.wire.connections().len();
        let mut forwarded = 0;
        let mut taken = 0;
        for (name, request, expected) in table {
            let answers = request.send(self.host.address());
            assert_is(name, &answers, *expected);
            match expected {
                Expected::Forwarded => forwarded += 1,
                Expected::Taken(_) => taken += 1,
                Expected::Host(_)
                | Expected::Closed
                | Expected::Problem(..)
                | Expected::Told(_) => {}
            }
            let seen = self.wire.connections().len() - calls;
            assert_eq!(seen, forwarded, "calls of the upstream: {name}");
            assert_eq!(self.client.get("/-/healthz").status, 200, "{name}");
        }
        let connections = self.wire.connections();
        assert_eq!(
            connections.len(),
            calls + forwarded,
            "calls of the upstream"
        );
        for bytes in &connections[calls..] {
            let text = String::from_utf8_lossy(bytes);
            let (lines, _) = one_request(bytes).unwrap_or_else(|error| panic!("{error}: {text:?}"));
            let host = format!("host: {}", self.wire.address());
            assert!(
                lines.iter().any(|line| line.to_ascii_lowercase() == host),
                "{text}"
            );
            for other in ["smuggled", "injected"] {
                assert!(!text.contains(other), "{text}");
            }
        }
        assert_eq!(
            self.operations(),
            operations + forwarded + taken,
            "operations in the store"
        );
        for line in self.host.log() {
            assert!(!line.contains("injected"), "{line}");
        }
    }
}

/// Whether these answers are what was expected: one, and nothing behind it.
fn assert_is(name: &str, answers: &[RawAnswer], expected: Expected) {
    let told = || format!("{name}: {answers:?}");
    let answer = match answers {
        [] => {
            assert_eq!(expected, Expected::Closed, "{}", told());
            return;
        }
        [answer] => answer,
        _ => panic!("several answers: {}", told()),
    };
    assert!(answer.header("injected").is_none(), "{}", told());
    match expected {
        Expected::Closed => panic!("it was answered: {}", told()),
        Expected::Host(status) => {
            assert_eq!(
                (answer.status, answer.body.len()),
                (status, 0),
                "{}",
                told()
            );
        }
        Expected::Problem(status, kind) => {
            let found = (answer.status, answer.problem());
            assert_eq!(found, (status, Some(kind.to_owned())), "{}", told());
        }
        Expected::Forwarded => {
            assert_eq!(
                (answer.status, &answer.body[..]),
                (201, &b"ok"[..]),
                "{}",
                told()
            );
        }
        Expected::Taken(status) | Expected::Told(status) => {
            assert_eq!(answer.status, status, "{}", told());
        }
    }
}

/// A request that would be forwarded, byte for byte, once it has a body.
pub(crate) fn put() -> RawRequest {
    RawRequest::new("PUT", "/items/1/parts")
}

/// A request with JSON for the upstream, once it has a key and a body.
pub(crate) fn pay() -> RawRequest {
    RawRequest::new("POST", "/pay").line("Content-Type: application/json")
}
