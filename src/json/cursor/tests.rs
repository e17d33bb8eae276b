//! What is read and what is refused, and with which words.

use super::{FromJson, Misfit, Unread, from_cases, from_object, read, versioned};
use crate::sorted::Sorted;

#[derive(Debug, PartialEq)]
struct Parcel {
    weight: u32,
    to: Option<String>,
    way: Way,
}

#[derive(Debug, PartialEq)]
enum Way {
    Held,
    Sent { days: u16 },
    Lost(Vec<u64>),
}

from_object!(Parcel { weight, to, way });

from_cases!(Way {
    "held" => Held,
    "sent" => Sent { days },
    "lost" => Lost(Vec<u64>),
});

fn problem<T: FromJson + std::fmt::Debug>(text: &str) -> String {
    let read: Result<T, Misfit> = read(text.as_bytes());
    read.expect_err(text).to_string()
}

#[test]
fn members_are_read_in_their_order_whatever_is_between_them() {
    let parcel = |weight, to: Option<&str>, way| Parcel {
        weight,
        to: to.map(str::to_owned),
        way,
    };
    let table = [
        (
            r#"{"weight":7,"to":"Ada","way":"held"}"#,
            parcel(7, Some("Ada"), Way::Held),
        ),
        (
            r#"{"weight":0,"to":null,"way":{"sent":{"days":3}}}"#,
            parcel(0, None, Way::Sent { days: 3 }),
        ),
        (
            r#"{"weight":4294967295,"way":{"lost":[]}}"#,
            parcel(u32::MAX, None, Way::Lost(vec![])),
        ),
        (
            " {\n\"w\\u0065ight\" : 1 ,\t\"to\":\"\" , \"way\": { \"lost\" : [ 1 , 2 ] } }\r\n",
            parcel(1, Some(""), Way::Lost(vec![1, 2])),
        ),
    ];
    for (text, parcel) in table {
        assert_eq!(read(text.as_bytes()), Ok(parcel), "{text}");
    }
}

