//! Instances that may make only so many conditional writes, as on Spin (S14): ticks stop in time, and the next ones do
//! the rest.

use std::cell::Cell;
use std::rc::Rc;

use reprise::driver::kv::{Kv, KvError, SwapError};
use reprise::driver::ration::{HANDLES_MAX, REQUEST_SWAPS, Ration, Share};
use reprise::driver::store::{PurgeLimits, Store};
use reprise::driver::{DriverError, Operations, Tick, Ticked, Timers};
use reprise::machine::{DeliveryState, State};
use uuid::Uuid;

use crate::client::BUDGET_NAME;
use crate::memory::{Cas, Memory};
use crate::model::run;
use crate::setting::{Kind, identity, origin, policy};
use crate::shop::{Shop, waiting};

/// What Spin remembers of one instance, whatever the code under test believes.
struct Instance {
    /// It asks for nothing to be set aside, as if there were no limit.
    is_careless: bool,
    handles: Rc<Cell<u32>>,
    was_full: Cell<bool>,
    ration: Ration,
}

impl Default for Instance {
    fn default() -> Self {
        Self {
            is_careless: false,
            handles: Rc::default(),
            was_full: Cell::default(),
            ration: Ration::new(),
        }
    }
}

impl Instance {
    /// The store for one request.
    fn request(self: &Rc<Self>, shop: &Shop) -> Store<Limited> {
        let kv = Limited {
            memory: shop.memory.clone(),
            instance: Rc::clone(self),
            share: self.ration.enter(),
        };
        Store::with_layout(kv, shop.store.layout())
    }
}

/// The store as one request of an instance has it.
struct Limited {
    memory: Memory,
    instance: Rc<Instance>,
    share: Share,
}

/// A handle that Spin forgets when it is dropped, but not when it is swapped.
struct Remembered {
    cas: Option<Cas>,
    handles: Rc<Cell<u32>>,
}

impl Drop for Remembered {
    fn drop(&mut self) {
        if self.cas.is_some() {
            self.handles.set(self.handles.get() - 1);
        }
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        self.instance.ration.leave(&self.share);
    }
}

impl Limited {
    fn check(&self) -> Result<(), KvError> {
        self.instance.ration.check(&self.share)
    }

    fn remember(&self, cas: Cas) -> Result<Remembered, KvError> {
        let handles = Rc::clone(&self.instance.handles);
        if handles.get() == HANDLES_MAX {
            self.instance.was_full.set(true);
            return Err(KvError("too many compare_and_swaps opened".to_owned()));
        }
        handles.set(handles.get() + 1);
        Ok(Remembered {
            cas: Some(cas),
            handles,
        })
    }
}

impl Kv for Limited {
    type Cas = Remembered;

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        self.memory.get(key).await
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        self.check()?;
        self.memory.set(key, value).await
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        self.memory.delete(key).await
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        self.memory.increment(key, delta).await
    }

    async fn cas(&self, key: &str) -> Result<Remembered, KvError> {
        self.check()?;
        self.remember(self.memory.cas(key).await?)
    }

    async fn current(&self, cas: &Remembered) -> Result<Option<Vec<u8>>, KvError> {
        self.memory
            .current(cas.cas.as_ref().expect("it was not swapped"))
            .await
    }

    async fn swap(&self, mut cas: Remembered, value: &[u8]) -> Result<(), SwapError<Remembered>> {
        self.instance.ration.take(&self.share);
        let cas = cas.cas.take().expect("a handle is swapped once");
        match self.memory.swap(cas, value).await {
            Ok(()) => Ok(()),
            Err(SwapError::Store(error)) => Err(SwapError::Store(error)),
            Err(SwapError::CasFailed(fresh)) => Err(match self.remember(fresh) {
                Ok(fresh) => SwapError::CasFailed(fresh),
                Err(error) => SwapError::Store(error),
            }),
        }
    }

    fn reserve(&self, swaps: u32) -> bool {
        self.instance.is_careless || self.instance.ration.reserve(&self.share, swaps)
    }
}

/// A tick that an instance is given.
fn tick(shop: &Shop, instance: &Rc<Instance>) -> Result<Ticked, DriverError> {
    let store = instance.request(shop);
    let tick = Tick {
        store: &store,
        directory: shop,
        sink: &shop.world,
        clock: || shop.world.now(),
        witness: &(),
        limits: shop.limits,
    };
    run(tick.run(&mut shop.entropy.borrow_mut()))
}

/// Operations that wait for a retry, each with the events that its end brings about.
fn left(shop: &mut Shop, records: u64, events: usize) -> Vec<Uuid> {
    shop.world.has_events = true;
    shop.world.events = events;
    shop.world.is_up.set(false);
    let submit = |key| shop.submit(key).identity().id;
    let ids = (0..records).map(submit).collect();
    shop.world.is_up.set(true);
    shop.pass(2_000);
    ids
}

fn is_over(shop: &Shop, id: Uuid) -> bool {
    let record = shop.record(id);
    let mut deliveries = record.outbox().deliveries().iter();
    matches!(record.state(), State::Done { .. })
        && deliveries.all(|one| matches!(one.state, DeliveryState::Delivered { .. }))
}

/// Ticks of a new instance each, until one has nothing to come back for at once; how many they were.
fn ticks(shop: &Shop) -> u32 {
    for number in 1..100 {
        let instance = Rc::new(Instance::default());
        let ticked = tick(shop, &instance).expect("no tick meets the limit");
        assert!(!instance.was_full.get(), "tick {number}: {ticked:?}");
        assert_eq!(ticked.failed, 0, "tick {number}: {ticked:?}");
        if ticked.come_back_ms > 0 {
            return number;
        }
        assert!(
            instance.handles.get() > HANDLES_MAX / 2,
            "tick {number} stops early: {} swaps, {ticked:?}",
            instance.handles.get()
        );
    }
    panic!("ticks come to no end");
}

