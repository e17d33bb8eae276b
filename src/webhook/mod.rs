//! How an event looks on its way: a CloudEvent 1.0 over HTTP, signed as Standard Webhooks 1.0.0 are.
//!
//! - [`CloudEvent`] is an event whose attributes are known to be sound; [`Mode`] says where they go in a message.
//! - [`Secret`]s sign messages, and [`Secrets`] verify them.
//! - [`seal`] builds the message of one delivery, and [`open`] takes one apart. Whoever receives events needs `open`
//!   alone: it answers with an event only when its id is inside of what was signed.
//! - [`CloudEvent::of_delivery`] and [`outcome_of`] are for whoever sends what an outbox holds.
//!
//! Nothing here sends, receives, stores or asks a clock.

mod attribute;
mod binary;
mod cloudevent;
mod delivery;
mod message;
mod relay;
mod rfc3339;
mod signature;
mod structured;

pub use attribute::CodingError;
pub use cloudevent::{CloudEvent, EventError, EventParts};
pub use delivery::{OpenError, Receiver, open, seal};
pub use message::{BindingError, Message, Mode, parse};
pub use relay::{is_disabled_by, outcome_of};
pub use rfc3339::{parse as parse_rfc_3339, rfc_3339};
pub use signature::{
    MessageId, MessageIdError, SIGNATURE_HEADERS, Secret, SecretError, Secrets, VerifyError,
};

/// Limits of what is sent and accepted, each with its reason.
pub mod limits {
    use crate::machine::Millis;

    /// How far a signature's time may lie from ours, either way: what Standard Webhooks' own libraries allow.
    pub const TIMESTAMP_TOLERANCE: Millis = Millis::from_secs(5 * 60);
    /// The shortest secret, in bytes. Standard Webhooks asks for 24 to 64 random bytes.
    pub const SECRET_BYTES_MIN: usize = 24;
    /// The longest secret, in bytes.
    pub const SECRET_BYTES_MAX: usize = 64;
    /// Secrets that are in force at once. A rotation needs two; each more is one more HMAC for every message.
    pub const SECRETS_MAX: usize = 8;
    /// Signatures that are looked at in one message. A sender that rotates its secrets sends a few.
    pub const SIGNATURES_MAX: usize = 16;
    /// Bytes of an event's id, which is also that of its message.
    pub const ID_BYTES_MAX: usize = 255;
    /// Bytes of any other attribute. All of them together must fit the 8 KB of headers that servers commonly take.
    pub const ATTRIBUTE_BYTES_MAX: usize = 1_024;
}
