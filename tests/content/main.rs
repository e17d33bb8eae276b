//! Fingerprints: which requests are the same, and which are not.

use proptest::prelude::*;
use reprise::config::FingerprintRule;
use reprise::content::Content;
use reprise::content::fingerprint::{self, FingerprintError};
use reprise::content::json::Json;
use reprise::json::raw;
use reprise::machine::Digest;

/// The fingerprint by the JSON value of the body, which all these bodies have.
fn by_value(body: &str) -> Digest {
    fingerprint::of(
        &FingerprintRule::CanonicalJson,
        None,
        &Content::new(body.as_bytes()),
    )
    .expect(body)
}

fn by_pointers(pointers: &[&str], body: &str) -> Digest {
    let pointers = pointers.iter().map(|text| (*text).to_owned()).collect();
    fingerprint::of(
        &FingerprintRule::Pointers(pointers),
        None,
        &Content::new(body.as_bytes()),
    )
    .expect(body)
}

/// Spellings of one value each.
const EQUAL: &[&[&str]] = &[
    &[
        r#"{"product_id":42,"quantity":1}"#,
        r#"{"quantity":1,"product_id":42}"#,
        " {\n\t\"product_id\" : 42 ,\r\n \"quantity\":1}\n",
        r#"{"product_id":42.0,"quantity":1e0}"#,
        r#"{"product\u005fid":4.2E+1,"quantity":10e-1}"#,
    ],
    &[
        "1",
        "1.0",
        "1e0",
        "1E+0",
        "10e-1",
        "0.1e1",
        "1.000000000000000000000000000000",
    ],
    &["0", "-0", "0.0", "-0.0", "0e5", "-0e-5", "1e-400"],
    &[
        "0.1",
        "1e-1",
        "0.10",
        "0.1000000000000000055511151231257827",
    ],
    &["-3.5", "-35e-1"],
    &[r#""A""#, r#""\u0041""#],
    &[r#""é😀/""#, r#""\u00e9\uD83D\ude00\/""#],
    &[r#""\n""#, r#""\u000a""#, r#""\u000A""#],
    &[
        r#"{"a":{"b":[1,{"c":2,"d":[]}]}}"#,
        r#"{ "a": { "b": [ 1.0, { "d": [ ], "c": 2 } ] } }"#,
    ],
    &["{}", "{ }"],
    &["[null,true]", "[ null , true ]"],
];

/// Values of which no two are the same.
const UNEQUAL: &[&str] = &[
    r#"{"text":"hello"}"#,
    r#"{"text":" hello "}"#,
    r#"{"text":"Hello"}"#,
    r#"{"text":"hello","more":null}"#,
    r#"{"text":"e\u0301"}"#,
    r#"{"text":"\u00e9"}"#,
    r#"{"text":null}"#,
    r#"{"text":[]}"#,
    r#"{"text":{}}"#,
    r#"{"text":""}"#,
    r#"{"text":0}"#,
    r#"{"text":false}"#,
    r#"{"text":"0"}"#,
    "{}",
    "[]",
    "[[]]",
    "[1,2]",
    "[2,1]",
    "[12]",
    r#"["1","2"]"#,
    r#"["1,2"]"#,
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "0.1",
    "0.2",
    r#""1""#,
    r#""1.0""#,
    "9007199254740991",
    "9007199254740990",
    "1e-7",
];

#[test]
fn spellings_of_one_value_have_one_fingerprint() {
    for spellings in EQUAL {
        for spelling in *spellings {
            assert_eq!(by_value(spelling), by_value(spellings[0]), "{spelling}");
            let raw = |body: &str| {
                fingerprint::of(&FingerprintRule::Raw, None, &Content::new(body.as_bytes()))
            };
            assert_eq!(
                raw(spelling) == raw(spellings[0]),
                *spelling == spellings[0]
            );
        }
    }
}

#[test]
fn values_that_differ_have_fingerprints_that_differ() {
    let firsts = EQUAL.iter().map(|spellings| spellings[0]);
    let mut values: Vec<&str> = UNEQUAL.iter().copied().chain(firsts).collect();
    values.sort_unstable();
    values.dedup();
    for (index, a) in values.iter().enumerate() {
        for b in &values[index + 1..] {
            assert_ne!(by_value(a), by_value(b), "{a} and {b}");
        }
    }
}

#[test]
fn pointers_look_at_their_values_alone() {
    let text = |body| by_pointers(&["/text"], body);
    let hello = text(r#"{"text":"hello"}"#);
    for same in [
        r#"{"more":1,"text":"hello"}"#,
        r#"{ "text" : "\u0068ello" }"#,
    ] {
        assert_eq!(text(same), hello, "{same}");
    }
    let others = [
        r#"{"text":" hello "}"#,
        r#"{"text":null}"#,
        r#"{"text":"absent"}"#,
        r#"{"text":""}"#,
        r#"{"Text":"hello"}"#,
    ];
    for (index, other) in others.iter().enumerate() {
        assert_ne!(text(other), hello, "{other}");
        for another in &others[index + 1..] {
            assert_ne!(text(other), text(another), "{other} and {another}");
        }
    }
    // Absent is the same wherever it is absent, and in what is no object.
    assert_eq!(text("{}"), text("[1]"));
    assert_eq!(text("{}"), text(r#"{"Text":"hello"}"#));
    // What stands at one pointer is not taken for what stands at another.
    let both = |body| by_pointers(&["/a", "/b"], body);
    assert_ne!(both(r#"{"a":1}"#), both(r#"{"b":1}"#));
    assert_ne!(both(r#"{"a":1,"b":2}"#), both(r#"{"a":2,"b":1}"#));
    assert_ne!(
        by_pointers(&["/a"], r#"{"a":1}"#),
        by_pointers(&["/b"], r#"{"b":1}"#)
    );
    assert_eq!(
        by_pointers(&["/~0~1/0"], r#"{"~/":[1,2]}"#),
        by_pointers(&["/~0~1/0"], r#"{"~/":[1]}"#)
    );
}

#[test]
fn the_rule_and_the_target_count() {
    let body = br#"{"a":1}"#;
    let rules = [
        FingerprintRule::Raw,
        FingerprintRule::CanonicalJson,
        FingerprintRule::Pointers(vec![String::new()]),
        FingerprintRule::Pointers(vec!["/a".to_owned()]),
    ];
    let targets = [
        None,
        Some(("POST", "/a")),
        Some(("PUT", "/a")),
        Some(("POST", "/a?b")),
        // Where one part ends and the next begins counts, too.
        Some(("POST/", "a")),
        Some(("", "")),
    ];
    let mut seen: Vec<Digest> = Vec::new();
    for rule in &rules {
        for target in targets {
            let digest =
                fingerprint::of(rule, target, &Content::new(body)).expect("the body is JSON");
            assert!(!seen.contains(&digest), "{rule:?} {target:?}");
            seen.push(digest);
        }
    }
    assert_eq!(seen.len(), 24);
}

/// Stored records hold fingerprints: these must stay what they are, or the version must change.
#[test]
fn fingerprints_stay_what_they_were() {
    let of = |rule, target| {
        let digest = fingerprint::of(rule, target, &Content::new(br#"{"b": 1.0, "a": "x"}"#));
        digest.expect("the body is JSON").to_string()
    };
    let target = Some(("POST", "/orders"));
    let pointers = FingerprintRule::Pointers(vec!["/a".to_owned(), "/c".to_owned()]);
    assert_eq!(
        of(&FingerprintRule::Raw, None),
        "9732d3a2cc5d484b0cfd86f30544482ea070fdd94fd4ea8bcc9d9ada3e45b0e6"
    );
    assert_eq!(
        of(&FingerprintRule::CanonicalJson, target),
        "cfe567dc63a37e5775706c69070335e6868ccb9d8222e2799911b422d4c3fffe"
    );
    assert_eq!(
        of(&pointers, None),
        "ece4ba46be60b51967b23b60be05db0aa4b80f77d61fb88f2e4609266c7eef54"
    );
}

#[test]
fn a_body_without_one_meaning_has_no_fingerprint() {
    for (body, problem) in [
        (&br#"{"a":1,"a":1}"#[..], "a member comes twice"),
        (br#"{"amount":9007199254740993}"#, "send it as a string"),
        (b"", "EOF"),
        (b"text=hello", "expected ident"),
        (b"\xff", "expected value"),
    ] {
        for rule in [
            FingerprintRule::CanonicalJson,
            FingerprintRule::Pointers(vec!["/b".to_owned()]),
        ] {
            let Err(FingerprintError::NotJson(error)) =
                fingerprint::of(&rule, None, &Content::new(body))
            else {
                panic!("{problem}: {}", String::from_utf8_lossy(body));
            };
            assert!(error.problem.contains(problem), "{error}");
        }
        assert!(fingerprint::of(&FingerprintRule::Raw, None, &Content::new(body)).is_ok());
    }
}

/// JSON values without the numbers that are refused.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let number = any::<f64>().prop_filter_map("a number that is carried exactly", |number| {
        let number = if number.abs() < 9e15 {
            number
        } else {
            number.recip()
        };
        serde_json::Number::from_f64(number).map(serde_json::Value::from)
    });
    let whole = -9_007_199_254_740_991..=9_007_199_254_740_991_i64;
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        whole.prop_map(serde_json::Value::from),
        number,
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Each member of an object is found with its value as it is written, and the whole is what they make together.
    #[test]
    fn the_members_of_an_object_are_its_text(values in prop::collection::vec((".{0,9}", json(), any::<bool>()), 0..6)) {
        let text = |value: &serde_json::Value, is_pretty: &bool| {
            if *is_pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }
        };
        let members: Vec<(String, String)> = values
            .iter()
            .map(|(name, value, is_pretty)| (name.clone(), text(value, is_pretty).expect("a text")))
            .collect();
        let pairs: Vec<String> = members
            .iter()
            .map(|(name, json)| format!(" {}\n:\t{json} ", serde_json::Value::from(name.as_str())))
            .collect();
        let object = format!("\n{{{}}} ", pairs.join(","));
        let found = raw::members(object.as_bytes()).expect("an object");
        let found: Vec<(String, String)> = found.into_iter().map(|(name, json)| (name, json.to_owned())).collect();
        prop_assert_eq!(found, members);
    }

    /// An independent implementation of RFC 8785 writes the same.
    #[test]
    fn the_canonical_form_is_that_of_another_implementation(value in json()) {
        let text = serde_json::to_string_pretty(&value).expect("a value has a text");
        let ours = Json::parse(text.as_bytes()).expect("it is JSON").canonical();
        let theirs = serde_json_canonicalizer::to_vec(&value).expect("it has a canonical form");
        prop_assert_eq!(String::from_utf8(ours), String::from_utf8(theirs));
    }

    #[test]
    fn the_canonical_form_of_a_canonical_form_is_itself(value in json()) {
        let once = Json::parse(value.to_string().as_bytes()).expect("it is JSON").canonical();
        let twice = Json::parse(&once).expect("it is JSON").canonical();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn reading_ends_whatever_the_body_holds(
        body in prop::collection::vec(any::<u8>(), 0..64),
        text in "[\\[\\]{}\",:0-9eE.+\\-\\\\udntf ]{0,64}",
    ) {
        // The outcome is another test's; this one is about panics.
        let _ = Json::parse(&body);
        let _ = Json::parse(text.as_bytes());
    }
}
