//! Single members of JSON that our own programs have written: compact, and without a name that comes twice.
//!
//! This is no reader of JSON. It finds `"name":` and what follows, which spares this program a library that everybody
//! would have to compile first.

/// The number that a member holds, where it holds a whole one.
pub(crate) fn number(json: &str, name: &str) -> Option<u64> {
    let value = value(json, name)?;
    let end = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    value[..end].parse().ok()
}

/// The text that a member holds, up to the first quote in it.
pub(crate) fn text<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    value(json, name)?.strip_prefix('"')?.split('"').next()
}

/// What follows a member's name.
fn value<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(&format!("\"{name}\":"))?;
    Some(rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_by_its_name_and_kind() {
        let json = r#"{"reference":"order-7","charges":12,"calls": 0,"none":null}"#;
        assert_eq!(number(json, "charges"), Some(12));
        assert_eq!(number(json, "calls"), Some(0));
        assert_eq!(text(json, "reference"), Some("order-7"));
        for name in ["reference", "none", "absent", "charge"] {
            assert_eq!(number(json, name), None, "{name}");
        }
        for name in ["charges", "none", "absent"] {
            assert_eq!(text(json, name), None, "{name}");
        }
    }
}
