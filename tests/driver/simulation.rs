//! Long random histories of the real driver and the real store code.
//!
//! Twenty instances with skewed clocks share one store and a few keys. The store fails, instances die between any two
//! calls, the upstream errs, loses replies and answers after the lease. Each history has a seed, which is printed when
//! it fails and replayed with `SEED=…`.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use reprise::driver::entropy::Entropy;
use reprise::driver::store::{Layout, Store};
use reprise::driver::{Operations, Settled, Timers};
use reprise::machine::{DeliveryState, OperationEvent, Policy, Record, State};

use crate::aftermath::Ticks;
use crate::client::{BUDGET_NAME, Told, check_result, live};
use crate::model::{Call, Client, Fault, Model, Rules, World, poll, run};
use crate::observer::Observer;
use crate::setting::{Kind, START_MS, identity, origin, policy};
use crate::upstream::{Gateway, Outside, Shared};

const HISTORIES: u64 = 10_000;
/// One in so many histories comes to its end by ticks alone; one that shares no factor with the kinds and stores.
const TICKED_ONE_IN: u64 = 7;
const CLIENTS: usize = 20;
const STEPS: u32 = 1_000;
/// Clocks are off by up to this much, either way.
const SKEW_MS: i64 = 300_000;

pub type Life = Pin<Box<dyn Future<Output = ()>>>;

