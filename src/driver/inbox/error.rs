//! Why an inbox did not take an event.

use core::fmt;

use crate::driver::store::StoreError;

/// Why an event was not taken. Only a rejected one is the sender's to mend; any other may be sent again as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxError {
    /// The event is one that no redelivery makes acceptable.
    Rejected(Rejection),
    /// The store failed.
    Store(StoreError),
    /// The shard has as many products as fit into one value.
    Full,
    /// Others kept changing the shard for as long as we were ready to go on, or have left it more marks than fit.
    Contended,
    /// A shard is not what this version writes. It is left alone.
    Corrupt(&'static str),
}

/// Why an event is refused for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Its data is not that of an order.
    Malformed {
        /// What is wrong, for people.
        problem: String,
    },
    /// It does not say when it happened, so nobody could tell when it may be forgotten.
    NoTime,
    /// It is so old that it may have been applied and forgotten.
    TooOld,
    /// It is from the future, further than clocks differ.
    TooNew,
}

impl From<Rejection> for InboxError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<StoreError> for InboxError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Contended => Self::Contended,
            StoreError::Unavailable(_)
            | StoreError::Crowded
            | StoreError::Corrupt { .. }
            | StoreError::TooLarge { .. }
            | StoreError::Layout(_) => Self::Store(error),
        }
    }
}

impl fmt::Display for InboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => rejection.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Full => f.write_str("the inbox is full"),
            Self::Contended => f.write_str("too many writers met in one inbox"),
            Self::Corrupt(why) => write!(f, "the inbox cannot be read: {why}"),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { problem } => write!(f, "the event is not an order: {problem}"),
            Self::NoTime => f.write_str("the event has no time"),
            Self::TooOld => f.write_str("the event is too old to tell whether it came before"),
            Self::TooNew => f.write_str("the event is from too far in the future"),
        }
    }
}

impl core::error::Error for InboxError {}
impl core::error::Error for Rejection {}