#[test]
fn what_is_not_written_like_that_is_refused_with_the_way_to_it() {
    let table = [
        (r"[]", "not an object"),
        (r"{}", "weight: missing"),
        (
            r#"{"weight":1,"colour":2}"#,
            "unknown field `colour` in the place of `way`",
        ),
        (
            r#"{"way":"held","weight":1}"#,
            "unknown field `way` in the place of `weight`",
        ),
        (
            r#"{"weight":1,"weight":1,"way":"held"}"#,
            "unknown field `weight` in the place of `way`",
        ),
        (
            r#"{"weight":1,"way":"held","way":"held"}"#,
            "unknown field `way`",
        ),
        (r#"{"weight":-1}"#, "weight: not a whole number"),
        (r#"{"weight":4294967296}"#, "weight: too large"),
        (r#"{"weight":1 "way":"held"}"#, "not followed by"),
        (r#"{"weight":1,"to":7}"#, "to: not a text"),
        (r#"{"weight":1,"to":nul}"#, "to: not a text"),
        (r#"{"weight":1,"way":"burnt"}"#, "way: unknown case `burnt`"),
        (r#"{"weight":1,"way":"sent"}"#, "way: no more than a name"),
        (r#"{"weight":1,"way":{"held":1}}"#, "way: more than a name"),
        (
            r#"{"weight":1,"way":{"lost":[1],"held":1}}"#,
            "way: not a single case",
        ),
        (
            r#"{"weight":1,"way":{"lost":[1,"x"]}}"#,
            "way: 1: not a whole",
        ),
        (r#"{"weight":1,"way":{"lost":[1,]}}"#, "way: 1: not a whole"),
        (r#"{"weight":1,"way":{"lost":[1}}"#, "way: not followed by"),
        (r#"{"weight":1,"way":{"lost":1}}"#, "way: not a list"),
        (r#"{"weight":1,"way":7}"#, "way: not one of several cases"),
        (r#"{"weight":1,"way":"held","#, "not a text"),
        (r#"{"weight":1,"way":"held""#, "not followed by"),
        (r#"{"weight":1,"way":"held"}}"#, "something behind its end"),
        (r#"{"weight"=1}"#, "no colon"),
        ("", "not an object"),
    ];
    for (text, part) in table {
        let problem = problem::<Parcel>(text);
        assert!(problem.contains(part), "{text}: {problem}");
    }
    let halved = read::<Parcel>(b"{\"weight\":1,\"to\":\"\xc3");
    assert!(halved.is_err(), "it is not UTF-8");
}

#[test]
fn texts_are_those_of_the_reference() {
    let table = [
        r#""""#,
        r#""plain""#,
        r#""я 😀""#,
        r#""a\"b\\c\/d\b\f\n\r\te""#,
        r#""\u0041\u00e9\u20ac""#,
        r#""\ud83d\ude00x""#,
        r#""\uD83D\uDE00""#,
        // None of these is one.
        r#""\ud83d""#,
        r#""\ud83dx""#,
        r#""\ud83d\n""#,
        r#""\ud83d\u0041""#,
        r#""\ude00""#,
        r#""\u+041""#,
        r#""\u004""#,
        r#""\u004"#,
        r#""\u00я""#,
        r#""\x""#,
        r#""\"#,
        r#""a"#,
        r#"""#,
        "\"a\nb\"",
        "\"a\u{1f}\"",
        "\"\\\u{1}\"",
        "'a'",
    ];
    let mut texts = 0;
    for text in table {
        let theirs = serde_json::from_str::<String>(text).ok();
        texts += usize::from(theirs.is_some());
        assert_eq!(read::<String>(text.as_bytes()).ok(), theirs, "{text}");
    }
    assert_eq!(texts, 7);
}

#[test]
fn numbers_are_whole_and_have_one_spelling() {
    let table = [
        ("0", Some(0)),
        ("10", Some(10)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("99999999999999999999999999", None),
        ("-0", None),
        ("-1", None),
        ("+1", None),
        ("01", None),
        ("00", None),
        ("1.0", None),
        ("1e2", None),
        ("1E2", None),
        ("1x", None),
        ("", None),
        ("\"1\"", None),
        ("null", None),
    ];
    for (text, number) in table {
        assert_eq!(read(text.as_bytes()).ok(), number, "{text}");
    }
}

#[test]
fn a_pair_has_two() {
    let pair = ("a".to_owned(), "b".to_owned());
    assert_eq!(read(br#"["a","b"]"#), Ok(pair));
    for text in [
        r"[]",
        r#"["a"]"#,
        r#"["a","b","c"]"#,
        r#"["a",7]"#,
        r#""ab""#,
    ] {
        assert!(read::<(String, String)>(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn a_map_is_in_the_order_of_its_keys() {
    let map = Sorted::from_iter([(2_u64, 1_u64), (10, 2)]);
    assert_eq!(read(br#"{"2":1,"10":2}"#), Ok(map));
    assert_eq!(read(b"{}"), Ok(Sorted::<u64, u64>::new()));
    for (text, part) in [
        (r#"{"10":2,"2":1}"#, "not in its order"),
        (r#"{"2":1,"2":1}"#, "there twice"),
        (r#"{"x":1}"#, "invalid digit"),
        (r#"{"2":-1}"#, "2: not a whole number"),
    ] {
        let problem = problem::<Sorted<u64, u64>>(text);
        assert!(problem.contains(part), "{text}: {problem}");
    }
}

#[test]
fn another_version_is_told_from_damage_whatever_follows_it() {
    let read = |text: &str| {
        let read = versioned(text.as_bytes(), 1..=2, |members| members.take::<u64>("x"));
        read.map_err(|unread| match unread {
            Unread::OtherVersion(found) => Some(found),
            Unread::Malformed(_) => None,
        })
    };
    for text in [r#"{"v":1,"x":7}"#, r#" {"v" : 2, "x":7} "#] {
        assert_eq!(read(text), Ok(7), "{text}");
    }
    for (text, found) in [
        (r#"{"v":0,"x":7}"#, 0),
        (r#"{"v":3,"y":7}"#, 3),
        (r#"{"v":18446744073709551615,"#, u64::MAX),
        (r#"{"v":3} and more"#, 3),
    ] {
        assert_eq!(read(text), Err(Some(found)), "{text}");
    }
    for text in [
        "",
        "{}",
        "[]",
        r#"{"v":1}"#,
        r#"{"v":"3","x":7}"#,
        r#"{"v":-3,"x":7}"#,
        r#"{"x":7,"v":3}"#,
        r#"{"v":1,"x":7,"y":7}"#,
        r#"{"v":1,"x":7} and more"#,
    ] {
        assert_eq!(read(text), Err(None), "{text}");
    }
}
