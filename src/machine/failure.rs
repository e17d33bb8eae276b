//! What goes wrong: the error of one attempt, and why an operation ended without a result.

use serde::Serialize;

use super::limits;
use reprise_json::cursor::{Cursor, FromJson, Misfit, from_cases, from_object};

/// The error of one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptError {
    kind: ErrorKind,
    detail: String,
}

impl AttemptError {
    /// An error with a detail for people. The detail is cut to its limit, and control characters become spaces.
    pub fn new(kind: ErrorKind, detail: &str) -> Self {
        let end = detail.floor_char_boundary(limits::ERROR_DETAIL_BYTES_MAX);
        let detail = detail[..end]
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        Self { kind, detail }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The detail for people; nothing may depend on its words.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Whether the detail is within its limit.
    pub(super) fn is_bounded(&self) -> bool {
        self.detail.len() <= limits::ERROR_DETAIL_BYTES_MAX
            && !self.detail.contains(char::is_control)
    }
}

/// The kinds of error that an attempt can end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The upstream answered with this HTTP status.
    Status(u16),
    /// The attempt's time was over.
    TimedOut,
    /// The upstream could not be reached.
    Unreachable,
    /// The connection broke before the response was complete.
    BrokenOff,
    /// A handler of our own could not do its work.
    Handler,
}

/// Why an operation ended as failed. The last real error of an attempt is kept beside it, in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// An attempt ended with an error that another attempt cannot help.
    NotRetryable,
    /// The cycle has no attempts left.
    AttemptsExhausted,
    /// One crash too many.
    CyclesExhausted,
    /// An attempt was lost and the upstream may not be called twice: nobody knows whether it took effect.
    AttemptLost,
    /// The next attempt would have come at or after the total deadline.
    DeadlinePassed,
    /// The upstream's retry budget was empty.
    BudgetEmpty,
}

from_object!(AttemptError { kind, detail });

from_cases!(ErrorKind {
    "status" => Status(u16),
    "timed_out" => TimedOut,
    "unreachable" => Unreachable,
    "broken_off" => BrokenOff,
    "handler" => Handler,
});

impl FromJson for EndReason {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.one_of(&[
            ("not_retryable", Self::NotRetryable),
            ("attempts_exhausted", Self::AttemptsExhausted),
            ("cycles_exhausted", Self::CyclesExhausted),
            ("attempt_lost", Self::AttemptLost),
            ("deadline_passed", Self::DeadlinePassed),
            ("budget_empty", Self::BudgetEmpty),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::{AttemptError, ErrorKind};
    use crate::limits::ERROR_DETAIL_BYTES_MAX;

    #[test]
    fn a_detail_is_cut_between_characters_and_has_no_control_characters() {
        let error = AttemptError::new(ErrorKind::Handler, &"я".repeat(200));
        assert_eq!(error.detail().len(), ERROR_DETAIL_BYTES_MAX);
        let error = AttemptError::new(ErrorKind::Handler, &format!("a{}", "я".repeat(200)));
        assert_eq!(error.detail().len(), ERROR_DETAIL_BYTES_MAX - 1);
        assert_eq!(
            AttemptError::new(ErrorKind::TimedOut, "a\r\nb\u{85}").detail(),
            "a  b "
        );
    }
}
