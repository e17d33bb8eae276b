//! Paths: each has one spelling here, and none leads to where it does not seem to.

use super::setting::Expected::{Closed, Forwarded, Host, Problem, Told};
use super::setting::{Setting, TOKEN};
use reprise_e2e::raw::RawRequest;

const NOWHERE: super::setting::Expected = Problem(404, "not-found");

fn put(target: &str) -> RawRequest {
    RawRequest::new("PUT", target).body("a")
}

fn get(target: &str) -> RawRequest {
    RawRequest::new("GET", target)
}

#[test]
fn a_forwarded_path_stays_below_what_is_configured() {
    let segments = [
        ("..", false),
        (".", false),
        ("", false),
        ("%2e%2e", false),
        (".%2E", false),
        ("..%2f..%2fadmin", false),
        ("..%5cadmin", false),
        ("..;", false),
        ("..;a=b", false),
        ("..%3b", false),
        ("..%00", false),
        ("..%00.html", false),
        ("%2e%2e%20", false),
        ("..%09", false),
        ("..%0a", false),
        ("..%23", false),
        ("..%3fa", false),
        ("a%2f..%00%2fb", false),
        ("a%2fb", true),
        ("a;b", true),
        ("...", true),
        ("..a", true),
        ("a..", true),
        ("%252e%252e", false),
        ("%25252e.", false),
        ("%252541", true),
        ("%00", true),
        ("%0d%0aInjected:%201", true),
        ("%ff%c0%af", true),
        ("%zz", true),
        ("%", true),
        ("@127.0.0.1:1", true),
        ("http:", true),
    ];
    let paths: Vec<(String, _)> = segments
        .map(|(segment, is_value)| {
            let expected = if is_value { Forwarded } else { NOWHERE };
            (format!("/items/{segment}/parts"), expected)
        })
        .into();
    let table: Vec<_> = paths
        .iter()
        .map(|(path, expected)| (path.as_str(), put(path), *expected))
        .collect();
    let setting = Setting::start();
    setting.hold(&table);
    let targets: Vec<String> = setting
        .wire
        .connections()
        .iter()
        .map(|bytes| {
            String::from_utf8_lossy(bytes)
                .split(' ')
                .nth(1)
                .expect("a target")
                .to_owned()
        })
        .collect();
    let expected: Vec<String> = segments
        .iter()
        .filter(|(_, is_value)| *is_value)
        .map(|(segment, _)| format!("/v1/{segment}/parts"))
        .collect();
    assert_eq!(targets, expected, "they are passed on as they came");
}

#[test]
fn a_target_is_a_path_of_this_service() {
    let odd = Problem(400, "invalid-head");
    let raw = |target: &[u8]| {
        let first = [b"PUT ", target, b" HTTP/1.1"].concat();
        RawRequest { first, ..put("/") }
    };
    Setting::start().hold(&[
        ("a slash before", put("//items/1/parts"), NOWHERE),
        ("a slash behind", put("/items/1/parts/"), NOWHERE),
        ("dots before", put("/./items/1/parts"), NOWHERE),
        ("dots over", put("/x/../items/1/parts"), NOWHERE),
        (
            "an escape in a fixed part",
            put("/%69tems/1/parts"),
            NOWHERE,
        ),
        ("another case", put("/Items/1/parts"), NOWHERE),
        (
            "a fragment is no part",
            put("/items/1/parts#/-/metrics"),
            Forwarded,
        ),
        (
            "an odd query",
            put("/items/1/parts?a=%00&b=%zz&&=;"),
            Forwarded,
        ),
        (
            "a query with an address",
            put("/items/1/parts?url=http://127.0.0.1:1/"),
            Forwarded,
        ),
        (
            "absolute",
            put("http://reprise.example/items/1/parts"),
            Forwarded,
        ),
        (
            "absolute, another scheme",
            put("https://reprise.example/items/1/parts"),
            Forwarded,
        ),
        (
            "absolute, another host",
            put("http://127.0.0.1:1/items/1/parts"),
            Closed,
        ),
        (
            "absolute, with a user",
            put("http://a:b@reprise.example/items/1/parts"),
            Closed,
        ),
        (
            "a network path",
            put("//127.0.0.1:1/items/1/parts"),
            NOWHERE,
        ),
        ("no slash", put("items/1/parts"), Host(400)),
        ("a star", put("*"), NOWHERE),
        ("UTF-8 as it is", put("/items/ключ/parts"), odd),
        (
            "bytes that are no UTF-8",
            raw(b"/items/\xff/parts"),
            Host(400),
        ),
        ("a NUL", raw(b"/items/\0/parts"), Host(400)),
        ("a space", raw(b"/items/a b/parts"), Host(400)),
        ("a quote", put("/items/\"/parts"), Forwarded),
    ]);
}

