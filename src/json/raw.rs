//! JSON objects member by member, each value spelled as it is.
//!
//! What others have written is passed on as they wrote it: more digits than a float has, white space and the order of
//! the members are theirs.

use serde::Serialize;
use serde::de::IgnoredAny;

/// The members of a JSON object, in their order, each with its value as it is written. The error says what is wrong.
pub fn members(json: &[u8]) -> Result<Vec<(String, &str)>, String> {
    let text = check(json)?;
    let mut rest = text.trim_ascii();
    rest = rest
        .strip_prefix('{')
        .ok_or_else(|| "it is not a JSON object".to_owned())?;
    let mut members = Vec::new();
    loop {
        rest = rest.trim_ascii_start();
        if !rest.starts_with('"') {
            return Ok(members);
        }
        let (name, behind) = rest.split_at(value_len(rest));
        let behind = behind.trim_ascii_start().trim_start_matches(':');
        let value = behind.trim_ascii_start();
        let (value, behind) = value.split_at(value_len(value));
        members.push((text_of(name)?, value));
        rest = behind.trim_ascii_start().trim_start_matches(',');
    }
}

/// The text of bytes that are one JSON value and nothing else. The error says what is wrong.
pub fn check(json: &[u8]) -> Result<&str, String> {
    serde_json::from_slice::<IgnoredAny>(json).map_err(|error| error.to_string())?;
    str::from_utf8(json).map_err(|error| error.to_string())
}

/// The text that a JSON string stands for. The error says what is wrong.
pub fn text_of(json: &str) -> Result<String, String> {
    super::cursor::read(json.as_bytes()).map_err(|misfit| misfit.to_string())
}

/// The length of the value that a text begins with, which is known to be JSON.
fn value_len(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut is_in_string = false;
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => {
                is_in_string = !is_in_string;
                if !is_in_string && depth == 0 {
                    return index + 1;
                }
            }
            _ if is_in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 1 => depth -= 1,
            // The end of a list or an object; or, behind a value that has none of its own, that of the one around it.
            b'}' | b']' => return index + depth,
            b',' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => return index,
            _ => {}
        }
    }
    text.len()
}

/// A JSON object that is being written.
#[derive(Debug)]
pub struct Object(Vec<u8>);

impl Default for Object {
    /// An object without members.
    fn default() -> Self {
        Self(b"{".to_vec())
    }
}

impl Object {
    /// Adds a member.
    pub fn add(&mut self, name: &str, value: &impl Serialize) {
        self.name(name);
        serde_json::to_writer(&mut self.0, value).expect("a value of ours has a JSON form");
    }

    /// Adds a member whose value is JSON already.
    pub fn add_raw(&mut self, name: &str, json: &[u8]) {
        self.name(name);
        self.0.extend(json);
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        serde_json::to_writer(&mut self.0, name).expect("a string has a JSON form");
        self.0.push(b':');
    }

    /// The object's JSON.
    #[must_use]
    pub fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// The JSON of a list of objects.
pub fn list(objects: Vec<Object>) -> Vec<u8> {
    let mut json = b"[".to_vec();
    for object in objects {
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend(object.end());
    }
    json.push(b']');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_spelled_as_they_were() {
        let json = r#" { "a" : 1e400 ,"b\n\"":[ {"x":"]}"} ,2],"c":"\\","d":{ },"a":null , "e":-0.10,"":true} "#;
        let expected = [
            ("a", "1e400"),
            ("b\n\"", r#"[ {"x":"]}"} ,2]"#),
            ("c", r#""\\""#),
            ("d", "{ }"),
            ("a", "null"),
            ("e", "-0.10"),
            ("", "true"),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        assert_eq!(members(json.as_bytes()), Ok(expected.to_vec()));
        assert_eq!(members(b"{}"), Ok(Vec::new()));
        assert_eq!(members(br#"{"a":7}"#), Ok(vec![("a".to_owned(), "7")]));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in [
            "",
            "[]",
            "1",
            "{",
            "{}x",
            r#"{"a"}"#,
            r#"{"a":1,}"#,
            r#"{"\ud800":1}"#,
        ] {
            assert!(members(json.as_bytes()).is_err(), "{json}");
        }
        assert!(members(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn an_object_is_written_member_by_member() {
        let mut object = Object::default();
        object.add("a\"", &[1, 2]);
        object.add_raw("b", b"1.50");
        assert_eq!(object.end(), br#"{"a\"":[1,2],"b":1.50}"#);
        assert_eq!(Object::default().end(), b"{}");
        assert_eq!(list(Vec::new()), b"[]");
        assert_eq!(list(vec![Object::default(), Object::default()]), b"[{},{}]");
    }
}
