//! JSON with one meaning and one spelling.
//!
//! Reading is strict where readers differ (RFC 7493, I-JSON): a member that comes twice, a whole number that is not
//! exact in other readers, half of a surrogate pair, and nesting without end are refused. Writing is RFC 8785: members
//! by the UTF-16 units of their names, no white space, one spelling for each string and number. So two texts have the
//! same canonical form exactly when every reader takes them for the same value.
//!
//! Numbers are what JSON's readers make of them, floats of 64 bits: the one place of this program that has any. They
//! are compared and written, never computed with. More decimals than a float holds are therefore the same number.

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt;

/// Levels of lists and objects within each other. No API that people use comes near.
pub const DEPTH_MAX: usize = 100;

/// The largest whole number, either side of zero, up to which every one has a float of its own (RFC 7493, section 2.2).
const EXACT_MAX: u64 = (1 << 53) - 1;
const EXACT_MAX_FLOAT: f64 = 9_007_199_254_740_991.0;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number that is written as a whole one.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object, its members by the UTF-16 units of their names, each name once.
    Object(Vec<(String, Json)>),
}

/// Why bytes are not JSON that has one meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong and where, for whoever sent it.
    pub problem: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for JsonError {}

impl Json {
    /// Reads one value.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let value = Within(DEPTH_MAX).deserialize(&mut reader);
        value
            .and_then(|value| reader.end().map(|()| value))
            .map_err(|error| JsonError {
                problem: error.to_string(),
            })
    }

    /// The members of an object that has these and no others. The error says what is wrong, for whoever sent it.
    pub fn members<const N: usize>(&self, names: [&str; N]) -> Result<[&Self; N], String> {
        let Self::Object(members) = self else {
            return Err("it is not a JSON object".to_owned());
        };
        let mut taken = [self; N];
        for (name, place) in names.iter().zip(&mut taken) {
            let member = members.iter().find(|(member, _)| member == name);
            let (_, value) = member.ok_or_else(|| format!("missing field `{name}`"))?;
            *place = value;
        }
        let mut others = members.iter();
        match others.find(|(member, _)| !names.contains(&member.as_str())) {
            None => Ok(taken),
            Some((name, _)) => Err(format!(
                "unknown field `{name}`, expected {}",
                names.join(" and ")
            )),
        }
    }

    /// The canonical form.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend(b"null"),
            Self::Boolean(true) => out.extend(b"true"),
            Self::Boolean(false) => out.extend(b"false"),
            Self::Whole(number) => out.extend(number.to_string().as_bytes()),
            // As ECMAScript writes it, which RFC 8785 refers to. Other shortest forms differ where two are equally close.
            Self::Number(number) => {
                out.extend(ryu_js::Buffer::new().format_finite(*number).as_bytes());
            }
            Self::Text(text) => write_text(text, out),
            Self::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    separate(index, out);
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (index, (name, value)) in members.iter().enumerate() {
                    separate(index, out);
                    write_text(name, out);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

/// The escapes of RFC 8785, section 3.2.2.2, are those that this writer makes anyway.
fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a string has a JSON form, and a vector takes it");
}

/// Reads a value that may hold this many more levels.
struct Within(usize);

impl<'de> DeserializeSeed<'de> for Within {
    type Value = Json;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Json, D::Error> {
        reader.deserialize_any(self)
    }
}

impl Within {
    fn next<E: serde::de::Error>(&self) -> Result<usize, E> {
        let deeper = self.0.checked_sub(1);
        deeper.ok_or_else(|| E::custom(format!("more than {DEPTH_MAX} levels of nesting")))
    }
}

fn inexact<E: serde::de::Error>() -> E {
    E::custom("a number is larger than JSON carries exactly; send it as a string")
}

