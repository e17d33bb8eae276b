//! The loop: load, decide, write, act.
//!
//! ```text
//!            ┌───────────────── what happened ──────────────────┐
//!            ▼                                                  │
//!  load ──▶ decide ──▶ write, fenced by the revision ──▶ act ───┘
//!            ▲                │
//!            └─── conflict ───┘  the decision is void: read what is there, decide again
//! ```
//!
//! An effect is carried out only after its write is in the store, so an attempt that was not counted never runs. A
//! crash at any point leaves a record that says what was under way and until when; nothing here cleans up.
//!
//! One call runs one attempt at most: what comes after an attempt is either an end or a wait, and nobody waits here.

use super::act::{Acted, Step, Upstream};
use super::arming::Timers;
use super::entropy::Entropy;
use super::error::DriverError;
use super::kv::Kv;
use super::store::{Created, Identity, NewRecord, Node, Sought, Store, Vacancy};
use super::witness::{Fact, Witness};
use super::write::{Found, expires_at_ms};
use crate::machine::{
    Digest, Effect, Event, OperationEvent, Origin, Policy, Record, Timestamp, stored,
};

/// Times that one call decides anew, after a conflict or because something has happened. Each conflict is somebody
/// else's progress on the same record, so the bound is met only by a crowd.
pub(super) const TURNS_MAX: u32 = 32;

/// One kind of operation: its records, its upstream and its policy.
#[derive(Debug)]
pub struct Operations<'a, K, U> {
    /// The records.
    pub store: &'a Store<K>,
    /// Who does the work.
    pub upstream: &'a U,
    /// The owner's settings.
    pub policy: &'a Policy,
    /// What the retry budget is shared by: everything that calls the same upstream.
    pub budget_name: &'a str,
    /// Which deadlines get a timer.
    pub timers: Timers,
    /// Who hears of what has happened.
    pub witness: &'a dyn Witness,
}

/// What became of a client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Where it has left the operation.
    pub settled: Settled,
    /// Whether this very request created the operation.
    pub is_new: bool,
}

/// Where a call has left an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The record as it is stored, and what the machine last said about it: to wait, that something was refused, or
    /// that a report came too late.
    At {
        /// The record.
        record: Box<Record>,
        /// The effect that is left; nothing that the driver could carry out.
        effect: Effect,
        /// When that was: later than the call began by as long as its attempt took.
        at: Timestamp,
    },
    /// There is no such record, or its retention is over.
    Gone,
}

impl Settled {
    /// Whether the record has an event whose time had come when the call ended: with [`Timers::CallerRelays`] it has no
    /// timer, and is the caller's to relay.
    #[must_use]
    pub fn has_due_event(&self) -> bool {
        match self {
            Self::At { record, at, .. } => record
                .outbox()
                .due()
                .is_some_and(|due| due.at.is_reached(*at)),
            Self::Gone => false,
        }
    }
}

/// A record as a call leaves it in the store.
pub(super) struct Left {
    pub(super) node: Node,
    /// The last step that was taken.
    pub(super) step: Step,
    /// Whether this call has changed the record at all.
    pub(super) is_changed: bool,
}

impl Left {
    pub(super) fn settled(self) -> Settled {
        Settled::At {
            record: Box::new(self.step.record),
            effect: self.step.effect,
            at: self.step.now,
        }
    }
}

