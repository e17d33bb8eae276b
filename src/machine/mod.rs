//! The machine: what happens to an operation, as one pure function.
//!
//! ```text
//!  submitted
//!      │
//!      └────────────────▶  Queued ──────────────── deadline passed ────▶ Failed ──┐
//!                             │                                            ▲      │
//!                       due: attempt 1        ┌────────────────────────────│──────┘
//!                             ▼               ▼   retry asked: fresh start │
//!   ┌─ lease over: ──────▶ Running ── terminal error, or a retry that ─────┤
//!   │  next cycle          │  │  │    count, time or budget forbid         │
//!   └──────────────────────┘  │  └──────────────── success ──▶ Done        │
//!                             │  ▲                                         │
//!             retryable error │  │ due, or retry asked: next attempt       │
//!                             ▼  │                                         │
//!                          Waiting ─────────────── deadline passed ────────┘
//!
//!  Queued, Running, Waiting ── cancel asked ──▶ Cancelled
//! ```
//!
//! [`decide()`] takes a record, an event, the time, entropy and a policy, and says what to write and what to do then.
//! The driver loads, decides, writes and acts, in that order; this layer never does any of it. It has no clock, no
//! randomness, no store, no network, nothing asynchronous, no type of HTTP's, and no floats. It is a crate of its own,
//! so that it cannot name what it does not depend on.
//!
//! What always holds:
//! - An attempt is counted when it starts. A wait spends nothing, whoever passes by while it lasts.
//! - An outcome counts only from the attempt that the record names as running.
//! - A retry is charged to the budget when it is scheduled, once.
//! - Nothing is scheduled at or after the total deadline; the last real error is kept.
//! - A record that has ended stays as it is, except that an operator may take a failed one up again.
//! - An event is written with the change that it tells of, and its record stays until it is settled.

// A new case must be thought through at every match on it.
#![warn(clippy::wildcard_enum_match_arm)]

mod attempt;
mod backoff;
mod blob;
pub mod budget;
mod decide;
mod decision;
mod draft;

mod event;
mod failure;
mod hex;
mod history;
pub mod limits;
mod message;
mod origin;
mod outbox;
mod policy;
mod record;
mod relay;
mod retry_after;
mod seed;
mod state;
pub mod stored;
mod time;

pub use self::backoff::Backoff;
pub use self::blob::Blob;
pub use self::budget::{BudgetPolicy, Withdrawal};
pub use self::decide::decide;
pub use self::decision::{AttemptStart, Decision, DeliveryStart, Effect, Refusal, UpstreamKey};
pub use self::draft::{EventDraft, EventDrafts};
pub use self::event::{
    Answer, DeliveryEvent, DeliveryOutcome, Event, OperationEvent, OutboxEvent, Outcome, Question,
    Verdict,
};
pub use self::failure::{AttemptError, EndReason, ErrorKind};
pub use self::hex::{Digest, Hex, HexError, TraceId};
pub use self::history::{AttemptEnd, AttemptEntry, History};
pub use self::limits::LimitError;
pub use self::message::{Headers, Input, Name, OperationResult, ResultBody, is_field_value};
pub use self::origin::{Identity, Origin};
pub use self::outbox::{Delivery, DeliveryState, Outbox};
pub use self::policy::{AttemptPolicy, OnLostAttempt, Policy, PolicyError, PolicySettings, Wait};
pub use self::record::{Progress, Record};
pub use self::retry_after::parse_retry_after;
pub use self::seed::Seed;
pub use self::state::{Running, State, WaitReason};
pub use self::stored::DecodeError;
pub use self::time::{Due, DueReason, Millis, Timestamp};
