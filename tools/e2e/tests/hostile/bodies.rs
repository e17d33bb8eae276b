//! JSON that means harm: what readers differ in is refused, and nothing costs more than its bytes.

use super::setting::Expected::{Forwarded, Problem, Taken};
use super::setting::{Setting, pay};
use reprise_e2e::raw::RawRequest;
use std::cell::Cell;

const INVALID: super::setting::Expected = Problem(400, "invalid-body");

/// Bodies for the upstream, each under a key of its own.
fn json() -> impl Fn(&[u8]) -> RawRequest {
    let keys = Cell::new(0);
    move |body| {
        keys.set(keys.get() + 1);
        pay()
            .line(format!("Idempotency-Key: k{}", keys.get()))
            .body(body)
    }
}

#[test]
fn json_never_costs_more_than_its_bytes() {
    let json = json();
    let nested = |open: &str, close: &str, levels: usize| {
        [open.repeat(levels), "1".to_owned(), close.repeat(levels)].concat()
    };
    let number = |number: &str| json(format!("{{\"a\":{number}}}").as_bytes());
    let members: Vec<String> = (0..8_000).map(|number| format!("\"{number}\":0")).collect();
    Setting::start().hold(&[
        (
            "100 levels",
            json(nested("[", "]", 100).as_bytes()),
            Forwarded,
        ),
        (
            "101 levels",
            json(nested("[", "]", 101).as_bytes()),
            INVALID,
        ),
        (
            "60,000 levels",
            json(nested("[", "]", 60_000).as_bytes()),
            INVALID,
        ),
        (
            "100,000 levels that never end",
            json(&b"[".repeat(100_000)),
            INVALID,
        ),
        (
            "20,000 levels of objects",
            json(nested("{\"a\":", "}", 20_000).as_bytes()),
            INVALID,
        ),
        ("60,000 closed", json(&b"]".repeat(60_000)), INVALID),
        (
            "8,000 members",
            json(format!("{{{}}}", members.join(",")).as_bytes()),
            Forwarded,
        ),
        (
            "60,000 items",
            json(format!("[{}0]", "0,".repeat(30_000)).as_bytes()),
            Forwarded,
        ),
        ("a number beyond floats", number("1e999"), INVALID),
        (
            "a number of 60,000 digits",
            number(&"9".repeat(60_000)),
            INVALID,
        ),
        (
            "60,000 decimals",
            number(&format!("0.{}", "9".repeat(60_000))),
            Forwarded,
        ),
        (
            "an exponent without end",
            number(&format!("1e{}", "9".repeat(60_000))),
            INVALID,
        ),
        ("a tiny number", number("1e-99999999999"), Forwarded),
        (
            "one more than is exact",
            number("9007199254740992"),
            INVALID,
        ),
        ("no number", number("NaN"), INVALID),
        ("a plus", number("+1"), INVALID),
        ("a leading zero", number("01"), INVALID),
        ("nothing", json(b""), INVALID),
        ("white space", json(&b" ".repeat(60_000)), INVALID),
        (
            "white space around",
            json(format!("{0}1{0}", " ".repeat(30_000)).as_bytes()),
            Forwarded,
        ),
        (
            "too much of it",
            json(&b" ".repeat(131_073)),
            Problem(413, "body-too-large"),
        ),
        (
            "too much of it, unannounced",
            pay()
                .line("Idempotency-Key: unannounced")
                .line("Transfer-Encoding: chunked")
                .unframed(format!("20001\r\n{}\r\n0\r\n\r\n", " ".repeat(131_073))),
            Problem(413, "body-too-large"),
        ),
    ]);
}

