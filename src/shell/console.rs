//! The console, for operators: a page that shows what the operations API tells, and asks it to act.
//!
//! The manifest mounts its files, so they take no room in the component. They hold no data and no token: whoever opens the
//! page enters the token, and the page sends it with each call. So the page itself needs none, but like the other routes
//! of operators it does not exist where none is set.
//!
//! Names and details of errors come from outside. Three things keep them from being taken for markup: the page's scripts
//! put text into text nodes and attributes alone; [`POLICY`] lets a browser run nothing but those scripts; and where a
//! browser knows Trusted Types, it refuses every way of making markup of a text.

use super::admission::{Asked, read_only};
use super::problem::Problem;
use super::reply::{self, Reply};
use crate::config::Config;
use http::header::{
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;

/// Where the manifest mounts the files.
const MOUNTED: &str = "/console";

/// The path of the page; its files are below.
pub(super) const CONSOLE_PATH: &str = "/-/console";

/// The page itself.
const PAGE: File = File {
    name: "index.html",
    media_type: "text/html; charset=utf-8",
};

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// What the page loads.
pub(super) const FILES: [File; 13] = [
    file("api.js", SCRIPT),
    file("console.css", STYLE),
    file("console.js", SCRIPT),
    file("dom.js", SCRIPT),
    file("icon.svg", "image/svg+xml"),
    file("letters.js", SCRIPT),
    file("notes.js", SCRIPT),
    file("operation.js", SCRIPT),
    file("operations.js", SCRIPT),
    file("poll.js", SCRIPT),
    file("sinks.js", SCRIPT),
    file("story.js", SCRIPT),
    file("timeline.js", SCRIPT),
];

/// What a browser may do for the page: load from here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// One file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) media_type: &'static str,
}

const fn file(name: &'static str, media_type: &'static str) -> File {
    File { name, media_type }
}

/// Settles what is asked at [`CONSOLE_PATH`] and below.
pub(super) fn ask<'a>(config: &Config, rest: &str, head: &Parts) -> Result<Asked<'a>, Problem> {
    let file = match rest.strip_prefix('/') {
        None => Some(PAGE).filter(|_| rest.is_empty()),
        Some(name) => FILES.into_iter().find(|file| file.name == name),
    };
    let file = file.filter(|_| config.admin_token.is_some());
    let file = file.ok_or(Problem::NotFound("no route has this path"))?;
    read_only(head, || Ok(Asked::Console(file)))
}

/// `GET /-/console` and its files.
pub(super) fn show(file: File, read: fn(&str) -> Result<String, String>) -> Result<Reply, Problem> {
    let path = format!("{MOUNTED}/{}", file.name);
    let text = read(&path).map_err(Problem::Misconfigured)?;
    let mut reply = reply::text(file.media_type, text);
    let headers: [(HeaderName, &'static str); 3] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in headers {
        reply
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/shell/console");

    #[test]
    fn every_file_of_the_folder_is_served_and_nothing_else_is() {
        let entries = std::fs::read_dir(FOLDER).expect("the page is here");
        let there: BTreeSet<String> = entries
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.into_string().expect("a name in UTF-8"))
            .collect();
        let served = FILES.iter().chain([&PAGE]);
        assert_eq!(there, served.map(|file| file.name.to_owned()).collect());
    }

    #[test]
    fn the_page_makes_no_markup_of_text_and_names_no_other_place() {
        for file in FILES.iter().chain([&PAGE]) {
            let path = format!("{FOLDER}/{}", file.name);
            let text = std::fs::read_to_string(path).expect("a file of the page");
            // The one address is the name of SVG, which is not loaded.
            let text = text.replace("http://www.w3.org/2000/svg", "");
            for never in [
                "innerHTML",
                "outerHTML",
                "insertAdjacent",
                "document.write",
                "DOMParser",
                "eval(",
                "Function(",
                "localStorage",
                "sessionStorage",
                "cookie",
                "http:",
                "https:",
                "style=",
                "onclick=",
            ] {
                assert!(!text.contains(never), "{}: {never}", file.name);
            }
        }
    }
}
