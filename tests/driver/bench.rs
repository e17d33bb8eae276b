//! A driver with everything that it needs, for single requests: a store whose calls are counted, an upstream that
//! follows a script, and a clock that the test sets.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use reprise::driver::entropy::Entropy;
use reprise::driver::kv::{Kv, KvError, SwapError};
use reprise::driver::store::{Node, Store};
use reprise::driver::{Attempted, DriverError, Operations, Settled, Submission, Timers, Upstream};
use reprise::machine::{
    AttemptStart, Effect, Millis, OperationEvent, Outcome, Policy, Record, State, Timestamp,
};

use crate::client::BUDGET_NAME;
use crate::model::{Client, Model, Rules, World, run};
use crate::setting::{Kind, START_MS, identity, origin, policy, success};

/// Retries that the budget pays for at once.
pub const TOKENS: u32 = 3;

/// A store whose calls are counted, and one of whose swaps fails if it is told so.
#[derive(Debug)]
pub struct Counted {
    client: Client,
    counts: Rc<Counts>,
}

#[derive(Debug, Default)]
pub struct Counts {
    pub reads: Cell<u32>,
    pub writes: Cell<u32>,
    /// Fail the swap after this many more; whether it takes effect all the same.
    pub failure: Cell<Option<(u32, bool)>>,
}

impl Counts {
    fn read(&self) {
        self.reads.set(self.reads.get() + 1);
    }

    fn write(&self) {
        self.writes.set(self.writes.get() + 1);
    }
}

impl Kv for Counted {
    type Cas = usize;

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        self.counts.read();
        self.client.get(key).await
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        self.counts.write();
        self.client.set(key, value).await
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        self.counts.write();
        self.client.delete(key).await
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        self.counts.write();
        self.client.increment(key, delta).await
    }

    async fn cas(&self, key: &str) -> Result<usize, KvError> {
        self.client.cas(key).await
    }

    async fn current(&self, cas: &usize) -> Result<Option<Vec<u8>>, KvError> {
        self.counts.read();
        self.client.current(cas).await
    }

    async fn swap(&self, cas: usize, value: &[u8]) -> Result<(), SwapError<usize>> {
        self.counts.write();
        let failure = self.counts.failure.get();
        self.counts
            .failure
            .set(failure.and_then(|(left, acts)| Some((left.checked_sub(1)?, acts))));
        if let Some((0, acts)) = failure {
            if acts {
                self.client.swap(cas, value).await?;
            }
            return Err(SwapError::Store(KvError("the reply was lost".to_owned())));
        }
        self.client.swap(cas, value).await
    }
}

/// An upstream that answers what it is told to, one thing after the other, and at once.
#[derive(Debug)]
pub struct Script {
    pub outcomes: RefCell<Vec<Outcome>>,
    pub calls: RefCell<Vec<u32>>,
    pub is_pure: bool,
}

impl Upstream for Script {
    async fn attempt(&self, record: &Record, start: &AttemptStart) -> Attempted {
        self.calls.borrow_mut().push(start.attempt);
        let mut outcomes = self.outcomes.borrow_mut();
        let outcome = if outcomes.is_empty() {
            success(record.identity().id)
        } else {
            outcomes.remove(0)
        };
        let State::Running(running) = record.state() else {
            panic!("an attempt runs: {record:?}")
        };
        Attempted {
            outcome,
            ended_at: running.started_at.after(Millis::new(3)),
        }
    }

    fn is_pure(&self) -> bool {
        self.is_pure
    }
}

/// A driver with everything that it needs, and a clock.
pub struct Bench {
    pub store: Store<Counted>,
    pub counts: Rc<Counts>,
    pub upstream: Script,
    pub policy: Policy,
    pub entropy: RefCell<Entropy>,
    pub now_ms: Cell<u64>,
}

impl Bench {
    pub fn new(kind: Kind) -> Self {
        let mut entropy = Entropy::from_seed([5; 32]);
        let client = Client {
            world: World::direct(Model::new(Rules::Sqlite, 1)),
            id: 0,
        };
        let counts = Rc::new(Counts::default());
        let kv = Counted {
            client,
            counts: Rc::clone(&counts),
        };
        let store = run(Store::open(kv, 1, &mut entropy)).expect("a sound store");
        let upstream = Script {
            outcomes: RefCell::default(),
            calls: RefCell::default(),
            is_pure: kind == Kind::Pure,
        };
        let bench = Self {
            store,
            counts,
            upstream,
            policy: policy(kind, TOKENS),
            entropy: RefCell::new(entropy),
            now_ms: Cell::new(START_MS),
        };
        // Both buckets have had their first record.
        for key in 100..120 {
            bench.submit(key, 0);
        }
        bench.upstream.calls.borrow_mut().clear();
        bench
    }

    pub fn failing_with(self, outcomes: Vec<Outcome>) -> Self {
        *self.upstream.outcomes.borrow_mut() = outcomes;
        self
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.now_ms.get())
    }

    pub fn operations(&self) -> Operations<'_, Counted, Script> {
        Operations {
            store: &self.store,
            upstream: &self.upstream,
            policy: &self.policy,
            budget_name: BUDGET_NAME,
            timers: Timers::Never,
            witness: &(),
        }
    }

    pub fn try_submit(&self, key: u64, content: u8) -> Result<Submission, DriverError> {
        let mut entropy = self.entropy.borrow_mut();
        let id = entropy.next_uuid(self.now_ms.get());
        run(self.operations().submit(
            identity(key),
            origin(key, content, id, self.now()),
            self.now(),
            &mut entropy,
        ))
    }

    pub fn submit(&self, key: u64, content: u8) -> Submission {
        self.try_submit(key, content).expect("the store works")
    }

    pub fn tell(&self, id: uuid::Uuid, event: OperationEvent) -> Result<Settled, DriverError> {
        let mut entropy = self.entropy.borrow_mut();
        run(self
            .operations()
            .tell_id(id, event, self.now(), &mut entropy))
    }

    /// Looks for an operation.
    pub fn find(&self, key: u64) -> Option<Node> {
        run(self.store.find(&identity(key), self.now_ms.get())).expect("the store works")
    }

    /// Wakes an operation at its next deadline.
    pub fn wake_when_due(&self, record: &Record) -> Record {
        self.now_ms.set(record.due().at.as_unix_ms());
        at(self
            .tell(record.identity().id, OperationEvent::Woken)
            .expect("the store works"))
        .0
    }

    /// The reads and writes that `act` takes.
    pub fn cost<T>(&self, act: impl FnOnce() -> T) -> (T, (u32, u32)) {
        let Counts { reads, writes, .. } = &*self.counts;
        let before = (reads.get(), writes.get());
        let done = act();
        (done, (reads.get() - before.0, writes.get() - before.1))
    }
}

#[track_caller]
pub fn at(settled: Settled) -> (Record, Effect) {
    match settled {
        Settled::At { record, effect, .. } => (*record, effect),
        Settled::Gone => panic!("the record is there"),
    }
}