#[test]
fn json_that_readers_differ_in_is_refused() {
    let json = json();
    Setting::start().hold(&[
        ("a member twice", json(br#"{"a":1,"a":2}"#), INVALID),
        (
            "a member twice, spelled otherwise",
            json(br#"{"a":1,"\u0061":2}"#),
            INVALID,
        ),
        (
            "a member twice, deep down",
            json(br#"[{"b":{"a":1,"a":1}}]"#),
            INVALID,
        ),
        ("no UTF-8", json(b"{\"a\":\"\xff\"}"), INVALID),
        ("an overlong slash", json(b"{\"a\":\"\xc0\xaf\"}"), INVALID),
        (
            "a surrogate in UTF-8",
            json(b"{\"a\":\"\xed\xa0\x80\"}"),
            INVALID,
        ),
        ("half a pair", json(br#"{"a":"\ud800"}"#), INVALID),
        ("the wrong half", json(br#"{"a":"\udc00"}"#), INVALID),
        ("a NUL, escaped", json(br#"{"a":"\u0000"}"#), Forwarded),
        ("a NUL as it is", json(b"{\"a\":\"\0\"}"), INVALID),
        ("a line break in a string", json(b"{\"a\":\"\n\"}"), INVALID),
        ("a byte order mark", json(b"\xef\xbb\xbf{}"), INVALID),
        ("UTF-16", json(b"\xff\xfe{\0}\0"), INVALID),
        ("a comment", json(b"{}//"), INVALID),
        ("two values", json(b"{}{}"), INVALID),
        ("a comma too much", json(br#"{"a":1,}"#), INVALID),
    ]);
}

#[test]
fn an_order_and_a_task_are_read_as_strictly() {
    let order = |key: &str, body: &str| {
        let request = RawRequest::new("POST", "/orders").line("Content-Type: application/json");
        request.line(format!("Idempotency-Key: {key}")).body(body)
    };
    let task = |body: &[u8]| {
        RawRequest::new("POST", "/tasks")
            .line("Content-Type: application/json")
            .body(body)
    };
    let deep = format!(
        "{{\"product_id\":1,\"quantity\":{}1{}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    Setting::start().hold(&[
        (
            "an order",
            order("a", r#"{"product_id":1,"quantity":1}"#),
            Taken(201),
        ),
        (
            "a constructor",
            order("b", r#"{"product_id":1,"quantity":1,"__proto__":{}}"#),
            INVALID,
        ),
        (
            "a negative one",
            order("c", r#"{"product_id":1,"quantity":-1}"#),
            INVALID,
        ),
        (
            "a huge one",
            order("d", r#"{"product_id":1,"quantity":1e308}"#),
            INVALID,
        ),
        ("a deep one", order("e", &deep), INVALID),
        (
            "a text",
            task("{\"text\":\"\\u0000 \u{202e} \u{1f9d1}\u{200d}\u{1f680}\"}".as_bytes()),
            Taken(201),
        ),
        (
            "a text of marks that join",
            task(format!("{{\"text\":\"a{}\"}}", "\u{301}".repeat(60_000)).as_bytes()),
            Taken(201),
        ),
        ("no text", task(br#"{"text":["a"]}"#), INVALID),
    ]);
}

/// Who has not finished sending when the answer is there gets to read it all the same: what is left of the body is passed
/// over, a megabyte of it.
#[test]
fn a_body_that_is_too_large_is_told_so_and_not_cut_off() {
    const LARGE: usize = 600 * 1_024;
    let setting = Setting::start();
    let chunked = || {
        let chunk = [b"1000\r\n".as_slice(), &[b'x'; 0x1000], b"\r\n"].concat();
        let body = [chunk.repeat(LARGE / 0x1000), b"0\r\n\r\n".to_vec()].concat();
        pay().line("Transfer-Encoding: chunked").unframed(body)
    };
    let key = || pay().line("Idempotency-Key: k");
    for _ in 0..10 {
        setting.hold(&[
            (
                "its length says so",
                key().body(vec![b'x'; LARGE]),
                Problem(413, "body-too-large"),
            ),
            (
                "its chunks show it",
                chunked().line("Idempotency-Key: k"),
                Problem(413, "body-too-large"),
            ),
            (
                "refused for another reason",
                pay().body(vec![b'x'; LARGE]),
                Problem(400, "idempotency-key-missing"),
            ),
        ]);
    }
}
