//! The reference's own vector, and every way to be refused.

use super::*;
use http::HeaderValue;

/// The vector in the tests of Standard Webhooks' reference libraries.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const MESSAGE_ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const SIGNED_AT: Timestamp = Timestamp::from_unix_ms(1_614_265_330_000);
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const EXPECTED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn secrets(texts: &[&str]) -> Secrets {
    let secrets = texts.iter().map(|text| text.parse().expect("a secret"));
    Secrets::new(secrets.collect()).expect("a few secrets")
}

fn other(byte: u8) -> String {
    format!("whsec_{}", Base64::encode_string(&[byte; 32]))
}

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let line = |(name, value): &(&'static str, &str)| {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header's value");
        (HeaderName::from_static(name), value)
    };
    lines.iter().map(line).collect()
}

/// The vector's headers, with one of them replaced, or left out for an empty value.
fn with(name: &str, value: &str) -> HeaderMap {
    let vector = [
        ("webhook-id", MESSAGE_ID),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", EXPECTED),
    ];
    let lines = vector.map(|line| {
        if line.0 == name {
            (line.0, value)
        } else {
            line
        }
    });
    let kept: Vec<_> = lines
        .into_iter()
        .filter(|line| !line.1.is_empty())
        .collect();
    headers(&kept)
}

