//! Rules of the pure sources, the machine's and the webhooks': what they may name, and how long they may get.
//!
//! The check reads the sources as text without comments and literals. It looks at the first part of every path, in
//! `use` lines and elsewhere, so a forbidden thing cannot come in by its full name either.

use std::fs;
use std::path::Path;

/// Crates and their parts that the machine may name. A longer entry allows exactly that path.
const ALLOWED: &[&str] = &[
    "core",
    "std::sync::Arc",
    // The date parser's answer is relative to it; it is a constant, and no clock.
    "std::time::UNIX_EPOCH",
    "serde",
    "serde_json",
    "uuid",
    "httpdate",
    "base64ct",
    // The reader of the stored form: pure itself, but for a truth that JSON's numbers may have fractions.
    "reprise_json::cursor",
    // In the attributes that relax a lint, each with its reason.
    "clippy",
];

/// What the webhooks may name beyond that: headers, what signatures are made of, and the machine.
const ALLOWED_IN_WEBHOOKS: &[&str] = &[
    "std::borrow::Cow",
    "std::time::Duration",
    "http",
    "hmac",
    "sha2",
    "subtle",
    "humantime",
    "crate::machine",
    "crate::json::raw",
];

/// Of `core`, the parts that would let time, memory tricks or asynchronous code in.
const FORBIDDEN_IN_CORE: &[&str] = &[
    "core::future",
    "core::task",
    "core::pin",
    "core::time",
    "core::cell",
    "core::sync",
    "core::mem",
];

/// Words that have no place in pure code, whatever they belong to.
const FORBIDDEN_WORDS: &[&str] = &[
    "async",
    "await",
    "unsafe",
    "f32",
    "f64",
    "static",
    "thread_local",
    "println",
    "eprintln",
    "print",
    "dbg",
    "todo",
    "unimplemented",
    "include_str",
    "include_bytes",
    "env",
    "option_env",
    "extern",
    "HashMap",
    "HashSet",
    "SystemTime",
    "Instant",
    "sleep",
    "now_v7",
    "new_v4",
    "allow",
];

#[test]
fn the_machine_names_nothing_impure() {
    let mut checked = 0;
    for (file, source) in sources("src/machine") {
        assert_eq!(complaints(&source, &[]), Vec::<String>::new(), "in {file}");
        checked += 1;
    }
    assert!(checked > 15, "the machine's sources were found");
}

#[test]
fn the_webhooks_name_nothing_impure() {
    let mut checked = 0;
    for (file, source) in sources("src/webhook") {
        let complaints = complaints(&source, ALLOWED_IN_WEBHOOKS);
        assert_eq!(complaints, Vec::<String>::new(), "in {file}");
        checked += 1;
    }
    assert!(checked > 8, "the webhooks' sources were found");
}

#[test]
fn the_check_sees_what_it_is_for() {
    for bad in [
        "use std::time::SystemTime;",
        "use std::collections::{BTreeMap, HashMap};",
        "use crate::driver::store;",
        "use http::StatusCode;",
        "fn a() { std::thread::yield_now(); }",
        "fn a() { ::std::process::exit(1) }",
        "fn a() -> u64 { rand::random() }",
        "async fn a() {}",
        "fn a(x: f64) {}",
        "use core::{fmt, future::Future};",
        "fn a() { core::time::Duration::ZERO; }",
        "use super::super::driver;",
        "use core::fmt;\nfn a() { io::stdin(); }",
    ] {
        assert_ne!(complaints(bad, &[]), Vec::<String>::new(), "{bad}");
    }
    for good in [
        "use core::fmt;",
        "use std::sync::Arc;",
        "use super::time::{Due, Timestamp};",
        "// std::thread::sleep is what this never does\nfn a() {}",
        "fn a() -> &'static str { \"std::fs::read\" }",
        "fn a() -> u64 { u64::MAX.max(Self::B) }",
    ] {
        assert_eq!(complaints(good, &[]), Vec::<String>::new(), "{good}");
    }
}

#[test]
fn files_and_functions_stay_short() {
    let mut seen = 0;
    let folders = ["src/machine", "src/webhook"];
    for (file, source) in folders.into_iter().flat_map(sources) {
        assert!(source.lines().count() <= 300, "{file} is too long");
        for (line, length) in function_lengths(&source) {
            assert!(length <= 70, "{file}:{line}: a function of {length} lines");
            seen += 1;
        }
    }
    assert!(seen > 100, "the machine's functions were found");
    let two = "impl A {\n    pub(super) fn a(\n    ) {\n        b();\n    }\n}\n\nfn c() {\n    d();\n}\n";
    assert_eq!(function_lengths(two), [(2, 4), (8, 3)]);
}

/// Where functions begin and how many lines they have, by the layout that rustfmt gives.
fn function_lengths(source: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if !code.starts_with("//") && code.split_whitespace().take(4).any(|word| word == "fn") {
            let close = format!("{}}}", " ".repeat(line.len() - code.len()));
            let end = lines[start..].iter().position(|line| **line == close);
            found.push((start + 1, end.expect("a function has an end") + 1));
        }
    }
    found
}

