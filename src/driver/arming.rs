//! Which deadlines get a timer, so that somebody comes by in time.
//!
//! A timer costs two writes, so it is set only for what nobody has promised to come by for, and only by a call that
//! changed the record: a poll or a repeat that finds a wait going on leaves it alone. It is set after the record was
//! written. A crash in between, or a store that fails just then, costs nothing but time: the walk over the buckets
//! finds whatever is due.

use super::act::Upstream;
use super::entropy::Entropy;
use super::kv::Kv;
use super::operation::{Left, Operations};
use super::witness::Fact;
use crate::machine::{Due, DueReason, Timestamp};

/// Which deadlines a call sets timers for.
///
/// A lease never gets one here. Its holder is expected to be heard of, and a holder that dies in a client's request
/// is found by the walk, or by the client's own repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timers {
    /// Retries, delayed starts and deliveries: an operation that leaves an event to deliver takes two more writes.
    #[default]
    All,
    /// All but a delivery that is due at once, which the caller relays itself as soon as it has answered. Should it die
    /// before, the walk finds the event.
    CallerRelays,
    /// None: everything is left to the walk.
    Never,
}

impl Timers {
    /// The same once the caller has relayed, and nobody else is going to.
    pub(super) const fn once_relayed(self) -> Self {
        match self {
            Self::All | Self::CallerRelays => Self::All,
            Self::Never => Self::Never,
        }
    }

    /// When somebody has to come by for this deadline; `None` where nobody has to, or somebody is going to.
    fn instant(self, due: Due, now: Timestamp) -> Option<Timestamp> {
        let is_wanted = match due.reason {
            DueReason::Start | DueReason::Retry => self != Self::Never,
            DueReason::Delivery => match self {
                Self::All => true,
                Self::CallerRelays => !due.at.is_reached(now),
                Self::Never => false,
            },
            DueReason::LeaseEnd
            | DueReason::DeliveryLeaseEnd
            | DueReason::AttemptTimeout
            | DueReason::TotalDeadline
            | DueReason::Expiry => false,
        };
        is_wanted.then_some(due.at)
    }
}

impl<K: Kv, U: Upstream> Operations<'_, K, U> {
    /// Sets the timer that a changed record needs.
    pub(super) async fn arm(&self, timers: Timers, left: &Left, entropy: &mut Entropy) {
        let record = &left.step.record;
        let now = left.step.now;
        if let Some(at) = timers
            .instant(record.due(), now)
            .filter(|_| left.is_changed)
        {
            let (id, at_ms) = (record.identity().id, at.as_unix_ms());
            // The record is in the store, and that is what the caller was promised.
            let timer = self.store.add_timer(id, at_ms, now.as_unix_ms(), entropy);
            if let Err(error) = timer.await {
                self.witness.note(Fact::StoreFailed(&error), now);
            }
        }
    }
}
