//! One instance with a store in memory, an upstream that is up or down, and a clock that the test sets: for histories
//! of many operations in which nothing else goes wrong.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use reprise::driver::entropy::Entropy;
use reprise::driver::store::{PurgeLimits, Store};
use reprise::driver::{
    Attempted, Delivered, Directory, DriverError, Operations, Parts, Settled, Sink, Tick,
    TickLimits, Ticked, Timers, Upstream,
};
use reprise::machine::{
    AttemptError, AttemptStart, Backoff, Delivery, DeliveryOutcome, DeliveryStart, ErrorKind,
    Headers, Millis, Name, OperationResult, Outcome, Policy, Record, ResultBody, Timestamp, stored,
};
use reprise::machine::{Blob, EventDrafts};
use uuid::Uuid;

use crate::client::BUDGET_NAME;
use crate::memory::Memory;
use crate::model::run;
use crate::setting::{Kind, START_MS, draft, identity, origin, policy};

/// The world outside: the upstream, the receiver, and the time.
#[derive(Debug)]
pub struct Outer {
    pub now_ms: Cell<u64>,
    /// How long an attempt takes.
    pub takes_ms: Cell<u64>,
    pub is_up: Cell<bool>,
    pub receiver_is_up: Cell<bool>,
    /// What an upstream that is down asks for.
    pub hint: Cell<Option<Millis>>,
    /// Whether a success leaves events.
    pub has_events: bool,
    /// How many it leaves then.
    pub events: usize,
    /// How long a delivery takes.
    pub delivery_takes_ms: Cell<u64>,
    /// How often it was called, by second.
    pub calls: RefCell<BTreeMap<u64, u32>>,
    pub received: RefCell<BTreeSet<String>>,
    pub deliveries: Cell<u32>,
}

impl Outer {
    pub fn new() -> Self {
        Self {
            now_ms: Cell::new(START_MS),
            takes_ms: Cell::new(0),
            is_up: Cell::new(true),
            receiver_is_up: Cell::new(true),
            hint: Cell::new(None),
            has_events: false,
            events: 1,
            delivery_takes_ms: Cell::new(0),
            calls: RefCell::default(),
            received: RefCell::default(),
            deliveries: Cell::new(0),
        }
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.now_ms.get())
    }
}

impl Upstream for Outer {
    async fn attempt(&self, _: &Record, _: &AttemptStart) -> Attempted {
        let second = (self.now_ms.get() - START_MS) / 1_000;
        *self.calls.borrow_mut().entry(second).or_default() += 1;
        self.now_ms.set(self.now_ms.get() + self.takes_ms.get());
        let outcome = if self.is_up.get() {
            let drafts = if self.has_events {
                vec![draft("charge.made"); self.events]
            } else {
                Vec::new()
            };
            Outcome::Succeeded {
                result: OperationResult {
                    status: 201,
                    headers: Headers::default(),
                    body: ResultBody::Kept(Blob::new(*b"{}")),
                },
                events: EventDrafts::new(drafts).expect("few events"),
            }
        } else {
            Outcome::Retryable {
                error: AttemptError::new(ErrorKind::Status(503), "down"),
                hint: self.hint.get(),
            }
        };
        Attempted {
            outcome,
            ended_at: self.now(),
        }
    }

    fn is_pure(&self) -> bool {
        false
    }
}

impl Sink for Outer {
    async fn deliver(&self, record: &Record, delivery: &Delivery, _: &DeliveryStart) -> Delivered {
        self.deliveries.set(self.deliveries.get() + 1);
        self.now_ms
            .set(self.now_ms.get() + self.delivery_takes_ms.get());
        let outcome = if self.receiver_is_up.get() {
            let id = delivery.event_id(record.identity().id);
            self.received.borrow_mut().insert(id);
            DeliveryOutcome::Accepted
        } else {
            DeliveryOutcome::Retryable {
                error: AttemptError::new(ErrorKind::Status(500), "down"),
                hint: None,
            }
        };
        Delivered {
            outcome,
            ended_at: self.now(),
        }
    }
}

/// The instance.
pub struct Shop {
    pub memory: Memory,
    pub store: Store<Memory>,
    pub world: Outer,
    pub policy: Policy,
    pub timers: Timers,
    pub limits: TickLimits,
    pub entropy: RefCell<Entropy>,
}

impl Directory for Shop {
    type Upstream = Outer;

    fn find(&self, operation: &Name) -> Option<Parts<'_, Outer>> {
        (operation.as_str() == "charge").then_some(Parts {
            upstream: &self.world,
            policy: &self.policy,
            budget_name: BUDGET_NAME,
        })
    }
}

impl Shop {
    pub fn new(policy: Policy, bucket_bits: u8) -> Self {
        let memory = Memory::default();
        let mut entropy = Entropy::from_seed([9; 32]);
        let store = run(Store::open(memory.clone(), bucket_bits, &mut entropy));
        Self {
            store: store.expect("a sound store"),
            memory,
            world: Outer::new(),
            policy,
            timers: Timers::All,
            limits: TickLimits {
                records: u32::MAX,
                purge: PurgeLimits {
                    nodes: 64,
                    grace_ms: 60_000,
                },
                ..TickLimits::default()
            },
            entropy: RefCell::new(entropy),
        }
    }

    pub fn operations(&self) -> Operations<'_, Memory, Outer> {
        Operations {
            store: &self.store,
            upstream: &self.world,
            policy: &self.policy,
            budget_name: BUDGET_NAME,
            timers: self.timers,
            witness: &(),
        }
    }

    pub fn submit(&self, key: u64) -> Record {
        match self.try_submit(key) {
            Settled::At { record, .. } => *record,
            Settled::Gone => panic!("a new record is there"),
        }
    }

    pub fn try_submit(&self, key: u64) -> Settled {
        let mut entropy = self.entropy.borrow_mut();
        let now = self.world.now();
        let identity = identity(key);
        let origin = origin(key % 200, 0, entropy.next_uuid(now.as_unix_ms()), now);
        let submission = run(self
            .operations()
            .submit(identity, origin, now, &mut entropy));
        submission.expect("the store works").settled
    }

    pub fn tick(&self) -> Ticked {
        self.try_tick().expect("the store works")
    }

    pub fn try_tick(&self) -> Result<Ticked, DriverError> {
        let tick = Tick {
            store: &self.store,
            witness: &(),
            directory: self,
            sink: &self.world,
            clock: || self.world.now(),
            limits: self.limits,
        };
        run(tick.run(&mut self.entropy.borrow_mut()))
    }

    /// Ticks every second until `until_ms`.
    pub fn tick_until(&self, until_ms: u64) {
        while self.world.now_ms.get() < until_ms {
            self.pass(1_000);
            self.tick();
        }
    }

    pub fn pass(&self, ms: u64) {
        self.world.now_ms.set(self.world.now_ms.get() + ms);
    }

    pub fn record(&self, id: Uuid) -> Record {
        let node = run(self.store.load(id, self.world.now_ms.get()));
        let node = node.expect("the store works").expect("it is there");
        stored::decode(node.payload()).expect("a record")
    }
}

/// A policy whose waits are all of this length.
pub fn waiting(wait_ms: u64) -> Policy {
    let mut settings = policy(Kind::Unsafe, 10).settings().clone();
    settings.attempts.backoff = Backoff::Constant {
        delay_ms: Millis::new(wait_ms),
    };
    settings.attempts.hint_cap_ms = Millis::from_secs(24 * 60 * 60);
    settings.delivery.backoff = settings.attempts.backoff;
    Policy::new(settings).expect("sound settings")
}
