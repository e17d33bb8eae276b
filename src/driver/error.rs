//! Why the driver could not move an operation.

use std::fmt;

use super::store::StoreError;
use crate::machine::DecodeError;

/// Why an operation could not be moved. What was stored before is still there, and the next call goes on from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverError {
    /// The store failed.
    Store(StoreError),
    /// A record cannot be read by this version. It is left alone.
    Record(DecodeError),
    /// Others kept changing the record for as long as we were ready to go on.
    Contended,
}

impl From<StoreError> for DriverError {
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

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Record(error) => error.fmt(f),
            Self::Contended => f.write_str("too many writers met on one record"),
        }
    }
}

impl std::error::Error for DriverError {}
