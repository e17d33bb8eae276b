//! JSON pointers (RFC 6901): paths to a value within a value.

use super::json::Json;

/// Passes when this is a pointer, and says what is wrong otherwise.
pub fn check(pointer: &str) -> Result<(), &'static str> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err("it neither is empty nor begins with a slash");
    }
    let is_escape = |rest: &str| rest.starts_with(['0', '1']);
    if pointer.split('~').skip(1).all(is_escape) {
        Ok(())
    } else {
        Err("a ~ in it is followed by neither 0 nor 1")
    }
}

/// The value that a pointer leads to; `None` where there is none, which is unlike a `null` there.
pub fn find<'a>(value: &'a Json, pointer: &str) -> Option<&'a Json> {
    pointer.split('/').skip(1).try_fold(value, |value, token| {
        match value {
            Json::Object(members) => {
                // In this order, or ~01 would become a slash.
                let name = token.replace("~1", "/").replace("~0", "~");
                let member = members.iter().find(|(member, _)| *member == name);
                member.map(|(_, value)| value)
            }
            Json::List(items) => items.get(index(token)?),
            Json::Null | Json::Boolean(_) | Json::Whole(_) | Json::Number(_) | Json::Text(_) => {
                None
            }
        }
    })
}

/// A position in a list, which has one spelling.
fn index(token: &str) -> Option<usize> {
    let is_digits = token.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = is_digits && (token == "0" || !token.starts_with('0'));
    is_plain.then(|| token.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document of RFC 6901, section 5, and more.
    const DOCUMENT: &str = r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,
        "deep":[{"x":null}],"~1":9,"0":10}"#;

    #[test]
    fn a_pointer_leads_to_its_value() {
        let document = Json::parse(DOCUMENT.as_bytes()).expect("the document is JSON");
        for (pointer, expected) in [
            ("/foo", Some(r#"["bar","baz"]"#)),
            ("/foo/0", Some(r#""bar""#)),
            ("/foo/1", Some(r#""baz""#)),
            ("/", Some("0")),
            ("/a~1b", Some("1")),
            ("/c%d", Some("2")),
            ("/e^f", Some("3")),
            ("/g|h", Some("4")),
            ("/i\\j", Some("5")),
            ("/k\"l", Some("6")),
            ("/ ", Some("7")),
            ("/m~0n", Some("8")),
            ("/~01", Some("9")),
            ("/0", Some("10")),
            ("/deep/0/x", Some("null")),
            ("/deep/0/y", None),
            ("/deep/0/x/y", None),
            ("/foo/2", None),
            ("/foo/-", None),
            ("/foo/00", None),
            ("/foo/01", None),
            ("/foo/+1", None),
            ("/foo/", None),
            ("/foo/99999999999999999999999", None),
            ("/absent", None),
            ("/foo/0/0", None),
        ] {
            assert_eq!(check(pointer), Ok(()), "{pointer}");
            let found = find(&document, pointer).map(Json::canonical);
            let expected = expected.map(|text| text.as_bytes().to_vec());
            assert_eq!(found, expected, "{pointer}");
        }
        assert_eq!(find(&document, ""), Some(&document));
    }

    #[test]
    fn what_is_no_pointer_is_told() {
        for pointer in ["a", "a/b", "#/a", "/a~", "/~2", "/~~1", "/a~b"] {
            assert!(check(pointer).is_err(), "{pointer}");
        }
    }
}