/// One history: the world, and what its clients share.
pub struct History {
    dice: Entropy,
    pub policy: Policy,
    pub layout: Layout,
    pub world: Rc<RefCell<World>>,
    pub outside: Shared,
    pub told: Rc<RefCell<Told>>,
    observer: Observer,
    pub crashes: u32,
    pub faults: u32,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut dice = seeded(seed);
        let kind =
            [Kind::Idempotent, Kind::Unsafe, Kind::Pure][usize::try_from(seed % 3).expect("small")];
        let rules = [Rules::Sqlite, Rules::Redis, Rules::Dynamo, Rules::Plain];
        let rules = rules[usize::try_from(seed / 3 % 4).expect("small")];
        let first = World::direct(Model::new(rules, CLIENTS));
        let opened = run(Store::open(
            Client {
                world: Rc::clone(&first),
                id: 0,
            },
            4,
            &mut dice,
        ));
        let layout = opened.expect("a sound store can be laid out").layout();
        let mut model = first.borrow().model.clone();
        model.drop_client(0);
        Self {
            dice,
            // Half of the histories have next to no retries to spend.
            policy: policy(kind, if seed.is_multiple_of(2) { 2 } else { 40 }),
            layout,
            world: World::stepped(model),
            outside: Outside::new(kind),
            told: Rc::default(),
            observer: Observer::default(),
            crashes: 0,
            faults: 0,
        }
    }

    fn newborn(&mut self, id: usize) -> Life {
        let client = Client {
            world: Rc::clone(&self.world),
            id,
        };
        let skew_ms = i64::try_from(self.dice.next_u64() % (2 * SKEW_MS.unsigned_abs() + 1))
            .expect("minutes")
            - SKEW_MS;
        let gateway = self.gateway(skew_ms);
        let entropy = seeded(self.dice.next_u64());
        let told = Rc::clone(&self.told);
        let mut life: Life = Box::pin(live(
            client,
            self.layout,
            self.policy.clone(),
            gateway,
            entropy,
            told,
        ));
        assert_eq!(poll(&mut life), None, "a client begins with a wait");
        life
    }

    pub fn gateway(&mut self, skew_ms: i64) -> Gateway {
        let dice = RefCell::new(seeded(self.dice.next_u64()));
        Gateway {
            outside: Rc::clone(&self.outside),
            skew_ms,
            dice,
        }
    }

    pub fn roll(&mut self, sides: u64) -> u64 {
        self.dice.next_u64() % sides
    }

    /// Lets some time pass and one client take one step, if it is to live.
    fn step(&mut self, lives: &mut [Life]) -> Result<(), String> {
        let ms = if self.roll(100) == 0 {
            self.roll(8_000)
        } else {
            self.roll(40)
        };
        self.outside.borrow_mut().now_ms += ms;
        let id = usize::try_from(self.roll(CLIENTS as u64)).expect("a client");
        let call = self.world.borrow().waiting[id].clone();
        if self.roll(150) == 0 {
            self.crashes += 1;
            self.world.borrow_mut().waiting[id] = None;
            self.world.borrow_mut().model.drop_client(id);
            lives[id] = self.newborn(id);
            return Ok(());
        }
        if let Some(call) = call {
            let fault = match self.roll(100) {
                0 => Fault::Before,
                1 => Fault::After,
                _ => Fault::None,
            };
            self.faults += u32::from(fault != Fault::None);
            self.execute(id, &call, fault)?;
        }
        assert_eq!(poll(&mut lives[id]), None, "a client lives for ever");
        Ok(())
    }

    pub fn execute(&mut self, id: usize, call: &Call, fault: Fault) -> Result<(), String> {
        let written = match call {
            Call::Set(key, _) | Call::Delete(key) => Some(key.clone()),
            Call::Swap(at, _) => Some(self.world.borrow().model.handle_key(id, *at)),
            Call::Get(_) | Call::Increment(..) | Call::Current(_) => None,
        };
        self.world.borrow_mut().step(id, fault);
        match written.filter(|key| key.starts_with("n/")) {
            Some(key) => {
                self.observer
                    .look(&self.world.borrow().model, &key, &self.outside.borrow())
            }
            None => Ok(()),
        }
    }

    /// All instances are dead: what is left must come to its end by ticks, or by whoever comes by.
    fn finish(mut self, by_ticks: bool) -> Result<Seen, String> {
        self.check_budget(SKEW_MS)?;
        let ticks = if by_ticks {
            self.tick_to_the_end()?
        } else {
            self.come_by_to_the_end()?;
            Ticks::default()
        };
        if self.world.borrow().model.broken {
            return Err("a value that is no word was incremented (S4)".to_owned());
        }
        if let Some(violation) = &self.outside.borrow().violation {
            return Err(violation.clone());
        }
        let calls = self.outside.borrow().calls.values().map(Vec::len).sum();
        let told = self.told.borrow();
        Ok(Seen {
            created: told.created,
            repeated: told.repeated,
            mismatched: told.mismatched,
            unavailable: told.unavailable,
            crashes: self.crashes,
            faults: self.faults,
            changes: self.observer.changes,
            retries: self.observer.retries,
            takeovers: self.observer.takeovers,
            calls,
            ticks,
        })
    }

    /// All faults are over, and somebody comes by for each operation at each of its deadlines.
    fn come_by_to_the_end(&mut self) -> Result<(), String> {
        let model = self.world.borrow().model.clone();
        self.outside.borrow_mut().healthy = true;
        self.outside.borrow_mut().now_ms += 2 * SKEW_MS.unsigned_abs();
        let gateway = self.gateway(0);
        let store = Store::with_layout(
            Client {
                world: World::direct(model),
                id: 0,
            },
            self.layout,
        );
        let operations = Operations {
            store: &store,
            upstream: &gateway,
            policy: &self.policy,
            budget_name: BUDGET_NAME,
            timers: Timers::All,
            witness: &(),
        };
        let told = self.told.borrow();
        for (key, id) in &told.ids {
            let record = self.settle(&operations, &gateway, *id)?;
            self.check_end(&record)?;
            check_repeat(&operations, &gateway, *key, &record)?;
        }
        Ok(())
    }

    /// Comes by for one operation, from deadline to deadline, until nothing is left to do.
    fn settle(
        &self,
        operations: &Operations<'_, Client, Gateway>,
        gateway: &Gateway,
        id: uuid::Uuid,
    ) -> Result<Record, String> {
        let mut entropy = seeded(1);
        for _ in 0..100 {
            let woken = OperationEvent::Woken;
            let settled = run(operations.tell_id(id, woken, gateway.now(), &mut entropy));
            settled.map_err(|error| format!("{id}: {error}"))?;
            let settled = run(operations.relay(id, gateway, gateway.now(), &mut entropy));
            match settled.map_err(|error| format!("{id}: {error}"))? {
                Settled::Gone => return Err(format!("{id} is gone within its retention")),
                Settled::At { record, .. } if record.expires_at().is_some() => return Ok(*record),
                Settled::At { record, .. } => {
                    let due_ms = record.due().at.as_unix_ms();
                    let mut outside = self.outside.borrow_mut();
                    outside.now_ms = outside.now_ms.max(due_ms);
                }
            }
        }
        Err(format!("{id} does not come to its end"))
    }

    pub fn check_end(&self, record: &Record) -> Result<(), String> {
        let id = record.identity().id;
        check_result(record, &self.outside);
        let outside = self.outside.borrow();
        let acts = outside.acts.get(&id).copied().unwrap_or(0);
        if outside.kind != Kind::Pure && acts > 1 {
            return Err(format!("the upstream acted {acts} times for {id}"));
        }
        if outside.kind != Kind::Pure && matches!(record.state(), State::Done { .. }) && acts == 0 {
            return Err(format!("{id} is done, and the upstream never acted"));
        }
        let last_call = outside
            .calls
            .get(&id)
            .and_then(|calls| calls.iter().max())
            .copied()
            .unwrap_or(0);
        if record.progress().attempts < last_call && outside.kind != Kind::Pure {
            return Err(format!(
                "{id} counts fewer attempts than the {last_call} that ran"
            ));
        }
        for delivery in record.outbox().deliveries() {
            let is_received = outside.received.contains(&delivery.event_id(id));
            if !matches!(delivery.state, DeliveryState::Delivered { .. }) || !is_received {
                return Err(format!("an event of {id} is not delivered: {delivery:?}"));
            }
        }
        Ok(())
    }

    /// No more retries than the budget can have paid for, whatever the clocks said.
    pub fn check_budget(&self, skew_ms: i64) -> Result<(), String> {
        let outside = self.outside.borrow();
        let Some(budget) = &self.policy.settings().retry_budget else {
            return Ok(());
        };
        let clocks_ms = outside.now_ms - START_MS + 2 * skew_ms.unsigned_abs();
        let by_time = clocks_ms / 1_000 * u64::from(budget.deposit_per_second_millitokens);
        let by_success = outside.successes * u64::from(budget.deposit_per_success_millitokens);
        let most = u64::from(budget.capacity_tokens) + (by_time + by_success) / 1_000;
        if self.observer.retries > most {
            return Err(format!(
                "{} retries, and the budget pays {most}",
                self.observer.retries
            ));
        }
        Ok(())
    }
}

