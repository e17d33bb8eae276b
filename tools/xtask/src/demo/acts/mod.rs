//! The acts, one a file: what goes wrong, and what comes of it.

mod concurrent;
mod crash;
mod event;
mod lost_answer;
mod mismatch;
mod outage;

use anyhow::Result;

use super::stage::Stage;
use crate::workspace::Workspace;

/// A piece of the story.
pub(crate) struct Act {
    pub(crate) title: &'static str,
    /// What is about to happen, in a line.
    pub(crate) story: &'static str,
    /// Plays it. What was promised and seen is entered; an error says why it could not go on.
    pub(crate) play: fn(&mut Stage, &Workspace) -> Result<()>,
}

/// All acts, in their order.
pub(crate) const ACTS: [Act; 6] = [
    lost_answer::ACT,
    concurrent::ACT,
    mismatch::ACT,
    outage::ACT,
    crash::ACT,
    event::ACT,
];