#[test]
fn the_reference_vector_is_signed_and_verified() {
    let id = MessageId::new(MESSAGE_ID).expect("an id");
    let lines = secrets(&[SECRET]).sign(&id, SIGNED_AT, BODY);
    let lines = lines.map(|(name, value)| (name.to_string(), value));
    let expected = [
        ("webhook-id", MESSAGE_ID),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", EXPECTED),
    ];
    assert_eq!(lines, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    assert_eq!(
        secrets(&[SECRET]).verify(&with("", ""), SIGNED_AT, BODY),
        Ok(id)
    );
}

#[test]
fn a_rotation_loses_no_message() {
    let (old, new) = (other(1), other(2));
    let id = MessageId::new("a").expect("an id");
    let signed = |by: &[&str]| -> HeaderMap {
        let lines = secrets(by).sign(&id, SIGNED_AT, b"x");
        lines
            .map(|(name, value)| (name, value.parse().expect("a header's value")))
            .into_iter()
            .collect()
    };
    let table: &[(&[&str], &[&str], bool)] = &[
        (&[&old], &[&old], true),
        (&[&old], &[&new, &old], true),
        (&[&new, &old], &[&old], true),
        (&[&new, &old], &[&new], true),
        (&[&new], &[&new, &old], true),
        (&[&new], &[&old], false),
    ];
    for (by, accepted, is_accepted) in table {
        let verified = secrets(accepted).verify(&signed(by), SIGNED_AT, b"x");
        let expected = if *is_accepted {
            Ok(id.clone())
        } else {
            Err(VerifyError::NoMatch)
        };
        assert_eq!(
            verified, expected,
            "signed by {by:?}, {accepted:?} accepted"
        );
    }
}

#[test]
fn the_tolerance_is_five_minutes_either_way() {
    let at = |ms: i64| {
        let now = SIGNED_AT
            .as_unix_ms()
            .checked_add_signed(ms)
            .expect("a time");
        let now = Timestamp::from_unix_ms(now);
        secrets(&[SECRET])
            .verify(&with("", ""), now, BODY)
            .map(drop)
    };
    let table = [
        (-300_001, Err(VerifyError::TooNew)),
        (-300_000, Ok(())),
        (0, Ok(())),
        (300_000, Ok(())),
        (300_001, Err(VerifyError::TooOld)),
    ];
    for (ms, expected) in table {
        assert_eq!(at(ms), expected, "{ms} ms after it was signed");
    }
}

#[test]
fn whatever_is_not_as_it_was_signed_is_refused() {
    let id = || Err(VerifyError::Id(MessageIdError));
    let malformed = |name| Err(VerifyError::Malformed(name));
    let missing = |name| Err(VerifyError::Missing(name));
    let many = vec!["v2,AA=="; 16].join(" ");
    let table: &[(&str, &str, Result<(), VerifyError>)] = &[
        ("webhook-id", "", missing(ID)),
        (
            "webhook-id",
            "msg_p5jXN8AQM9LWM0D4loKWxJeK",
            Err(VerifyError::NoMatch),
        ),
        ("webhook-id", "msg.1", id()),
        ("webhook-id", "a b", id()),
        ("webhook-id", &"x".repeat(256), id()),
        ("webhook-timestamp", "", missing(TIMESTAMP)),
        ("webhook-timestamp", "1614265331", Err(VerifyError::NoMatch)),
        (
            "webhook-timestamp",
            "01614265330",
            Err(VerifyError::NoMatch),
        ),
        ("webhook-timestamp", "+1614265330", malformed(TIMESTAMP)),
        ("webhook-timestamp", "1614265330.0", malformed(TIMESTAMP)),
        ("webhook-timestamp", "soon", malformed(TIMESTAMP)),
        (
            "webhook-timestamp",
            "99999999999999999999",
            malformed(TIMESTAMP),
        ),
        ("webhook-timestamp", "0", Err(VerifyError::TooOld)),
        (
            "webhook-timestamp",
            "18446744073709551615",
            Err(VerifyError::TooNew),
        ),
        ("webhook-signature", "", missing(SIGNATURE)),
        ("webhook-signature", "v1", malformed(SIGNATURE)),
        ("webhook-signature", "v1,***", malformed(SIGNATURE)),
        ("webhook-signature", "v1,g0hM", Err(VerifyError::NoMatch)),
        (
            "webhook-signature",
            &EXPECTED.replace("g0", "g1"),
            Err(VerifyError::NoMatch),
        ),
        (
            "webhook-signature",
            &EXPECTED.replace("v1", "v2"),
            Err(VerifyError::NoMatch),
        ),
        (
            "webhook-signature",
            &format!("{EXPECTED} "),
            malformed(SIGNATURE),
        ),
        ("webhook-signature", &format!("v1a,?? {EXPECTED}"), Ok(())),
        (
            "webhook-signature",
            &format!("{} {EXPECTED}", &many[..many.len() - 8]),
            Ok(()),
        ),
        (
            "webhook-signature",
            &format!("{many} {EXPECTED}"),
            malformed(SIGNATURE),
        ),
        ("webhook-signature", "v1,зачем", malformed(SIGNATURE)),
    ];
    for (name, value, expected) in table {
        let verified = secrets(&[SECRET]).verify(&with(name, value), SIGNED_AT, BODY);
        assert_eq!(verified.map(drop), *expected, "{name}: {value:?}");
    }
    let verified = secrets(&[SECRET]).verify(&with("", ""), SIGNED_AT, b"{}");
    assert_eq!(verified, Err(VerifyError::NoMatch));
    for name in SIGNATURE_HEADERS {
        let mut headers = with("", "");
        let value = headers.get(&name).expect("the vector has it").clone();
        headers.append(&name, value);
        let verified = secrets(&[SECRET]).verify(&headers, SIGNED_AT, BODY);
        assert_eq!(verified, Err(VerifyError::Repeated(name)));
    }
}

#[test]
fn a_full_stop_in_an_id_could_move_the_borders_of_what_is_signed() {
    // These two would be signed alike, which is why the first is no id.
    let secret: Secret = SECRET.parse().expect("a secret");
    assert_eq!(
        secret.digest("a.1", "2", b"x"),
        secret.digest("a", "1", b"2.x")
    );
    assert_eq!(MessageId::new("a.1"), Err(MessageIdError));
    let longest = "x".repeat(limits::ID_BYTES_MAX);
    for text in ["a", "~", "0190-7", &longest] {
        let id = MessageId::new(text).map(|id| id.as_str().to_owned());
        assert_eq!(id.as_deref(), Ok(text));
    }
    for text in ["", " ", "é", "a\n", "a\u{7f}"] {
        assert_eq!(MessageId::new(text), Err(MessageIdError), "{text:?}");
    }
}

#[test]
fn a_secret_is_read_strictly_and_never_shown() {
    let length = |bytes| Err(SecretError::Length { bytes });
    let of = |bytes: usize| format!("whsec_{}", Base64::encode_string(&vec![7; bytes]));
    let table: &[(&str, Result<(), SecretError>)] = &[
        (SECRET, Ok(())),
        (&of(24), Ok(())),
        (&of(64), Ok(())),
        (&of(23), length(23)),
        (&of(65), length(65)),
        ("whsec_", length(0)),
        ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Err(SecretError::Prefix)),
        (
            "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            Err(SecretError::Prefix),
        ),
        (
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw!",
            Err(SecretError::Base64),
        ),
        (
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
            Err(SecretError::Base64),
        ),
        (
            " whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            Err(SecretError::Prefix),
        ),
        ("", Err(SecretError::Prefix)),
    ];
    for (text, expected) in table {
        assert_eq!(text.parse::<Secret>().map(drop), *expected, "{text:?}");
    }
    assert_eq!(format!("{:?}", secrets(&[SECRET])), "Secrets([Secret(…)])");
    let words = "a webhook secret has 24 to 64 bytes, this one has 3";
    assert_eq!(SecretError::Length { bytes: 3 }.to_string(), words);
}

#[test]
fn there_is_at_least_one_secret_and_not_too_many() {
    let many = |count| Secrets::new(vec![SECRET.parse().expect("a secret"); count]).is_some();
    assert_eq!([0, 1, 8, 9].map(many), [false, true, true, false]);
}
