//! What operators ask: the input is what comes behind `/-/`, with another method than GET in front of it, if there is
//! one. It is asked of a service that was in use, and where the answer is a page all pages behind it are asked for.

use std::cell::RefCell;
use std::collections::BTreeSet;

use http::{Method, Request, Uri};
use serde_json::Value;

use super::service::{Data, Service, TOKEN, in_use};

/// Pages of one pass at most: there are fewer records than that, and four buckets.
const PAGES_MAX: usize = 40;
const METHODS: [&str; 5] = ["POST ", "DELETE ", "OPTIONS ", "HEAD ", "PUT "];

thread_local! {
    static PREPARED: RefCell<Option<Prepared>> = const { RefCell::new(None) };
}

/// A store that was in use, and all operations in it, as operators see them.
#[derive(Clone)]
struct Prepared {
    data: Data,
    operations: Vec<Value>,
}

fn prepare() -> Prepared {
    let data = in_use();
    let service = Service::over(data.clone());
    let list = service.operator("GET", "/-/operations?limit=200").json();
    assert!(list["next"].is_null(), "{list}");
    let operations = list["operations"].as_array().expect("a list").clone();
    Prepared { data, operations }
}

pub(super) fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let method = METHODS.into_iter().find(|method| text.starts_with(method));
    let target = format!("/-/{}", &text[method.map_or(0, str::len)..]);
    let Ok(uri) = target.parse::<Uri>() else {
        return;
    };
    let method = method.map_or("GET", str::trim_end);
    let prepared = PREPARED.with_borrow_mut(|one| one.get_or_insert_with(prepare).clone());
    let service = Service::over(prepared.data.clone());
    let request = Request::builder().method(method).uri(&uri);
    let request = request.header("authorization", format!("Bearer {TOKEN}"));
    let Ok(request) = request.body(()) else {
        return;
    };
    let (head, ()) = request.into_parts();
    let seen = service.answer(&head, b"");
    assert!(
        matches!(seen.status, 200 | 204 | 400 | 401 | 404 | 405 | 409 | 422),
        "{seen:?}"
    );
    let is_safe = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS);
    if seen.status >= 400 {
        assert_eq!(
            service.data(),
            prepared.data,
            "what is refused changes nothing: {seen:?}"
        );
    }
    if is_safe && seen.status == 200 && method == "GET" {
        match uri.path() {
            "/-/operations" => operations(&service, &uri, &prepared.operations),
            "/-/dead-letters" => dead_letters(&service, &uri),
            _ => {}
        }
    }
}

/// Every operation that is meant is on one page, once; no page is larger than was asked for.
fn operations(service: &Service, uri: &Uri, all: &[Value]) {
    let mut ids = BTreeSet::new();
    let limit = parameter(uri, "limit").map_or(50, |limit| limit.parse().expect("a number"));
    let mut target = uri.to_string();
    for _ in 0..PAGES_MAX {
        let page = service.operator("GET", &target);
        assert_eq!(page.status, 200, "{target}");
        let page = page.json();
        let operations = page["operations"].as_array().expect("a list");
        assert!(operations.len() <= limit, "{target}");
        for operation in operations {
            let id = operation["id"].as_str().expect("an id");
            assert!(ids.insert(id.to_owned()), "{id} comes twice: {target}");
        }
        match page["next"].as_str() {
            Some(next) => next.clone_into(&mut target),
            None => return complete(uri, &ids, all),
        }
    }
    panic!("there is no end to {uri}");
}

/// Holds a whole pass against all operations, where the query says in plain words which are meant.
fn complete(uri: &Uri, ids: &BTreeSet<String>, all: &[Value]) {
    let query = uri.query().unwrap_or_default();
    let mut pairs = query.split('&').filter(|pair| !pair.is_empty());
    let is_plain = pairs.all(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        ["operation", "state", "limit"].contains(&name) && !pair.contains(['%', '+'])
    });
    if !is_plain {
        return;
    }
    let is_meant = |operation: &&Value| {
        let is = |name: &str| {
            parameter(uri, name).is_none_or(|wanted| operation[name].as_str() == Some(wanted))
        };
        is("operation") && is("state")
    };
    let expected: BTreeSet<String> = all
        .iter()
        .filter(is_meant)
        .map(|operation| operation["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(ids, &expected, "{uri}");
}

fn parameter<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let mut pairs = uri.query().unwrap_or_default().split('&');
    pairs.find_map(|pair| match pair.split_once('=') {
        Some((other, value)) => (other == name).then_some(value),
        None => (pair == name).then_some(""),
    })
}

fn dead_letters(service: &Service, uri: &Uri) {
    let mut seen = BTreeSet::new();
    let mut target = uri.to_string();
    for _ in 0..PAGES_MAX {
        let page = service.operator("GET", &target);
        assert_eq!(page.status, 200, "{target}");
        let page = page.json();
        for letter in page["dead_letters"].as_array().expect("a list") {
            assert!(
                seen.insert(letter["event_id"].to_string()),
                "{letter} comes twice"
            );
        }
        match page["next"].as_str() {
            Some(next) => target = format!("/-/dead-letters?from={next}"),
            None => return,
        }
    }
    panic!("there is no end to {uri}");
}
