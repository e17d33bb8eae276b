//! Routes: paths with parameters, such as `/accounts/{account}/payments`.
//!
//! A path is compared as it came, percent-encoding included, so that one resource has one spelling. A parameter stands
//! for one whole segment, never an empty one and never one in which `.` or `..` stands between separators, however often
//! it is encoded: whoever gets the path next might resolve those to another resource.

use std::fmt;

/// The values of a route's parameters, by name, as they were in the path.
pub type Params = Vec<(String, String)>;

/// A path that requests are matched with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route(Vec<Segment>);

/// A path that is made from a route's parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTemplate(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Param(String),
}

impl Route {
    /// Reads a route: an absolute path whose segments are visible ASCII or `{name}`. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let segments = parse_segments(text)?;
        for (index, segment) in segments.iter().enumerate() {
            if segment.param().is_some() && segments[..index].contains(segment) {
                return Err("a parameter comes twice".to_owned());
            }
        }
        Ok(Self(segments))
    }

    /// The parameters of a path that matches as a whole.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<Params> {
        let mut params = Params::new();
        let mut rest = path;
        for segment in &self.0 {
            let (head, tail) = split_segment(rest)?;
            match segment {
                Segment::Literal(text) if text == head => {}
                Segment::Literal(_) => return None,
                Segment::Param(name) => params.push((name.clone(), value(head)?.to_owned())),
            }
            rest = tail;
        }
        rest.is_empty().then_some(params)
    }

    /// The last segment of a path whose other segments match: a record's id.
    #[must_use]
    pub fn find_item<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (collection, id) = path.rsplit_once('/')?;
        self.find(collection).map(|_| id)
    }

    /// Whether some path matches both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|pair| match pair {
                (Segment::Literal(a), Segment::Literal(b)) => a == b,
                (Segment::Param(_), _) | (_, Segment::Param(_)) => true,
            })
    }

    /// How many segments it has.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Its first segment, unless that is a parameter.
    #[must_use]
    pub fn first(&self) -> Option<&str> {
        match self.0.first()? {
            Segment::Literal(text) => Some(text),
            Segment::Param(_) => None,
        }
    }

    /// The names of its parameters.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(Segment::param)
    }
}

impl RouteTemplate {
    /// Reads a template whose parameters are all among those of `route`. The error says what is wrong.
    pub fn parse(text: &str, route: &Route) -> Result<Self, String> {
        let segments = parse_segments(text)?;
        let mut names = segments.iter().filter_map(Segment::param);
        if names.all(|name| route.params().any(|param| param == name)) {
            Ok(Self(segments))
        } else {
            Err("it has a parameter that the route has not".to_owned())
        }
    }

    /// The path with these parameters.
    #[must_use]
    pub fn fill(&self, params: &Params) -> String {
        let mut path = String::new();
        for segment in &self.0 {
            path.push('/');
            match segment {
                Segment::Literal(text) => path.push_str(text),
                Segment::Param(name) => {
                    let value = params.iter().find(|(param, _)| param == name);
                    path.push_str(&value.expect("the route has every parameter").1);
                }
            }
        }
        path
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.0 {
            match segment {
                Segment::Literal(text) => write!(f, "/{text}")?,
                Segment::Param(name) => write!(f, "/{{{name}}}")?,
            }
        }
        Ok(())
    }
}

impl Segment {
    fn param(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Param(name) => Some(name),
        }
    }
}

/// Splits the first segment off a path, which begins with a slash.
fn split_segment(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix('/')?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some(rest.split_at(end))
}

/// How often a segment may be percent-encoded, the first time included.
const ENCODINGS_MAX: usize = 3;

/// A segment as the value of a parameter.
///
/// Servers differ in what they decode before they resolve dots, and how often; in whether a backslash separates, and in
/// what ends a segment: a semicolon, a question mark or a number sign once they are decoded, a NUL, or white space that is
/// cut off. So `..%2Fadmin`, `%252e%252e`, `..;` and `..%00` are no values either.
fn value(segment: &str) -> Option<&str> {
    if segment.is_empty() {
        return None;
    }
    let mut text = segment.as_bytes().to_vec();
    for _ in 0..=ENCODINGS_MAX {
        let mut parts = text.split(|byte| matches!(byte, b'/' | b'\\'));
        let is_end = |byte: &u8| matches!(byte, 0..=b' ' | 0x7f | b';' | b'?' | b'#');
        let is_dots = |part: &[u8]| matches!(part.split(is_end).next(), Some(b"." | b".."));
        if parts.any(is_dots) {
            return None;
        }
        let next = decoded(&text);
        if next == text {
            return Some(segment);
        }
        text = next;
    }
    None
}

/// One round of percent-decoding. What is no escape stays as it is.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = behind;
        let escaped = match rest {
            [high, low, ..] if *first == b'%' => digit(*high).zip(digit(*low)),
            _ => None,
        };
        let escaped = escaped.and_then(|(high, low)| u8::try_from(high << 4 | low).ok());
        if escaped.is_some() {
            rest = &rest[2..];
        }
        bytes.push(escaped.unwrap_or(*first));
    }
    bytes
}

fn parse_segments(text: &str) -> Result<Vec<Segment>, String> {
    let Some(path) = text.strip_prefix('/') else {
        return Err("a path begins with a slash".to_owned());
    };
    let mut segments = Vec::new();
    for segment in path.split('/') {
        segments.push(parse_segment(segment)?);
    }
    Ok(segments)
}

