//! The simulated world outside: a faulty upstream and a faulty receiver of events.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::task::Poll;

use reprise::driver::entropy::Entropy;
use reprise::driver::{Attempted, Delivered, Sink, Upstream};
use reprise::machine::{
    AttemptError, AttemptStart, Delivery, DeliveryOutcome, DeliveryStart, ErrorKind, Millis,
    Outcome, Record, State, Timestamp,
};
use uuid::Uuid;

use crate::setting::{Kind, LEASE_MS, START_MS, TIMEOUT_MS, success};

/// What happened outside of the store, and the true time.
#[derive(Debug)]
pub struct Outside {
    pub kind: Kind,
    pub now_ms: u64,
    /// Every answer is a good one from here on.
    pub healthy: bool,
    /// By record: the attempts that reached the upstream.
    pub calls: BTreeMap<Uuid, Vec<u32>>,
    /// By record and attempt: whether the answer that the caller got was a success.
    pub answers: BTreeMap<(Uuid, u32), bool>,
    /// By record: how often the upstream acted.
    pub acts: BTreeMap<Uuid, u32>,
    /// By record: the key under which it was called.
    pub keys: BTreeMap<Uuid, String>,
    /// The events that the receiver has.
    pub received: BTreeSet<String>,
    pub successes: u64,
    pub violation: Option<String>,
}

pub type Shared = Rc<RefCell<Outside>>;

impl Outside {
    pub fn new(kind: Kind) -> Shared {
        Rc::new(RefCell::new(Self {
            kind,
            now_ms: START_MS,
            healthy: false,
            calls: BTreeMap::new(),
            answers: BTreeMap::new(),
            acts: BTreeMap::new(),
            keys: BTreeMap::new(),
            received: BTreeSet::new(),
            successes: 0,
            violation: None,
        }))
    }

