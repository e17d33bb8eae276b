//! Standard Webhooks 1.0.0: what is signed, with what, and how a signature is checked.
//!
//! Signed is `{id}.{timestamp}.{body}` with HMAC-SHA256. The timestamp is in whole seconds and belongs to the attempt,
//! not to the event: each delivery is signed anew, under the same id. A receiver accepts any of its secrets, and a
//! sender may sign with several, so secrets can be changed without a message lost.
//!
//! Only symmetric signatures (`v1`) are known here. Others in the same header are skipped, as the specification asks.

use core::fmt;
use core::str::FromStr;

use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

use super::limits;
use crate::machine::{Millis, Timestamp};

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The names of the headers that carry id, timestamp and signatures.
pub const SIGNATURE_HEADERS: [HeaderName; 3] = [ID, TIMESTAMP, SIGNATURE];

const SECRET_PREFIX: &str = "whsec_";
const VERSION: &str = "v1";
const DIGEST_BYTES: usize = 32;

/// A key that signs and verifies. Its text is `whsec_` and the base64 of its bytes.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// Why a text is not a secret. It never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretError {
    /// It does not begin with `whsec_`.
    Prefix,
    /// What follows is not base64.
    Base64,
    /// It has too few or too many bytes.
    Length {
        /// How many it has.
        bytes: usize,
    },
}

impl Secret {
    /// Takes the bytes of a secret.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, SecretError> {
        let bytes = bytes.into();
        match bytes.len() {
            limits::SECRET_BYTES_MIN..=limits::SECRET_BYTES_MAX => Ok(Self(bytes)),
            bytes => Err(SecretError::Length { bytes }),
        }
    }

    fn digest(&self, id: &str, seconds: &str, body: &[u8]) -> [u8; DIGEST_BYTES] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl FromStr for Secret {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        let base64 = text
            .strip_prefix(SECRET_PREFIX)
            .ok_or(SecretError::Prefix)?;
        Self::new(Base64::decode_vec(base64).map_err(|_| SecretError::Base64)?)
    }
}

impl fmt::Debug for Secret {
    /// Shows that there is one, and nothing of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (min, max) = (limits::SECRET_BYTES_MIN, limits::SECRET_BYTES_MAX);
        match self {
            Self::Prefix => write!(f, "a webhook secret begins with {SECRET_PREFIX}"),
            Self::Base64 => write!(
                f,
                "what follows {SECRET_PREFIX} in a webhook secret is base64 with its padding"
            ),
            Self::Length { bytes } => write!(
                f,
                "a webhook secret has {min} to {max} bytes, this one has {bytes}"
            ),
        }
    }
}

impl core::error::Error for SecretError {}

/// The id of a message: the same on every delivery of one event, and inside of what is signed.
///
/// It has 1 to 255 visible ASCII characters and no full stop. The parts of what is signed are joined by full stops, so
/// were one allowed in the id, `a.1` at second 2 and `a` at second 1 with a body that begins with `2.` would have
/// the same signature: whoever saw the one could send the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId(String);

/// Why a text is not the id of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageIdError;

impl MessageId {
    /// Takes `text` as an id.
    pub fn new(text: impl Into<String>) -> Result<Self, MessageIdError> {
        let text = text.into();
        let is_sound = |byte: u8| byte.is_ascii_graphic() && byte != b'.';
        if (1..=limits::ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_sound) {
            Ok(Self(text))
        } else {
            Err(MessageIdError)
        }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = limits::ID_BYTES_MAX;
        write!(
            f,
            "a message id has 1 to {max} visible ASCII characters and no full stop"
        )
    }
}

impl core::error::Error for MessageIdError {}

/// The secrets in force, newest first: 1 to 8 of them.
#[derive(Clone, Debug)]
pub struct Secrets(Vec<Secret>);

impl Secrets {
    /// Takes `secrets`, or `None` when there are none or too many of them.
    pub fn new(secrets: Vec<Secret>) -> Option<Self> {
        (1..=limits::SECRETS_MAX)
            .contains(&secrets.len())
            .then_some(Self(secrets))
    }