/// A folder's sources as (name, text), without their test modules, which may use what tests need.
fn sources(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).expect("the machine's folder") {
        let path = entry.expect("a folder entry").path();
        assert!(
            path.is_file(),
            "one flat folder of sources: {}",
            path.display()
        );
        let name = path.display().to_string();
        if name.ends_with("_tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source file");
        let product = text
            .split("#[cfg(test)]")
            .next()
            .unwrap_or_default()
            .to_owned();
        found.push((name, product));
    }
    found
}

/// Everything in `source` that breaks a rule, when it may name this beside [`ALLOWED`].
fn complaints(source: &str, allowed: &[&str]) -> Vec<String> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    for token in &tokens {
        if FORBIDDEN_WORDS.contains(&token.as_str()) {
            found.push(format!("the word {token}"));
        }
    }
    let paths = paths(&tokens);
    // Names that an allowed path has brought in, such as `fmt` of `core::fmt`, and modules of the folder itself.
    let brought_in = paths
        .iter()
        .filter(|path| is_allowed(path, &[], allowed))
        .filter_map(|path| path.rsplit("::").next());
    let modules = tokens
        .windows(2)
        .filter(|pair| pair[0] == "mod")
        .map(|pair| pair[1].as_str());
    let local: Vec<&str> = brought_in.chain(modules).collect();
    for path in &paths {
        if !is_allowed(path, &local, allowed) {
            found.push(format!("the path {path}"));
        }
    }
    found
}

fn is_allowed(path: &str, local: &[&str], allowed: &[&str]) -> bool {
    let within = |part: &&str| path == *part || path.starts_with(&format!("{part}::"));
    if FORBIDDEN_IN_CORE.iter().any(within) || path.starts_with("super::super") {
        return false;
    }
    let first = path.split("::").next().unwrap_or_default();
    let is_local = matches!(first, "self" | "super" | "Self");
    let is_type = first.starts_with(|c: char| c.is_ascii_uppercase());
    let is_primitive = matches!(
        first,
        "bool" | "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "char" | "str"
    );
    is_local
        || is_type
        || is_primitive
        || local.contains(&first)
        || ALLOWED.iter().chain(allowed).any(within)
}

/// All paths of two and more parts; groups in braces are multiplied out.
fn paths(tokens: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let starts_here = is_word(&tokens[at]) && (at == 0 || tokens[at - 1] != "::");
        let is_rooted =
            tokens[at] == "::" && (at == 0 || !is_word(&tokens[at - 1]) && tokens[at - 1] != ">");
        if is_rooted {
            at += 1;
        }
        if (starts_here || is_rooted) && tokens.get(at + 1).is_some_and(|next| next == "::") {
            at = walk(tokens, at, String::new(), &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads one path from `at`, adds its spelled-out forms and returns where it ends.
fn walk(tokens: &[String], mut at: usize, prefix: String, found: &mut Vec<String>) -> usize {
    let mut path = prefix;
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = if tokens[at] == "," {
                        at + 1
                    } else {
                        walk(tokens, at, path.clone(), found)
                    };
                }
                return at + 1;
            }
            Some(word) if is_word(word) || word == "*" => {
                path = if path.is_empty() {
                    word.into()
                } else {
                    format!("{path}::{word}")
                }
            }
            _ => {}
        }
        if tokens.get(at + 1).is_none_or(|next| next != "::") {
            found.push(path.trim_end_matches("::self").to_owned());
            return at + 1;
        }
        at += 2;
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Words, `::` and single punctuation characters; comments, literals and lifetimes are left out.
fn tokens(source: &str) -> Vec<String> {
    let chars: Vec<char> = source.chars().collect();
    let mut found: Vec<String> = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        at += match rest {
            ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
            ['"', ..] => 1 + string_length(&rest[1..]),
            ['\'', '\\', ..] => 2 + rest[2..].iter().position(|c| *c == '\'').unwrap_or(0) + 1,
            ['\'', _, '\'', ..] => 3,
            ['\'', ..] => 1 + word_length(&rest[1..]),
            [':', ':', ..] => {
                found.push("::".to_owned());
                2
            }
            [c, ..] if c.is_ascii_alphanumeric() || *c == '_' => {
                let length = word_length(rest);
                found.push(rest[..length].iter().collect());
                length
            }
            [c, ..] => {
                if !c.is_whitespace() {
                    found.push(c.to_string());
                }
                1
            }
            [] => break,
        };
    }
    found
}

/// The length of a string literal after its opening quote, closing quote included.
fn string_length(rest: &[char]) -> usize {
    let mut at = 0;
    while at < rest.len() && rest[at] != '"' {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn word_length(rest: &[char]) -> usize {
    rest.iter()
        .position(|c| !c.is_ascii_alphanumeric() && *c != '_')
        .unwrap_or(rest.len())
}