#[test]
fn no_spelling_of_an_operators_route_goes_without_the_token() {
    let closed = Problem(401, "unauthorized");
    let routes = [
        "tick",
        "metrics",
        "operations",
        "keys",
        "dead-letters",
        "sinks",
    ];
    let spellings = [
        "/-/{}",
        "/-/{}?",
        "/-/{}?token=x",
        "/-/{}#x",
        "/-/{}/",
        "/-/{};x",
        "/-/{}%00",
        "/-/{}/..",
        "//-/{}",
        "/-//{}",
        "/./-/{}",
        "/x/../-/{}",
        "/%2d/{}",
        "/-%2f{}",
        "/-/./{}",
        "/-/healthz/../{}",
        "/-/healthz;/../{}",
        "/-/openapi.yaml/../{}",
        "/-/console/../{}",
        "/-/console/..%2f{}",
        "/-/console/%2e%2e/{}",
        "/orders/../-/{}",
        "/inbox/../-/{}",
        "/.well-known/spin/../../-/{}",
        "/items/..%2f-%2f{}/parts",
    ];
    let setting = Setting::start();
    for route in routes {
        for spelling in spellings {
            let path = spelling.replace("{}", route);
            for request in [
                get(&path),
                RawRequest::new("POST", &path).body(""),
                get(&path).line("Authorization: Bearer "),
                get(&path).line(format!("Authorization: Bearer {TOKEN}x")),
                get(&path).line(format!("Authorization: Basic {TOKEN}")),
                get(&path).line(format!("X-Original-URL: {path}")),
            ] {
                let answers = request.send(setting.host.address());
                let [answer] = &answers[..] else {
                    panic!("{path}: {answers:?}")
                };
                assert!(
                    matches!(answer.status, 401 | 404 | 405),
                    "{path}: {answer:?}"
                );
            }
        }
        setting.hold(&[(route, get(&format!("/-/{route}")), closed)]);
    }
}

#[test]
fn the_console_shows_its_files_and_no_others() {
    let files = [
        "/-/console",
        "/-/console/console.js",
        "/-/console/console.css",
    ];
    let others = [
        "/-/console/",
        "/-/console/index.html",
        "/-/console/..",
        "/-/console/../reprise.toml",
        "/-/console/../../reprise.toml",
        "/-/console/..%2f..%2freprise.toml",
        "/-/console/%2e%2e/reprise.toml",
        "/-/console/..%5creprise.toml",
        "/-/console//reprise.toml",
        "/-/console/./console.js",
        "/-/console//console.js",
        "/-/console/console.js%00",
        "/-/console/console.js;x",
        "/-/console/console.js/",
        "/-/console/Console.js",
        "/-/console/console%2ejs",
        "/-/console/file:%2f%2f%2freprise.toml",
    ];
    let setting = Setting::start();
    let table: Vec<_> = files
        .iter()
        .map(|path| (*path, get(path), Told(200)))
        .collect();
    setting.hold(&table);
    let table: Vec<_> = others
        .iter()
        .map(|path| (*path, get(path), NOWHERE))
        .collect();
    setting.hold(&table);
}

#[test]
fn a_record_has_one_name_and_nothing_below_it() {
    let setting = Setting::start();
    let order = setting
        .client
        .post("/orders", Some("k"), r#"{"product_id":1,"quantity":1}"#);
    let location = order.header("location").expect("a record").to_owned();
    let id = location.strip_prefix("/orders/").expect("an id").to_owned();
    assert_eq!(setting.client.get(&location).status, 200);
    let bare = id.replace('-', "");
    for path in [
        format!("{location}/"),
        format!("{location}%00"),
        format!("{location};x"),
        format!("/orders/{{{id}}}"),
        format!("/orders/urn:uuid:{id}"),
        format!("/orders/{bare}"),
        format!("/orders/%30{}", &id[1..]),
        format!("/orders//{id}"),
        format!("/orders/../orders/{id}"),
        format!("/-/console/../orders/{id}"),
    ] {
        let answer = setting.client.get(&path);
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (404, "not-found"),
            "{path}"
        );
    }
}
