//! Secrets are compared in constant time: a rule of the sources, because no test of time could be trusted.
//!
//! What is secret here are the operators' token and the webhooks' secrets with the signatures that they make. A tenant
//! is the hash of what a client sent, and keys are looked up by hashes: how long that takes tells of hashes, which
//! nobody can aim.

use reprise::config::Secret as Token;
use reprise::webhook::Secret as WebhookSecret;
use std::fs;
use std::path::Path;

/// Does not compile when the type can be compared: then there are two ways to call the function.
macro_rules! is_not_compared {
    ($type:ty) => {{
        trait Ways<Way> {
            fn count() {}
        }
        struct ByComparison;
        impl<T: ?Sized> Ways<()> for T {}
        impl<T: ?Sized + PartialEq> Ways<ByComparison> for T {}
        <$type as Ways<_>>::count();
    }};
}

#[test]
fn secrets_have_no_operator_that_compares_them() {
    is_not_compared!(Token);
    is_not_compared!(WebhookSecret);
}

fn source(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a function, from its name to the end of its body.
fn function<'a>(source: &'a str, name: &str) -> &'a str {
    let start = source.find(&format!("fn {name}(")).expect(name);
    let line = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = &source[line..start];
    let indent = &indent[..indent.len() - indent.trim_start().len()];
    let end = source[start..]
        .find(&format!("\n{indent}}}\n"))
        .expect(name);
    &source[start..start + end]
}

#[test]
fn where_a_secret_meets_what_was_sent_nothing_compares_but_in_constant_time() {
    for (path, name) in [
        ("shell/operators.rs", "authorize"),
        ("webhook/signature.rs", "verify"),
    ] {
        let source = source(path);
        let text = function(&source, name);
        assert_eq!(text.matches(".ct_eq(").count(), 1, "{path}: {text}");
        for comparison in [
            "==",
            "!=",
            ".eq(",
            ".ne(",
            ".cmp(",
            "starts_with",
            "ends_with",
            "strip_",
            "contains(",
            "matches!",
            ".position(",
            ".find(",
        ] {
            assert!(!text.contains(comparison), "{path}: {comparison} in {text}");
        }
    }
}

/// Every place that sees a secret as it is.
#[test]
fn a_secret_is_revealed_where_it_is_compared_and_nowhere_else() {
    let mut places = Vec::new();
    look(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut places,
    );
    places.sort();
    assert_eq!(
        places,
        ["operators.rs: .ct_eq(&Sha256::digest(token.reveal()))"]
    );
}

fn look(folder: &Path, places: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            look(&path, places);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let text = fs::read_to_string(&path).expect("a source");
            let lines = text
                .lines()
                .map(str::trim)
                .filter(|line| line.contains(".reveal("));
            places.extend(lines.map(|line| format!("{name}: {line}")));
        }
    }
}
