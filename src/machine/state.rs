//! Where an operation stands. Each state carries the data that only it has.

use serde::Serialize;

use super::failure::EndReason;
use super::limits;
use super::message::OperationResult;
use super::time::{Due, DueReason, Timestamp};
use reprise_json::cursor::{Cursor, FromJson, Misfit, from_cases};

/// The state of an operation. The module's header draws how they follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The first attempt of a fresh start has yet to come.
    Queued {
        /// When it may start.
        due: Timestamp,
    },
    /// An attempt is under way, or its holder crashed.
    Running(Running),
    /// The last attempt failed and the next one is scheduled.
    Waiting {
        /// When the next attempt may start.
        retry_at: Timestamp,
        /// What set that instant.
        reason: WaitReason,
    },
    /// The operation has its result.
    Done {
        /// What every repeat gets.
        result: OperationResult,
        /// When the record may be forgotten.
        expires_at: Timestamp,
    },
    /// The operation ended without a result.
    Failed {
        /// Why; the last error of an attempt is in the record.
        error: EndReason,
        /// When the record may be forgotten.
        expires_at: Timestamp,
    },
    /// The operation was called off.
    Cancelled {
        /// When the record may be forgotten.
        expires_at: Timestamp,
    },
}

/// An attempt under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Running {
    /// The attempt's number over all cycles, from 1. An outcome counts only when it names this number.
    pub attempt: u32,
    /// When the holder started it, by its own clock.
    pub started_at: Timestamp,
    /// Until when nobody else may take over, by the holder's clock.
    pub lease_until: Timestamp,
}

/// What set the instant of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// Our own backoff.
    Backoff,
    /// The upstream asked for a longer wait than our own.
    ServerHint,
}

impl State {
    /// The names of all states.
    pub const NAMES: [&str; 6] = [
        "queued",
        "running",
        "waiting",
        "done",
        "failed",
        "cancelled",
    ];

    /// Whether the operation has ended.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Queued { .. } | Self::Running(_) | Self::Waiting { .. } => false,
            Self::Done { .. } | Self::Failed { .. } | Self::Cancelled { .. } => true,
        }
    }

    /// The state's name, as clients and operators read it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Queued { .. } => "queued",
            Self::Running(_) => "running",
            Self::Waiting { .. } => "waiting",
            Self::Done { .. } => "done",
            Self::Failed { .. } => "failed",
            Self::Cancelled { .. } => "cancelled",
        }
    }

    /// The next deadline of the state itself.
    pub fn due(&self) -> Due {
        match self {
            Self::Queued { due } => Due::new(*due, DueReason::Start),
            Self::Running(running) => Due::new(running.lease_until, DueReason::LeaseEnd),
            Self::Waiting { retry_at, .. } => Due::new(*retry_at, DueReason::Retry),
            Self::Done { expires_at, .. }
            | Self::Failed { expires_at, .. }
            | Self::Cancelled { expires_at } => Due::new(*expires_at, DueReason::Expiry),
        }
    }
}

impl FromJson for Running {
    /// A record without a lease is not an orphan: its holder may be at work, so it gets the longest lease that any policy
    /// allows, counted from its start.
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.object(|members| {
            let attempt = members.take("attempt")?;
            let started_at: Timestamp = members.take("started_at")?;
            let lease_until: Option<Timestamp> = members.take("lease_until")?;
            Ok(Self {
                attempt,
                started_at,
                lease_until: lease_until.unwrap_or(started_at.after(limits::LEASE_MAX)),
            })
        })
    }
}

from_cases!(State {
    "queued" => Queued { due },
    "running" => Running(Running),
    "waiting" => Waiting { retry_at, reason },
    "done" => Done { result, expires_at },
    "failed" => Failed { error, expires_at },
    "cancelled" => Cancelled { expires_at },
});

impl FromJson for WaitReason {
    fn from_json(cursor: &mut Cursor<'_>) -> Result<Self, Misfit> {
        cursor.one_of(&[
            ("backoff", Self::Backoff),
            ("server_hint", Self::ServerHint),
        ])
    }
}
