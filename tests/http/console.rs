//! The operators' page: which files there are, and what a browser is told about them.

use crate::support::{Seen, reference};

/// What a browser may do for the page. None of it comes from elsewhere, and none of it was written by a client.
const POLICY: [&str; 10] = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
];

fn assert_is_file(seen: &Seen, media_type: &str, name: &str) {
    assert_eq!(seen.status, 200, "{seen:?}");
    assert_eq!(seen.body, format!("the file /console/{name}").as_bytes());
    let policy = seen.header("content-security-policy").expect("a policy");
    assert!(policy.split("; ").eq(POLICY), "{policy}");
    for (header, value) in [
        ("content-type", media_type),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(seen.header(header), Some(value), "{name}: {header}");
    }
}

#[test]
fn the_page_and_its_files_are_there_without_a_token_and_told_what_they_may_do() {
    let service = reference();
    for (path, media_type, name) in [
        ("/-/console", "text/html; charset=utf-8", "index.html"),
        (
            "/-/console/console.js",
            "text/javascript; charset=utf-8",
            "console.js",
        ),
        (
            "/-/console/console.css",
            "text/css; charset=utf-8",
            "console.css",
        ),
        ("/-/console/icon.svg", "image/svg+xml", "icon.svg"),
    ] {
        assert_is_file(&service.get(path), media_type, name);
    }
}

#[test]
fn nothing_else_is_below_the_page() {
    let service = reference();
    for path in [
        "/-/console/",
        "/-/console/index.html",
        "/-/console/other.js",
        "/-/console/Console.js",
        "/-/console/../reprise.toml",
        "/-/console/%2e%2e/reprise.toml",
        "/-/console//console.js",
        "/-/console/console.js/",
        "/-/consoles",
    ] {
        let seen = service.get(path);
        assert_eq!(
            (seen.status, seen.problem().as_deref()),
            (404, Some("not-found")),
            "{path}"
        );
    }
    let posted = service.send("POST", "/-/console", &[], b"");
    assert_eq!(posted.header("allow"), Some("GET, HEAD, OPTIONS"));
}