fn parse_segment(text: &str) -> Result<Segment, String> {
    if let Some(name) = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'))
    {
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        return if is_name {
            Ok(Segment::Param(name.to_owned()))
        } else {
            Err("a parameter's name is letters, digits and underscores".to_owned())
        };
    }
    if value(text).is_none() {
        return Err("a segment is empty or made of dots".to_owned());
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%".contains(&byte);
    if text.bytes().all(is_plain) {
        Ok(Segment::Literal(text.to_owned()))
    } else {
        Err("a segment has characters that a path has only percent-encoded".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(route: &str, path: &str) -> Option<Vec<String>> {
        let params = Route::parse(route).expect("a route").find(path)?;
        Some(
            params
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
        )
    }

    #[test]
    fn a_path_matches_whole_segments_as_they_came() {
        let route = "/accounts/{account}/payments";
        let table: &[(&str, Option<&[&str]>)] = &[
            ("/accounts/7/payments", Some(&["account=7"])),
            ("/accounts/a%20b/payments", Some(&["account=a%20b"])),
            ("/accounts//payments", None),
            ("/accounts/./payments", None),
            ("/accounts/../payments", None),
            ("/accounts/%2e%2E/payments", None),
            ("/accounts/.%2e/payments", None),
            ("/accounts/..%2Fadmin/payments", None),
            ("/accounts/a%2f%2E%2e%2fb/payments", None),
            ("/accounts/..%5cadmin/payments", None),
            ("/accounts/..\\admin/payments", None),
            ("/accounts/..;/payments", None),
            ("/accounts/..%3Bx=1/payments", None),
            ("/accounts/%252e%252e/payments", None),
            ("/accounts/.%25%32%65/payments", None),
            ("/accounts/a%25255C..%252fb/payments", None),
            ("/accounts/%2525252525/payments", None),
            ("/accounts/%252541/payments", Some(&["account=%252541"])),
            ("/accounts/100%25/payments", Some(&["account=100%25"])),
            ("/accounts/%/payments", Some(&["account=%"])),
            ("/accounts/%zz%2/payments", Some(&["account=%zz%2"])),
            ("/accounts/..%3Fx/payments", None),
            ("/accounts/..%23x/payments", None),
            ("/accounts/..%00/payments", None),
            ("/accounts/..%00.html/payments", None),
            ("/accounts/.%20/payments", None),
            ("/accounts/..%0d%0a/payments", None),
            ("/accounts/a%2f..%09%2fb/payments", None),
            ("/accounts/..%2/payments", Some(&["account=..%2"])),
            ("/accounts/..%zz/payments", Some(&["account=..%zz"])),
            ("/accounts/..%c3%a4/payments", Some(&["account=..%c3%a4"])),
            ("/accounts/%00/payments", Some(&["account=%00"])),
            ("/accounts/a%2Fb/payments", Some(&["account=a%2Fb"])),
            ("/accounts/...;v=1.2/payments", Some(&["account=...;v=1.2"])),
            ("/accounts/7/payments/", None),
            ("/accounts/7/payments/1", None),
            ("/Accounts/7/payments", None),
            ("accounts/7/payments", None),
            ("/accounts/7", None),
            ("/", None),
            ("", None),
        ];
        for (path, params) in table {
            let params =
                params.map(|params| params.iter().map(|&param| param.to_owned()).collect());
            assert_eq!(find(route, path), params, "{path}");
        }
    }

    #[test]
    fn a_record_is_one_segment_behind_its_route() {
        let route = Route::parse("/a/{b}").expect("a route");
        for (path, id) in [
            ("/a/x/1", Some("1")),
            ("/a/x/", Some("")),
            ("/a/x", None),
            ("/a/x/1/2", None),
        ] {
            assert_eq!(route.find_item(path), id, "{path}");
        }
    }

    #[test]
    fn a_template_is_filled_with_the_route_s_parameters() {
        let route = Route::parse("/a/{x}/b/{y}").expect("a route");
        let params = route.find("/a/1/b/2%2F3").expect("it matches");
        let template = RouteTemplate::parse("/v1/{y}/{x}/c", &route).expect("a template");
        assert_eq!(template.fill(&params), "/v1/2%2F3/1/c");
        assert_eq!(
            RouteTemplate::parse("/{z}", &route),
            Err("it has a parameter that the route has not".to_owned())
        );
        assert_eq!(route.to_string(), "/a/{x}/b/{y}");
    }

    #[test]
    fn what_is_no_route_is_refused() {
        for text in [
            "", "a", "/", "/a/", "/a//b", "/a/..", "/a b", "/a?b", "/{}", "/{a b}", "/{a}/{a}",
            "/a{b}", "/ä",
        ] {
            assert!(Route::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn routes_overlap_when_one_path_matches_both() {
        let overlap = |a, b| {
            Route::parse(a)
                .expect("a route")
                .overlaps(&Route::parse(b).expect("a route"))
        };
        for (a, b, expected) in [
            ("/a", "/a", true),
            ("/a", "/b", false),
            ("/a/{x}", "/a/b", true),
            ("/a/{x}", "/{y}/b", true),
            ("/a/{x}", "/b/{x}", false),
            ("/a", "/a/{x}", false),
        ] {
            assert_eq!(overlap(a, b), expected, "{a} {b}");
            assert_eq!(overlap(b, a), expected, "{b} {a}");
        }
    }
}
