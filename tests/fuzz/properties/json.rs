//! JSON as clients send it: strict reading, the canonical form, pointers, fingerprints, and members as they are
//! spelled. The input is a JSON text, and behind the first byte 255 a pointer.

use reprise::config::FingerprintRule;
use reprise::content::json::Json;
use reprise::content::{Content, fingerprint, pointer};
use reprise::json::cursor::{self, FromJson};
use reprise::json::raw;
use serde::de::DeserializeOwned;
use serde_json::Value;

use std::fmt;

use super::split;

/// What is wrong with a text that the reference takes, and we do not.
const STRICTER: [&str; 3] = [
    "a member comes twice",
    "a number is larger than JSON carries exactly",
    "more than 100 levels of nesting",
];

pub(super) fn check(data: &[u8]) {
    let (text, path) = split(data);
    let theirs = serde_json::from_slice::<Value>(text);
    let ours = Json::parse(text);
    members(text, theirs.as_ref().ok());
    stored::<String>(text);
    stored::<u64>(text);
    stored::<Vec<Option<String>>>(text);
    stored::<Vec<Vec<u64>>>(text);
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Ok(_), Err(error)) => panic!("the reference refuses it: {error}"),
        (Err(error), Ok(_)) => {
            let is_known = STRICTER.iter().any(|rule| error.problem.starts_with(rule));
            assert!(is_known, "{error}");
            return refused(text);
        }
        (Err(_), Err(_)) => return refused(text),
    };
    let canonical = ours.canonical();
    let reference = serde_json_canonicalizer::to_vec(&theirs).expect("a value has that form");
    assert_eq!(show(&canonical), show(&reference));
    let again = Json::parse(&canonical).expect("the canonical form is JSON");
    assert_eq!(show(&again.canonical()), show(&canonical), "a fixpoint");
    fingerprints(text, &theirs);
    if let Ok(path) = str::from_utf8(path) {
        pointers(&ours, &theirs, path);
    }
}

/// What is read of the store is what the reference reads.
fn stored<T: FromJson + DeserializeOwned + PartialEq + fmt::Debug>(text: &[u8]) {
    let (ours, theirs) = (cursor::read::<T>(text), serde_json::from_slice::<T>(text));
    assert_eq!(ours.ok(), theirs.ok());
}

fn show(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// What is not JSON with one meaning has no fingerprint but the one of its bytes.
fn refused(text: &[u8]) {
    let of = |rule: &FingerprintRule| fingerprint::of(rule, None, &Content::new(text));
    assert!(of(&FingerprintRule::CanonicalJson).is_err());
    assert!(of(&FingerprintRule::Pointers(vec![String::new()])).is_err());
    assert!(of(&FingerprintRule::Raw).is_ok());
}

/// Two spellings of one value have one fingerprint; two values, or two texts byte for byte, have two.
fn fingerprints(text: &[u8], value: &Value) {
    let of = |rule: &FingerprintRule, text: &[u8]| {
        fingerprint::of(rule, None, &Content::new(text)).expect("it is JSON with one meaning")
    };
    let pretty = serde_json::to_vec_pretty(value).expect("a value has a JSON form");
    let other = [b"[", text, b"]"].concat();
    for rule in [
        FingerprintRule::CanonicalJson,
        FingerprintRule::Pointers(vec![String::new()]),
    ] {
        assert_eq!(of(&rule, text), of(&rule, &pretty));
        if Json::parse(&other).is_ok() {
            assert_ne!(of(&rule, text), of(&rule, &other));
        }
    }
    let spaced = [text, b" "].concat();
    assert_ne!(
        of(&FingerprintRule::Raw, text),
        of(&FingerprintRule::Raw, &spaced)
    );
    let target = fingerprint::of(
        &FingerprintRule::CanonicalJson,
        Some(("POST", "/")),
        &Content::new(text),
    );
    assert_ne!(target, Ok(of(&FingerprintRule::CanonicalJson, text)));
}

/// A pointer leads where the reference's leads.
fn pointers(ours: &Json, theirs: &Value, path: &str) {
    if pointer::check(path).is_err() {
        return;
    }
    let found = pointer::find(ours, path).map(|found| show(&found.canonical()));
    let expected = theirs.pointer(path).map(|found| {
        show(&serde_json_canonicalizer::to_vec(found).expect("a value has that form"))
    });
    assert_eq!(found, expected, "{path}");
}

/// Members one by one are those of the reference, their values spelled as they were, and nothing is lost between them.
fn members(text: &[u8], theirs: Option<&Value>) {
    assert_eq!(raw::check(text).is_ok(), reads_as_ignored(text));
    let Ok(members) = raw::members(text) else {
        return;
    };
    let mut object = raw::Object::default();
    let mut expected = serde_json::Map::new();
    for (name, value) in &members {
        assert!(raw::check(value.as_bytes()).is_ok(), "{value}");
        object.add_raw(name, value.as_bytes());
        match serde_json::from_str(value) {
            Ok(value) => drop(expected.insert(name.clone(), value)),
            // Deeper than the reference goes, or half of a surrogate pair: passed on as it is.
            Err(_) => return,
        }
    }
    assert_eq!(Some(&Value::Object(expected)), theirs);
    let written = object.end();
    assert_eq!(
        raw::members(&written).as_ref(),
        Ok(&members),
        "{}",
        show(&written)
    );
}

fn reads_as_ignored(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok() && str::from_utf8(text).is_ok()
}