impl<'de> Visitor<'de> for Within {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Boolean(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Json, E> {
        match i64::try_from(value) {
            Ok(whole) if value <= EXACT_MAX => Ok(Json::Whole(whole)),
            Ok(_) | Err(_) => Err(inexact()),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Json, E> {
        if value.unsigned_abs() <= EXACT_MAX {
            Ok(Json::Whole(value))
        } else {
            Err(inexact())
        }
    }

    /// Floats beyond the limit are all whole numbers.
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        if value.abs() <= EXACT_MAX_FLOAT {
            Ok(Json::Number(value))
        } else {
            Err(inexact())
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let depth = self.next()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Within(depth))? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let depth = self.next()?;
        let mut members = Vec::new();
        while let Some(name) = access.next_key()? {
            let value = access.next_value_seed(Within(depth))?;
            members.push(Member { name, value });
        }
        // By a heap, whose code is a fraction of a sort's.
        let sorted = BinaryHeap::from(members).into_sorted_vec();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(A::Error::custom("a member comes twice"));
        }
        let members = sorted
            .into_iter()
            .map(|Member { name, value }| (name, value));
        Ok(Json::Object(members.collect()))
    }
}

/// A member of an object, in the order of RFC 8785: by the UTF-16 units of its name.
struct Member {
    name: String,
    value: Json,
}

impl Ord for Member {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.encode_utf16().cmp(other.name.encode_utf16())
    }
}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Member {}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Result<String, String> {
        let value = Json::parse(text.as_bytes()).map_err(|error| error.problem)?;
        Ok(String::from_utf8(value.canonical()).expect("it is UTF-8"))
    }

    /// RFC 8785, appendix B: the bits of a float and its text.
    const NUMBERS: &[(u64, &str)] = &[
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];

    #[test]
    fn numbers_are_written_as_the_rfc_writes_them() {
        for (bits, text) in NUMBERS {
            let written = Json::Number(f64::from_bits(*bits)).canonical();
            assert_eq!(String::from_utf8_lossy(&written), *text, "{bits:#x}");
        }
    }

    /// The example of RFC 8785, section 3.2.2, without its 1E30, which is larger than is carried exactly.
    #[test]
    fn the_example_of_the_rfc_is_written_as_there() {
        let text = r#"{
            "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,4.5,0.002,1e-27],\
            \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(canonical(text).as_deref(), Ok(expected));
        assert!(canonical("[1E30]").is_err());
    }

    /// The example of RFC 8785, section 3.2.3: by UTF-16 units, the emoji comes before the Hebrew letter's form.
    #[test]
    fn members_are_in_the_order_of_the_rfc() {
        let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
            "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        let names = match Json::parse(text.as_bytes()) {
            Ok(Json::Object(members)) => members.into_iter().map(|(name, _)| name).collect(),
            Ok(_) | Err(_) => Vec::new(),
        };
        assert_eq!(names, ["\r", "1", "\u{80}", "ö", "€", "😀", "\u{fb33}"]);
    }

    #[test]
    fn what_has_no_one_meaning_is_refused() {
        let deepest = format!("{}1{}", "[".repeat(DEPTH_MAX), "]".repeat(DEPTH_MAX));
        assert_eq!(canonical(&deepest), Ok(deepest.clone()));
        let inexact = "a number is larger than JSON carries exactly; send it as a string";
        let table: &[(&str, &str)] = &[
            ("", "EOF"),
            ("{", "EOF"),
            ("1 2", "trailing characters"),
            ("01", "invalid number"),
            ("[1,]", "trailing comma"),
            ("'a'", "expected value"),
            ("NaN", "expected value"),
            ("\u{feff}1", "expected value"),
            (r#"{"a":1,"b":2,"a":1}"#, "a member comes twice"),
            (r#"{"a":1,"\u0061":1}"#, "a member comes twice"),
            (r#"[{"b":{"":1,"":2}}]"#, "a member comes twice"),
            ("9007199254740992", inexact),
            ("-9007199254740992", inexact),
            ("18446744073709551615", inexact),
            ("18446744073709551616", inexact),
            ("9007199254740993.0", inexact),
            ("9007199254740992e0", inexact),
            ("-1e16", inexact),
            ("1e400", "number out of range"),
            (r#""\ud83d""#, "unexpected end of hex escape"),
            (r#""\ude00""#, "lone leading surrogate"),
            ("\"\u{1}\"", "control character"),
            (&format!("[{deepest}]"), "more than 100 levels"),
            (
                &format!("{}1{}", r#"{"a":"#.repeat(101), "}".repeat(101)),
                "more than 100 levels",
            ),
            (&"[".repeat(200_000), "more than 100 levels"),
        ];
        for (text, problem) in table {
            let error = canonical(text).expect_err(text);
            assert!(error.contains(problem), "{text}: {error}");
        }
        let error = Json::parse(b"\"\xff\"").expect_err("it is not UTF-8");
        assert!(error.problem.contains("unicode"), "{error}");
    }

    #[test]
    fn the_largest_exact_numbers_pass() {
        for text in ["9007199254740991", "-9007199254740991"] {
            assert_eq!(canonical(text).as_deref(), Ok(text));
            assert_eq!(canonical(&format!("{text}.0")).as_deref(), Ok(text));
        }
    }
}
