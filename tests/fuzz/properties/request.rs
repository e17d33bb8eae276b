//! Requests: the input is one as HTTP/1.1 writes it, a line with method and target, header lines, an empty line and the
//! body. It is sent twice to a service that was in use.

use std::cell::RefCell;

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use reprise::config::HeaderList;

use super::service::{Data, LEDGER, Service, TOKEN, in_use, with_config};
use crate::app::Seen;

thread_local! {
    static PREPARED: RefCell<Option<Data>> = const { RefCell::new(None) };
}

/// Statuses that say that a request was refused for what it is.
const REFUSED: [u16; 7] = [400, 401, 404, 405, 413, 415, 422];
/// What everybody may ask for below `/-/`.
const OPEN_PATHS: [&str; 2] = ["/-/healthz", "/-/openapi.yaml"];

pub(super) fn check(data: &[u8]) {
    let Some((head, body)) = request(data) else {
        return;
    };
    let prepared = PREPARED.with_borrow_mut(|data| data.get_or_insert_with(in_use).clone());
    let service = Service::over(prepared.clone());
    let first = service.answer(&head, &body);
    let calls = service.calls();
    for call in &calls {
        forwarded(&head, &body, call);
    }
    if REFUSED.contains(&first.status) {
        assert!(calls.is_empty(), "a refused request calls nobody");
        assert_eq!(
            service.data(),
            prepared,
            "a refused request changes nothing: {first:?}"
        );
    }
    private(&head, &first);
    let again = service.answer(&head, &body);
    let is_keyed = head.headers.contains_key("idempotency-key");
    if is_keyed && is_submission(&head) && (200..300).contains(&first.status) {
        assert_eq!(service.calls().len(), calls.len(), "a repeat calls nobody");
        assert!(matches!(again.status, 200..=299 | 409), "{again:?}");
        if first.status == 201 && again.headers.contains_key("idempotent-replayed") {
            assert_eq!(again.body, first.body);
        }
    }
}

/// The request that an input is, if it is one.
fn request(data: &[u8]) -> Option<(Parts, Vec<u8>)> {
    let (line, mut rest) = next_line(data)?;
    let space = line.iter().position(|byte| *byte == b' ')?;
    let method = Method::from_bytes(&line[..space]).ok()?;
    let uri = Uri::try_from(&line[space + 1..]).ok()?;
    let mut request = Request::builder().method(method).uri(uri);
    loop {
        let Some((line, behind)) = next_line(rest) else {
            rest = b"";
            break;
        };
        rest = behind;
        if line.is_empty() {
            break;
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        request = request.header(name, value);
    }
    let (head, ()) = request.body(()).ok()?.into_parts();
    Some((head, rest.to_vec()))
}

fn next_line(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = data.iter().position(|byte| *byte == b'\n')?;
    let line = data[..end].strip_suffix(b"\r").unwrap_or(&data[..end]);
    Some((line, &data[end + 1..]))
}

fn is_submission(head: &Parts) -> bool {
    with_config(|config| {
        let mut operations = config.operations.iter();
        operations.any(|one| one.method == head.method && one.route.find(head.uri.path()).is_some())
    })
}

/// Nobody but operators sees what is theirs, and no tenant what is another one's.
fn private(head: &Parts, seen: &Seen) {
    let path = head.uri.path();
    let is_open = OPEN_PATHS.contains(&path) || path.starts_with("/-/console");
    let authorization = head.headers.get("authorization").map(HeaderValue::as_bytes);
    let is_operators = authorization.is_some_and(|line| line.ends_with(TOKEN.as_bytes()));
    if path.starts_with("/-/") && !is_open && !is_operators {
        assert!(matches!(seen.status, 401 | 404 | 405), "{seen:?}");
    }
    // All that is there already belongs to who names no tenant.
    let is_read = matches!(head.method, Method::GET | Method::HEAD | Method::DELETE);
    let is_named = authorization.is_some_and(|line| !line.is_empty());
    let is_record = ["/tasks/", "/orders/", "/charge/"]
        .iter()
        .any(|start| path.starts_with(start));
    if is_read && is_record && is_named {
        assert_ne!(seen.status, 200, "{seen:?}");
    }
}

/// A call of an upstream is one of ours: below its prefix whoever resolves the path how often, with no header that
/// was not listed, and with the client's body.
fn forwarded(head: &Parts, body: &[u8], call: &Request<Vec<u8>>) {
    let target = call.uri().to_string();
    let is_event = target.starts_with("http://events.example/inbox");
    if is_event {
        return;
    }
    let (start, prefix) = if head.uri.path() == "/charge" {
        ("http://payments.example/", "/payment-sandbox/charges")
    } else {
        (LEDGER, "/v1/base/")
    };
    assert!(target.starts_with(start), "{target}");
    below(prefix, call.uri().path());
    assert_eq!(call.uri().query(), head.uri.query());
    assert_eq!(call.method(), head.method);
    assert_eq!(call.body(), body);
    let lengths: Vec<_> = call.headers().get_all("content-length").iter().collect();
    assert_eq!(lengths, [&*body.len().to_string()]);
    let ours = [
        "idempotency-key",
        "traceparent",
        "tracestate",
        "content-length",
        "authorization",
    ];
    let ours = HeaderList::new(ours.map(HeaderName::from_static));
    let listed = with_config(|config| config.operations[2].forward_headers.clone());
    for (name, value) in call.headers() {
        assert!(ours.has(name) || listed.has(name), "{name} is not listed");
        let is_clients = head.headers.get_all(name).iter().any(|line| line == value);
        assert!(is_clients || ours.has(name), "{name}: {value:?}");
    }
    let authorization = call
        .headers()
        .get("authorization")
        .map(HeaderValue::as_bytes);
    assert_ne!(
        authorization,
        head.headers
            .get("authorization")
            .map(HeaderValue::as_bytes)
            .or(Some(b""))
    );
    let trace = call.headers()["traceparent"]
        .to_str()
        .expect("visible ASCII");
    assert_eq!(trace.len(), 55, "{trace}");
}

/// However often a path is decoded before its dots are resolved, by whichever separators, it stays below its prefix.
fn below(prefix: &str, path: &str) {
    assert!(path.starts_with(prefix), "{path}");
    let mut text = path.as_bytes().to_vec();
    for _ in 0..4 {
        let segments = text.split(|byte| matches!(byte, b'/' | b'\\'));
        for segment in segments {
            let name = segment
                .split(|byte| *byte == b';')
                .next()
                .unwrap_or_default();
            assert!(
                name != b"." && name != b"..",
                "{path} is resolved elsewhere"
            );
        }
        text = decoded(&text);
    }
}

/// One round of percent-decoding.
fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        let digits = behind
            .first_chunk::<2>()
            .and_then(|digits| str::from_utf8(digits).ok());
        let escaped = digits
            .filter(|digits| {
                *first == b'%' && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
            })
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}