/// Whoever asks once more is told the same.
pub fn check_repeat(
    operations: &Operations<'_, Client, Gateway>,
    gateway: &Gateway,
    key: u64,
    record: &Record,
) -> Result<(), String> {
    let mut entropy = seeded(2);
    let content = record.identity().fingerprint.as_bytes()[0];
    let origin = origin(key, content, entropy.next_uuid(START_MS), gateway.now());
    let submitted = run(operations.submit(identity(key), origin, gateway.now(), &mut entropy));
    let submission = submitted.map_err(|error| format!("key {key}: {error}"))?;
    match submission.settled {
        Settled::At { record: again, .. } if !submission.is_new && *again == *record => Ok(()),
        Settled::At { .. } | Settled::Gone => {
            Err(format!("key {key} is answered anew: {submission:?}"))
        }
    }
}

pub fn seeded(seed: u64) -> Entropy {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    Entropy::from_seed(bytes)
}

/// What histories did.
#[derive(Debug, Default)]
struct Seen {
    created: u32,
    repeated: u32,
    mismatched: u32,
    unavailable: u32,
    crashes: u32,
    faults: u32,
    changes: u64,
    retries: u64,
    takeovers: u64,
    calls: usize,
    ticks: Ticks,
}

impl Seen {
    fn add(&mut self, other: &Self) {
        self.created += other.created;
        self.repeated += other.repeated;
        self.mismatched += other.mismatched;
        self.unavailable += other.unavailable;
        self.crashes += other.crashes;
        self.faults += other.faults;
        self.changes += other.changes;
        self.retries += other.retries;
        self.takeovers += other.takeovers;
        self.calls += other.calls;
        self.ticks.add(&other.ticks);
    }
}

fn history(seed: u64) -> Result<Seen, String> {
    let mut history = History::new(seed);
    let mut lives: Vec<Life> = (0..CLIENTS).map(|id| history.newborn(id)).collect();
    for _ in 0..STEPS {
        history.step(&mut lives)?;
        if let Some(violation) = &history.outside.borrow().violation {
            return Err(violation.clone());
        }
    }
    drop(lives);
    // Ticks read much, so a part of the histories ends by them and the others by the operations' own deadlines.
    history.finish(seed.is_multiple_of(TICKED_ONE_IN))
}

fn replay(seeds: impl Iterator<Item = u64>) -> Seen {
    let mut all = Seen::default();
    for seed in seeds {
        match history(seed) {
            Ok(seen) => all.add(&seen),
            Err(what) => panic!("SEED={seed}: {what}"),
        }
    }
    all
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a failed history is replayed by its seed, which comes from outside"
)]
fn random_histories_keep_every_promise() {
    if let Ok(seed) = std::env::var("SEED") {
        let seed = seed.parse().expect("SEED is a whole number");
        println!("seed {seed}: {:?}", replay(std::iter::once(seed)));
        return;
    }
    // Two halves at a time: histories share nothing.
    let halves = std::thread::scope(|scope| {
        let halves = [0, 1].map(|first| scope.spawn(move || replay((first..HISTORIES).step_by(2))));
        halves.map(|half| {
            half.join()
                .expect("the seed of a failed history is printed above")
        })
    });
    let mut all = Seen::default();
    for half in &halves {
        all.add(half);
    }
    println!("seeds 0..{HISTORIES}: {all:?}");
    assert!(
        all.created > 10_000 && all.repeated > 10_000 && all.mismatched > 10_000,
        "clients were served"
    );
    assert!(
        all.crashes > 10_000 && all.faults > 10_000 && all.calls > 10_000,
        "things went wrong"
    );
    assert!(
        all.ticks.due > 1_000 && all.ticks.found > 100 && all.ticks.delivered > 1_000,
        "ticks did the rest"
    );
    assert!(all.ticks.crashes > 1_000, "and died while they did");
    assert!(all.retries > 10_000 && all.takeovers > 1_000, "and went on");
}