#[test]
fn ticks_stop_in_time_and_the_next_ones_do_the_rest() {
    for (kind, events, least) in [
        (Kind::Unsafe, 1, 300 * 4 / 256),
        (Kind::Idempotent, 4, 300 * 11 / 256),
    ] {
        let mut shop = Shop::new(policy(kind, 1_000), 6);
        let ids = left(&mut shop, 300, events);
        shop.pass(10_000);
        let number = ticks(&shop);
        assert!(number > least, "{number} ticks cannot have done it");
        assert!(number <= 3 * least, "{number} ticks is many");
        assert!(ids.iter().all(|id| is_over(&shop, *id)), "{kind:?}");
        assert_eq!(shop.memory.count("t/"), 0, "{kind:?}");
        let calls: u32 = shop.world.calls.borrow().values().sum();
        assert_eq!(calls, 600, "{kind:?}: each was called twice");
        let deliveries = usize::try_from(shop.world.deliveries.get()).expect("few");
        assert_eq!(deliveries, 300 * events, "{kind:?}: each was sent once");
    }
}

/// Without being sparing, a tick meets the limit: these tests would see it.
#[test]
fn a_careless_tick_meets_the_limit() {
    let mut shop = Shop::new(waiting(700), 6);
    left(&mut shop, 300, 1);
    let instance = Rc::new(Instance {
        is_careless: true,
        ..Instance::default()
    });
    let error = tick(&shop, &instance).expect_err("it does not stop in time");
    assert!(error.to_string().contains("too many compare_and_swaps"));
    assert!(instance.was_full.get());
}

/// What the walk has found and this instance can neither move nor note is found again by the next one.
#[test]
fn what_the_walk_leaves_for_want_of_writes_waits_for_no_other_round() {
    let mut shop = Shop::new(waiting(700), 8);
    shop.timers = Timers::Never;
    shop.limits.records = 256;
    let ids = left(&mut shop, 1_200, 1);
    // A quarter of the buckets each, so four ticks see all of them.
    for _ in 0..4 {
        ticks(&shop);
    }
    shop.pass(1_000);
    ticks(&shop);
    let open = ids.iter().filter(|id| !is_over(&shop, **id));
    assert_eq!(open.count(), 0);
    let calls: u32 = shop.world.calls.borrow().values().sum();
    assert_eq!(calls, 2_400, "each was called twice");
}

#[test]
fn a_purge_that_runs_out_of_writes_comes_back_at_once() {
    let mut shop = Shop::new(waiting(700), 10);
    shop.limits.buckets = 1_024;
    shop.limits.purge = PurgeLimits {
        nodes: usize::MAX,
        grace_ms: 0,
    };
    for key in 0..600 {
        shop.submit(key);
    }
    shop.pass(25 * 60 * 60 * 1_000);
    assert!(ticks(&shop) > 1);
    assert_eq!(shop.memory.count("n/"), 1, "the walk's document");
}

/// What is set aside for requests that are under way is none of a tick's.
#[test]
fn a_tick_leaves_their_writes_to_the_others_inside() {
    let mut shop = Shop::new(waiting(700), 6);
    let ids = left(&mut shop, 100, 1);
    let instance = Rc::new(Instance::default());
    let others: Vec<_> = (0..16).map(|_| instance.ration.enter()).collect();
    let ticked = tick(&shop, &instance).expect("it stops in time");
    assert_eq!(ticked.come_back_ms, 0);
    let over = ids.iter().filter(|id| is_over(&shop, **id)).count();
    assert!((10..50).contains(&over), "{over}");
    assert!(instance.handles.get() + 16 * REQUEST_SWAPS <= HANDLES_MAX);
    for share in &others {
        instance.ration.leave(share);
    }
    // The same instance goes on with what they did not take; then others do.
    let more = tick(&shop, &instance).expect("it stops in time");
    assert!(more.advanced > 0 && !instance.was_full.get(), "{more:?}");
    ticks(&shop);
    assert!(ids.iter().all(|id| is_over(&shop, *id)));
}

/// A request that comes to a worn instance all the same writes nothing and calls nobody; a repeat is answered.
#[test]
fn a_worn_instance_begins_nothing_and_still_answers_repeats() {
    let shop = Shop::new(waiting(700), 6);
    let done = shop.submit(1);
    let before = (
        shop.memory.data.borrow().clone(),
        shop.world.calls.borrow().len(),
    );
    let instance = Rc::new(Instance::default());
    let share = instance.ration.enter();
    (0..HANDLES_MAX).for_each(|_| instance.ration.take(&share));
    let store = instance.request(&shop);
    let operations = Operations {
        store: &store,
        upstream: &shop.world,
        policy: &shop.policy,
        budget_name: BUDGET_NAME,
        timers: Timers::CallerRelays,
        witness: &(),
    };
    let submit = |key| {
        let now = shop.world.now();
        let mut entropy = shop.entropy.borrow_mut();
        let identity = identity(key);
        let origin = origin(key, 0, entropy.next_uuid(now.as_unix_ms()), now);
        run(operations.submit(identity, origin, now, &mut entropy))
    };
    let repeat = submit(1).expect("a repeat writes nothing");
    assert!(!repeat.is_new);
    assert!(matches!(
        repeat.settled,
        reprise::driver::Settled::At { record, .. } if *record == done
    ));
    let refused = submit(2).expect_err("a first request does");
    assert!(refused.to_string().contains("the next one takes over"));
    let after = (
        shop.memory.data.borrow().clone(),
        shop.world.calls.borrow().len(),
    );
    assert_eq!(after, before);
    assert!(!instance.was_full.get());
}