impl<K: Kv, U: Upstream> Operations<'_, K, U> {
    /// Takes a client's request: creates the operation under `identity`, or goes on with the one that is there.
    ///
    /// `origin` is kept only when this call creates it. An operation of a pure upstream is created at its end; any
    /// other is claimed first, and its attempt runs when the claim is in the store.
    pub async fn submit(
        &self,
        identity: Identity,
        origin: Origin,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Submission, DriverError> {
        let fingerprint = origin.identity.fingerprint;
        let repeated = self.repeat_of(&identity, fingerprint, now, entropy);
        match repeated.await? {
            Sought::There(submission) => Ok(submission),
            Sought::Nothing(vacancy) => self.create(identity, vacancy, origin, now, entropy).await,
        }
    }

    /// Goes on with the operation that is there under `identity`, if there is one: a repeat needs nothing of what a new
    /// operation is made of.
    pub async fn repeat_of(
        &self,
        identity: &Identity,
        fingerprint: Digest,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Sought<Submission>, DriverError> {
        match self.store.seek(identity, now.as_unix_ms()).await? {
            Sought::There(node) => {
                let submitted = OperationEvent::Submitted { fingerprint };
                let submission = self.repeat(node, submitted, now, entropy).await?;
                Ok(Sought::There(submission))
            }
            Sought::Nothing(vacancy) => Ok(Sought::Nothing(vacancy)),
        }
    }

    /// [`Operations::submit`] for an identity under which [`Operations::repeat_of`] has found nothing. Somebody else may
    /// have been faster; then this goes on with what is there, after a pure attempt was made for nothing.
    pub async fn create(
        &self,
        identity: Identity,
        vacancy: Vacancy,
        origin: Origin,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Submission, DriverError> {
        let submitted = OperationEvent::Submitted {
            fingerprint: origin.identity.fingerprint,
        };
        let fresh = Record::new(origin, self.policy);
        let mut step = self.decide(fresh, Event::Operation(submitted.clone()), now, entropy);
        if self.upstream.is_pure() {
            step = self.run_unwritten(step, entropy).await?;
        }
        let new = NewRecord {
            id: step.record.identity().id,
            identity,
            expires_at_ms: expires_at_ms(&step.record),
            payload: stored::encode(&step.record),
        };
        let now_ms = now.as_unix_ms();
        match self.store.create_at(vacancy, &new, now_ms, entropy).await? {
            Created::New(node) => {
                let (before, after) = (None, &step.record);
                self.witness.note(Fact::Written { before, after }, step.now);
                // A creation that took effect late may have been moved on by others already: then it is theirs.
                let is_ours = node.payload() == new.payload;
                let settled = if is_ours {
                    let step = Step {
                        is_changed: true,
                        ..step
                    };
                    let left = self.go_on(node, step, entropy).await?;
                    self.settle(left, entropy).await
                } else {
                    self.tell(node.into(), submitted, now, entropy).await?
                };
                Ok(Submission {
                    settled,
                    is_new: true,
                })
            }
            Created::Exists(node) => self.repeat(node, submitted, now, entropy).await,
        }
    }

    async fn repeat(
        &self,
        node: Node,
        submitted: OperationEvent,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Submission, DriverError> {
        let settled = self.tell(node.into(), submitted, now, entropy).await?;
        Ok(Submission {
            settled,
            is_new: false,
        })
    }

    /// Tells the operation with this id what has happened: that somebody came by, or what a client or operator asks.
    pub async fn tell_id(
        &self,
        id: uuid::Uuid,
        event: OperationEvent,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Settled, DriverError> {
        match self.store.load(id, now.as_unix_ms()).await? {
            Some(node) => self.tell(node.into(), event, now, entropy).await,
            None => Ok(Settled::Gone),
        }
    }

    /// Tells an operation what has happened, and carries out what follows.
    pub async fn tell(
        &self,
        found: Found,
        event: OperationEvent,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Settled, DriverError> {
        let left = self.move_on(found, event, now, entropy).await?;
        Ok(self.settle(left, entropy).await)
    }

    /// [`Operations::tell`] without a timer for what is left to do. `None` when the record is gone.
    pub(super) async fn move_on(
        &self,
        found: Found,
        event: OperationEvent,
        now: Timestamp,
        entropy: &mut Entropy,
    ) -> Result<Option<Left>, DriverError> {
        let event = Event::Operation(event);
        match self.write(found, event, now, entropy).await? {
            Some((node, step)) => self.go_on(node, step, entropy).await,
            None => Ok(None),
        }
    }

    /// Ends a call: sets the timer that the record needs, and says where the record is.
    pub(super) async fn settle(&self, left: Option<Left>, entropy: &mut Entropy) -> Settled {
        let Some(left) = left else {
            return Settled::Gone;
        };
        self.arm(self.timers, &left, entropy).await;
        left.settled()
    }

    /// Carries out a step that is in the store, and whatever follows from it.
    async fn go_on(
        &self,
        mut node: Node,
        mut step: Step,
        entropy: &mut Entropy,
    ) -> Result<Option<Left>, DriverError> {
        let mut is_changed = false;
        for _ in 0..TURNS_MAX {
            is_changed |= step.is_changed;
            let (event, now) = match self.act(&step, entropy).await? {
                Acted::Happened(event, now) => (event, now),
                Acted::Settled(effect) => {
                    step.effect = effect;
                    return Ok(Some(Left {
                        node,
                        step,
                        is_changed,
                    }));
                }
            };
            let found = Found::read(node, step.record);
            match self
                .write(found, Event::Operation(event), now, entropy)
                .await?
            {
                Some(next) => (node, step) = next,
                None => return Ok(None),
            }
        }
        Err(DriverError::Contended)
    }

    /// Runs the attempt of a record that is not in the store yet. Effects on others are left for when it is.
    async fn run_unwritten(
        &self,
        mut step: Step,
        entropy: &mut Entropy,
    ) -> Result<Step, DriverError> {
        for _ in 0..TURNS_MAX {
            if !matches!(step.effect, Effect::Start(_) | Effect::Withdraw(_)) {
                return Ok(step);
            }
            step = match self.act(&step, entropy).await? {
                Acted::Happened(event, now) => {
                    self.decide(step.record, Event::Operation(event), now, entropy)
                }
                Acted::Settled(effect) => Step { effect, ..step },
            };
        }
        Err(DriverError::Contended)
    }
}
