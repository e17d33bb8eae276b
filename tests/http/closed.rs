//! The operators' routes are closed: each one that the interface's description has, by each of its methods.
//!
//! Without the token, and with any other, each answers the same and looks at nothing, so that neither the answer nor its
//! time says whether what is asked for is there. Where no token is set there is no such route.

use crate::support::{REFERENCE, Seen, Service, Upstream, answered};
use std::collections::BTreeSet;
use std::rc::Rc;
use yaml_rust2::YamlLoader;

const OPENAPI: &str = include_str!("../../openapi.yaml");
const METHODS: [&str; 5] = ["get", "head", "post", "delete", "options"];
const OPEN: [&str; 2] = ["/-/healthz", "/-/openapi.yaml"];
/// The page and its files hold no data: they are there for everybody, as long as there are operators.
const PAGE: [&str; 2] = ["/-/console", "/-/console/{file}"];
const NOBODY_S: &str = "01a228f7-24e1-74a5-be33-c70543c6305d";

/// The operators' routes, each a method and a path, as the description has them.
fn routes() -> Vec<(String, String)> {
    let document = YamlLoader::load_from_str(OPENAPI).expect("the document is YAML");
    let paths = document[0]["paths"].as_hash().expect("paths");
    let mut routes = Vec::new();
    for (path, item) in paths {
        let path = path.as_str().expect("a path");
        for method in METHODS {
            let operation = &item[method];
            if operation.is_badvalue() {
                continue;
            }
            let security = operation["security"].as_vec();
            let is_closed =
                security.is_some_and(|all| all.iter().any(|one| !one["operator"].is_badvalue()));
            let is_open = OPEN.contains(&path) || PAGE.contains(&path);
            let is_operators = path.starts_with("/-/") && !is_open;
            assert_eq!(
                is_closed, is_operators,
                "{method} {path} says whether it needs the token"
            );
            if is_closed {
                routes.push((method.to_uppercase(), path.to_owned()));
            }
        }
    }
    routes
}

fn service(token: &str) -> Rc<Service> {
    let config = REFERENCE.replace("{{ admin_token }}", token);
    Service::new(
        &config,
        Upstream::answering(Ok(answered(201, &[], b"charged"))),
    )
}

/// What says nothing of the body, which HEAD and OPTIONS do not have.
fn told(mut seen: Seen, method: &str) -> (u16, Option<String>, Vec<u8>) {
    let authenticate = seen.header("www-authenticate").map(str::to_owned);
    if method == "HEAD" {
        seen.body.clear();
    }
    (seen.status, authenticate, seen.body)
}

#[test]
fn each_route_of_the_description_is_closed_to_whoever_has_not_the_token() {
    let service = service("operators-secret");
    let order = r#"{"product_id":42,"quantity":1}"#;
    let order = service.post("/orders", "k", order);
    let there = order.header("operation-location").expect("a record");
    let there = there.rsplit('/').next().expect("an id");
    // A wrong token, a part of it, more than it, another scheme, none, nothing, and two.
    let wrong: [&[(&str, &str)]; 9] = [
        &[],
        &[("authorization", "")],
        &[("authorization", "Bearer ")],
        &[("authorization", "Bearer wrong")],
        &[("authorization", "Bearer operators-secre")],
        &[("authorization", "Bearer operators-secret-")],
        &[("authorization", "Basic operators-secret")],
        &[("authorization", "operators-secret")],
        &[
            ("authorization", "Bearer operators-secret"),
            ("authorization", "Bearer operators-secret"),
        ],
    ];
    let mut answers = BTreeSet::new();
    let routes = routes();
    assert!(routes.len() > 25, "{} routes", routes.len());
    for (method, path) in &routes {
        for id in [there, NOBODY_S, "7"] {
            let target = path.replace("{id}", id).replace("{seq}", "0");
            for query in ["", "?limit=0", "?operation=orders&key=k"] {
                for headers in wrong {
                    // Whoever looks at the store first is found out.
                    service.fail(0, false);
                    let seen = service.send(method, &format!("{target}{query}"), headers, b"");
                    let (status, authenticate, body) = told(seen, method);
                    assert_eq!(
                        (status, authenticate.as_deref()),
                        (401, Some("Bearer")),
                        "{method} {target} {headers:?}"
                    );
                    answers.insert((method == "HEAD", body));
                    assert!(service.heal(), "{method} {target} looked at the store");
                }
            }
        }
    }
    assert_eq!(answers.len(), 2, "one body for all, and none for HEAD");
}

#[test]
fn without_a_token_there_is_no_such_route() {
    let service = service("");
    let nothing = |method: &str| told(service.send(method, "/nothing", &[], b""), method);
    let page = PAGE.map(|path| path.replace("{file}", "console.js"));
    let page = page.into_iter().map(|path| ("GET".to_owned(), path));
    for (method, path) in routes().into_iter().chain(page) {
        let target = path.replace("{id}", NOBODY_S).replace("{seq}", "0");
        for headers in [
            &[][..],
            &[("authorization", "Bearer ")],
            &[("authorization", "Bearer x")],
        ] {
            let seen = told(service.send(&method, &target, headers, b""), &method);
            assert_eq!(seen, nothing(&method), "{method} {target}");
        }
    }
    assert_eq!(nothing("GET").0, 404);
}
