//! A charge: what a client asks for, and what it becomes.

use crate::behaviour::Behaviour;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use sha2::{Digest as _, Sha256};

/// The body of a request for a charge. Members that are not here are ignored, as real providers do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct ChargeRequest {
    /// In minor units, and not 0. JSON has one kind of number, so 2.0 is 2.
    #[serde(deserialize_with = "whole")]
    pub amount: u64,
    /// Three capital letters (ISO 4217).
    pub currency: String,
    /// What the client calls it, and what charges are counted by; empty where the client does not say.
    #[serde(default)]
    pub reference: String,
}

impl ChargeRequest {
    /// Reads a body. The error says what is wrong, for the client.
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let request: Self = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if request.amount == 0 {
            return Err("the amount must be positive".to_owned());
        }
        let letters = request
            .currency
            .bytes()
            .all(|byte| byte.is_ascii_uppercase());
        if request.currency.len() != 3 || !letters {
            return Err("the currency must be three capital letters".to_owned());
        }
        Ok(request)
    }

    /// What happens to it.
    pub fn behaviour(&self) -> Behaviour {
        Behaviour::of(self.amount)
    }

    /// What tells it from other requests under the same key: eight bytes, the first of which is no ASCII. So it is
    /// neither of the two forms in which stores write a counter of 0.
    pub fn fingerprint(&self) -> [u8; 8] {
        let content = serde_json::to_vec(self).expect("numbers and strings have a JSON form");
        let digest = Sha256::digest(content);
        let mut fingerprint = [0; 8];
        fingerprint.copy_from_slice(&digest[..8]);
        fingerprint[0] |= 0x80;
        fingerprint
    }
}

/// Reads a whole number, however it is spelled.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    /// Up to here every whole number has a float of its own.
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    let number = Number::deserialize(deserializer)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is looked at first, and within it a whole number is exact"
    )]
    let of_float = |number: f64| {
        (number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number)).then_some(number as u64)
    };
    let whole = number
        .as_u64()
        .or_else(|| number.as_f64().and_then(of_float));
    whole.ok_or_else(|| serde::de::Error::custom(format!("{number} is not a whole number from 0")))
}

/// A charge as the provider shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Charge {
    /// The same whenever the same charge is asked for.
    pub id: String,
    /// As asked for.
    #[serde(flatten)]
    pub request: ChargeRequest,
    /// Whether the money moves.
    pub status: &'static str,
}

impl Charge {
    /// The charge that a call makes or finds. With a key it depends on nothing but key and request; without one, on
    /// which call of its kind it is.
    pub fn new(request: ChargeRequest, key: Option<&str>, call: u64) -> Self {
        let behaviour = request.behaviour();
        let identity = match key {
            Some(key) => digest(&["key", key]),
            None => digest(&[
                "call",
                behaviour.name(),
                &call.to_string(),
                &request.reference,
            ]),
        };
        let status = match behaviour {
            Behaviour::Declined => "declined",
            Behaviour::Approved
            | Behaviour::UnavailableTwice
            | Behaviour::UnavailableForSeconds
            | Behaviour::UnavailableUntilDate
            | Behaviour::RateLimited
            | Behaviour::Slow
            | Behaviour::CutOff
            | Behaviour::Large
            | Behaviour::PrivateHeaders => "approved",
        };
        Self {
            id: format!("ch_{identity}"),
            request,
            status,
        }
    }
}

/// 128 bits of a hash of these texts, which tells them apart however they are split, in hexadecimal.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        // As wide natively as in the component.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    let mut bits = [0; 16];
    bits.copy_from_slice(&hash.finalize()[..16]);
    format!("{:032x}", u128::from_be_bytes(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_and_what_is_wrong_with_it_told() {
        let body = br#"{"amount":1999,"currency":"EUR","reference":"order-7","more":[1]}"#;
        let request = ChargeRequest::parse(body).unwrap();
        assert_eq!(
            (request.amount, request.reference.as_str()),
            (1_999, "order-7")
        );
        for spelling in ["1999", "1999.0", "1.999e3"] {
            let body = format!(r#"{{"amount":{spelling},"currency":"EUR"}}"#);
            assert_eq!(ChargeRequest::parse(body.as_bytes()).unwrap().amount, 1_999);
        }
        let bare = ChargeRequest::parse(br#"{"amount":1,"currency":"USD"}"#).unwrap();
        assert_eq!(bare.reference, "");
        for (body, reason) in [
            ("", "EOF"),
            ("[]", "invalid"),
            (r#"{"amount":1}"#, "currency"),
            (r#"{"currency":"EUR"}"#, "amount"),
            (r#"{"amount":0,"currency":"EUR"}"#, "positive"),
            (r#"{"amount":-1,"currency":"EUR"}"#, "-1"),
            (r#"{"amount":1.5,"currency":"EUR"}"#, "1.5"),
            (r#"{"amount":1e300,"currency":"EUR"}"#, "1e+300"),
            (r#"{"amount":"1","currency":"EUR"}"#, "string"),
            (r#"{"amount":1,"currency":"eur"}"#, "three capital letters"),
            (r#"{"amount":1,"currency":"EURO"}"#, "three capital letters"),
            (r#"{"amount":1,"currency":"EUR","reference":5}"#, "integer"),
            (r#"{"amount":1,"amount":2,"currency":"EUR"}"#, "duplicate"),
        ] {
            let error = ChargeRequest::parse(body.as_bytes()).expect_err(body);
            assert!(error.contains(reason), "{body}: {error}");
        }
    }

    #[test]
    fn a_fingerprint_tells_requests_apart_by_what_counts() {
        let parse = |body: &str| ChargeRequest::parse(body.as_bytes()).unwrap().fingerprint();
        let one = parse(r#"{"amount":1,"currency":"EUR","reference":"a"}"#);
        assert_eq!(
            one,
            parse(r#"{"reference":"a","note":1,"currency":"EUR","amount":1}"#)
        );
        for other in [
            r#"{"amount":2,"currency":"EUR","reference":"a"}"#,
            r#"{"amount":1,"currency":"USD","reference":"a"}"#,
            r#"{"amount":1,"currency":"EUR","reference":"b"}"#,
            r#"{"amount":1,"currency":"EUR"}"#,
        ] {
            assert_ne!(one, parse(other), "{other}");
        }
        assert!(!one[0].is_ascii());
    }

    #[test]
    fn an_id_is_the_key_s_or_the_call_s() {
        let request = ChargeRequest::parse(br#"{"amount":1,"currency":"EUR"}"#).unwrap();
        let id = |key, call| Charge::new(request.clone(), key, call).id;
        assert_eq!(id(Some("a"), 1), id(Some("a"), 2));
        assert_ne!(id(Some("a"), 1), id(Some("b"), 1));
        assert_ne!(id(None, 1), id(None, 2));
        assert_eq!(id(None, 1), id(None, 1));
    }
}