    pub fn violate(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// A call arrives: each attempt's number comes once, under the one key of its record, and after it was counted.
    fn arrive(&mut self, record: &Record, start: &AttemptStart) {
        let id = record.identity().id;
        let is_counted =
            matches!(record.state(), State::Running(running) if running.attempt == start.attempt);
        if !is_counted {
            self.violate(format!(
                "attempt {} of {id} runs uncounted: {:?}",
                start.attempt,
                record.state()
            ));
        }
        let key = start.upstream_key.to_string();
        if *self.keys.entry(id).or_insert_with(|| key.clone()) != key {
            self.violate(format!("{id} has a second key, {key}"));
        }
        let calls = self.calls.entry(id).or_default();
        let is_repeated = self.kind != Kind::Pure && calls.contains(&start.attempt);
        calls.push(start.attempt);
        if is_repeated {
            self.violate(format!("attempt {} of {id} ran twice", start.attempt));
        }
    }

    /// The upstream does what it is asked for, if it has not done so for this key.
    fn perform(&mut self, id: Uuid) {
        let acts = self.acts.entry(id).or_default();
        if self.kind != Kind::Idempotent || *acts == 0 {
            *acts += 1;
        }
    }
}

/// One instance's way to the outside, with its clock and its dice.
#[derive(Debug)]
pub struct Gateway {
    pub outside: Shared,
    /// How far this instance's clock is off, in milliseconds.
    pub skew_ms: i64,
    pub dice: RefCell<Entropy>,
}

impl Gateway {
    /// This instance's clock.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(
            self.outside
                .borrow()
                .now_ms
                .saturating_add_signed(self.skew_ms),
        )
    }

    fn roll(&self, sides: u64) -> u64 {
        self.dice.borrow_mut().next_u64() % sides
    }

    /// How long an answer takes; no time at all once everything is well.
    fn latency(&self, most_ms: u64) -> u64 {
        if self.outside.borrow().healthy {
            0
        } else {
            self.roll(most_ms)
        }
    }

    /// Lets some time pass before the next request.
    pub async fn idle(&self, entropy: &mut Entropy) {
        self.pass(entropy.next_u64() % 2_000).await;
    }

    /// Waits until `ms` of true time have passed.
    async fn pass(&self, ms: u64) {
        let until_ms = self.outside.borrow().now_ms + ms;
        std::future::poll_fn(|_| {
            if self.outside.borrow().now_ms < until_ms {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
    }

    /// What the upstream makes of a call: how long it takes, whether it acts, and what the caller sees.
    fn fate(&self, id: Uuid) -> (u64, bool, Outcome) {
        let kind = self.outside.borrow().kind;
        let quick = self.latency(300);
        let fault = if self.outside.borrow().healthy {
            9
        } else {
            self.roll(10)
        };
        match fault {
            0 => (quick, false, retryable(ErrorKind::Status(503), None)),
            1 => (
                quick,
                false,
                retryable(
                    ErrorKind::Status(429),
                    Some(Millis::from_secs(self.roll(60))),
                ),
            ),
            2 => (quick, false, retryable(ErrorKind::Unreachable, None)),
            3 => (quick, false, terminal(ErrorKind::Status(422))),
            // The reply is lost, so nobody knows whether it acted.
            4 | 5 => {
                let acts = fault == 4;
                let unknown = retryable(ErrorKind::TimedOut, None);
                let outcome = if kind == Kind::Unsafe {
                    terminal(ErrorKind::TimedOut)
                } else {
                    unknown
                };
                (TIMEOUT_MS, acts, outcome)
            }
            // The answer comes after the lease, from a gateway that overslept.
            6 => (LEASE_MS + self.roll(LEASE_MS), true, success(id)),
            _ => (quick, true, success(id)),
        }
    }
}

impl Upstream for Gateway {
    async fn attempt(&self, record: &Record, start: &AttemptStart) -> Attempted {
        let id = record.identity().id;
        self.outside.borrow_mut().arrive(record, start);
        let (takes_ms, acts, outcome) = self.fate(id);
        if acts {
            self.outside.borrow_mut().perform(id);
        }
        if !self.is_pure() {
            self.pass(takes_ms).await;
        }
        let is_success = matches!(outcome, Outcome::Succeeded { .. });
        let mut outside = self.outside.borrow_mut();
        outside.answers.insert((id, start.attempt), is_success);
        outside.successes += u64::from(is_success);
        drop(outside);
        Attempted {
            outcome,
            ended_at: self.now(),
        }
    }

    fn is_pure(&self) -> bool {
        self.outside.borrow().kind == Kind::Pure
    }
}

impl Sink for Gateway {
    async fn deliver(
        &self,
        record: &Record,
        delivery: &Delivery,
        _start: &DeliveryStart,
    ) -> Delivered {
        let fault = if self.outside.borrow().healthy {
            9
        } else {
            self.roll(10)
        };
        self.pass(self.latency(100)).await;
        let outcome = match fault {
            0..=2 => DeliveryOutcome::Retryable {
                error: error(ErrorKind::Status(500)),
                hint: None,
            },
            _ => {
                self.outside
                    .borrow_mut()
                    .received
                    .insert(delivery.event_id(record.identity().id));
                // The receiver has it, and its word is lost.
                let is_lost = fault == 3;
                if is_lost {
                    DeliveryOutcome::Retryable {
                        error: error(ErrorKind::TimedOut),
                        hint: None,
                    }
                } else {
                    DeliveryOutcome::Accepted
                }
            }
        };
        Delivered {
            outcome,
            ended_at: self.now(),
        }
    }
}

fn error(kind: ErrorKind) -> AttemptError {
    AttemptError::new(kind, "simulated")
}

fn retryable(kind: ErrorKind, hint: Option<Millis>) -> Outcome {
    Outcome::Retryable {
        error: error(kind),
        hint,
    }
}

fn terminal(kind: ErrorKind) -> Outcome {
    Outcome::Terminal { error: error(kind) }
}
