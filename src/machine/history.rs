//! The last attempts of an operation, for people.
//!
//! No decision depends on the history; what decisions need is in the record's own fields. It is written in the swaps that
//! end an attempt, so it costs no write of its own. An outcome that comes after somebody took over is therefore not in
//! it: that attempt stays lost.

use serde::Serialize;

use super::failure::{AttemptError, EndReason};
use super::limits;
use super::state::WaitReason;
use super::time::{Millis, Timestamp};
use reprise_json::cursor::{Cursor, FromJson, Misfit, from_cases, from_object};

/// The newest attempts that have ended, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct History(Vec<AttemptEntry>);

impl History {
    /// The entries, oldest first. Attempts before the first one are known by their count alone.
    pub fn entries(&self) -> &[AttemptEntry] {
        &self.0
    }

    /// How many attempts ended before the first entry, and are forgotten.
    pub fn dropped(&self) -> u32 {
        // Attempts are numbered from 1 without a gap, and each one that ends is entered.
        self.0
            .first()
            .map_or(0, |first| first.attempt.saturating_sub(1))
    }

    /// Adds the newest entry and forgets the oldest one when there are too many.
    pub(super) fn push(&mut self, entry: AttemptEntry) {
        if self.0.len() >= limits::HISTORY_ENTRIES_MAX {
            self.0.remove(0);
        }
        self.0.push(entry);
    }

    /// What is wrong with a history that was read from a store and follows `attempts` started attempts, if anything.
    pub(super) fn problem(&self, attempts: u32) -> Option<&'static str> {
        if self.0.len() > limits::HISTORY_ENTRIES_MAX {
            return Some("the history is too long");
        }
        if !self.0.is_sorted_by(|a, b| a.attempt < b.attempt) {
            return Some("the history is out of order");
        }
        if self.0.last().is_some_and(|entry| entry.attempt > attempts) {
            return Some("the history knows an attempt that was not started");
        }
        self.0
            .iter()
            .any(|entry| !entry.is_bounded())
            .then_some("an error's detail is too large")
    }
}

/// One attempt that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttemptEntry {
    /// The attempt's number over all cycles, from 1.
    pub attempt: u32,
    /// When it started.
    pub started_at: Timestamp,
    /// When its end was recorded.
    pub ended_at: Timestamp,
    /// How it ended.
    pub outcome: AttemptEnd,
}

impl AttemptEntry {
    fn is_bounded(&self) -> bool {
        match &self.outcome {
            AttemptEnd::Retrying { error, .. } | AttemptEnd::Failed { error, .. } => {
                error.is_bounded()
            }
            AttemptEnd::Succeeded | AttemptEnd::Lost | AttemptEnd::Abandoned => true,
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// With a result.
    Succeeded,
    /// With an error, and a retry was scheduled.
    Retrying {
        /// The error.
        error: AttemptError,
        /// The wait before the next attempt.
        delay_ms: Millis,
        /// What set it; `None` in what version 1 of the stored form has.
        reason: Option<WaitReason>,
    },
    /// With an error that ended the operation.
    Failed {
        /// The error.
        error: AttemptError,
        /// Why there was no further attempt; `None` in what version 1 of the stored form has.
        reason: Option<EndReason>,
    },
    /// Its lease ran out: the holder crashed, or was slower than its lease.
    Lost,
    /// The operation was cancelled while it ran; whether it took effect is not known.
    Abandoned,
}

impl FromJson for History {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        Vec::from_json(cursor).map(Self)
    }
}

from_object!(AttemptEntry {
    attempt,
    started_at,
    ended_at,
    outcome
});

from_cases!(AttemptEnd {
    "succeeded" => Succeeded,
    "retrying" => Retrying { error, delay_ms, reason },
    "failed" => Failed { error, reason },
    "lost" => Lost,
    "abandoned" => Abandoned,
});