    /// The header lines that sign `body` at `now`: one signature for each secret.
    pub fn sign(&self, id: &MessageId, now: Timestamp, body: &[u8]) -> [(HeaderName, String); 3] {
        let seconds = (now.as_unix_ms() / 1_000).to_string();
        let mut signatures = String::new();
        for secret in &self.0 {
            let digest = secret.digest(id.as_str(), &seconds, body);
            let space = if signatures.is_empty() { "" } else { " " };
            signatures.extend([space, VERSION, ",", &Base64::encode_string(&digest)]);
        }
        [
            (ID, id.as_str().to_owned()),
            (TIMESTAMP, seconds),
            (SIGNATURE, signatures),
        ]
    }

    /// Answers the id of a message that one of the secrets has signed, within the tolerance around `now`.
    ///
    /// Each signature is compared with what each secret would have written, always all of them, and each in a time that
    /// does not depend on where they differ.
    pub fn verify(
        &self,
        headers: &HeaderMap,
        now: Timestamp,
        body: &[u8],
    ) -> Result<MessageId, VerifyError> {
        let id = MessageId::new(one(headers, &ID)?).map_err(VerifyError::Id)?;
        let seconds = one(headers, &TIMESTAMP)?;
        let signed_at = read_seconds(seconds).ok_or(VerifyError::Malformed(TIMESTAMP))?;
        let signatures = read_signatures(one(headers, &SIGNATURE)?)?;
        let tolerance = limits::TIMESTAMP_TOLERANCE;
        if now.since(signed_at) > tolerance {
            return Err(VerifyError::TooOld);
        }
        if signed_at.since(now) > tolerance {
            return Err(VerifyError::TooNew);
        }
        let mut is_signed = Choice::from(0);
        for secret in &self.0 {
            let expected = secret.digest(id.as_str(), seconds, body);
            for signature in &signatures {
                is_signed |= expected.ct_eq(signature);
            }
        }
        if bool::from(is_signed) {
            Ok(id)
        } else {
            Err(VerifyError::NoMatch)
        }
    }
}

/// Why a message does not count as signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// This header is not there.
    Missing(HeaderName),
    /// This header is there more than once, so that two readers could go by different ones.
    Repeated(HeaderName),
    /// This header cannot be read.
    Malformed(HeaderName),
    /// The id is none.
    Id(MessageIdError),
    /// It was signed too long ago: it may be an old message that somebody sends again.
    TooOld,
    /// It was signed too far in the future.
    TooNew,
    /// None of its signatures is one of ours.
    NoMatch,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "the header {name} is missing"),
            Self::Repeated(name) => write!(f, "the header {name} is there more than once"),
            Self::Malformed(name) => write!(f, "the header {name} cannot be read"),
            Self::Id(error) => error.fmt(f),
            Self::TooOld => f.write_str("the message was signed too long ago"),
            Self::TooNew => f.write_str("the message was signed too far in the future"),
            Self::NoMatch => f.write_str("no signature of the message matches"),
        }
    }
}

impl core::error::Error for VerifyError {}

/// The value of a header that has to be there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, VerifyError> {
    let mut values = headers.get_all(name).iter();
    let value = values
        .next()
        .ok_or_else(|| VerifyError::Missing(name.clone()))?;
    if values.next().is_some() {
        return Err(VerifyError::Repeated(name.clone()));
    }
    value
        .to_str()
        .map_err(|_| VerifyError::Malformed(name.clone()))
}

/// Whole seconds since the Unix epoch, in digits alone: the signature covers their spelling.
fn read_seconds(text: &str) -> Option<Timestamp> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let wait = Millis::from_secs(text.parse().ok()?);
    Some(Timestamp::from_unix_ms(0).after(wait))
}

/// The digests of the header's `v1` signatures. Signatures of other versions are skipped; anything else is refused.
fn read_signatures(value: &str) -> Result<Vec<[u8; DIGEST_BYTES]>, VerifyError> {
    let malformed = || VerifyError::Malformed(SIGNATURE);
    let mut digests = Vec::new();
    for (position, signature) in value.split(' ').enumerate() {
        let (version, base64) = signature.split_once(',').ok_or_else(malformed)?;
        if position >= limits::SIGNATURES_MAX {
            return Err(malformed());
        }
        if version != VERSION {
            continue;
        }
        // A digest of another length can match nothing.
        let digest = Base64::decode_vec(base64).map_err(|_| malformed())?;
        digests.extend(<[u8; DIGEST_BYTES]>::try_from(digest));
    }
    Ok(digests)
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
