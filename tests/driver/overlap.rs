//! Two ticks at a time, call by call: they share the work and do not double it.

use std::rc::Rc;

use reprise::driver::entropy::Entropy;
use reprise::driver::store::{Layout, Store};
use reprise::driver::{Directory, Operations, Parts, Tick, TickLimits, Ticked, Timers};
use reprise::machine::{Name, Policy};

use crate::client::BUDGET_NAME;
use crate::model::{Client, Fault, Model, Rules, World, poll, run};
use crate::setting::{identity, origin};
use crate::shop::{Outer, waiting};
use crate::simulation::{Life, seeded};

const OPERATIONS: u64 = 30;

/// What both instances have.
pub struct Instances {
    pub outer: Outer,
    pub policy: Policy,
}

impl Directory for Instances {
    type Upstream = Outer;

    fn find(&self, _: &Name) -> Option<Parts<'_, Outer>> {
        Some(Parts {
            upstream: &self.outer,
            policy: &self.policy,
            budget_name: BUDGET_NAME,
        })
    }
}

/// A store with so many operations whose retries are due.
pub fn with_retries(rules: Rules, instances: &Instances) -> (Model, Layout) {
    let client = Client {
        world: World::direct(Model::new(rules, 2)),
        id: 0,
    };
    let mut entropy = seeded(4);
    let store = run(Store::open(client.clone(), 4, &mut entropy)).expect("a sound store");
    let operations = Operations {
        store: &store,
        upstream: &instances.outer,
        policy: &instances.policy,
        budget_name: BUDGET_NAME,
        timers: Timers::All,
        witness: &(),
    };
    let now = instances.outer.now();
    for key in 0..OPERATIONS {
        let origin = origin(key, 0, entropy.next_uuid(now.as_unix_ms()), now);
        let submitted = run(operations.submit(identity(key), origin, now, &mut entropy));
        submitted.expect("the store works");
    }
    let mut model = client.world.borrow().model.clone();
    model.drop_client(0);
    (model, store.layout())
}

/// What several ticks did together.
pub struct Ended {
    pub ticked: Vec<Ticked>,
    pub reads: u32,
    pub writes: u32,
    pub model: Model,
}

/// Runs so many ticks at a time, one call of each after the other. The first dies before its last write if it is told to.
pub fn tick(
    model: Model,
    layout: Layout,
    instances: &Rc<Instances>,
    ticks: usize,
    dies_before: Option<u32>,
) -> Ended {
    let world = World::stepped(model);
    let told = Rc::new(std::cell::RefCell::new(Vec::new()));
    let mut lives: Vec<Option<Life>> = Vec::new();
    for id in 0..ticks {
        let client = Client {
            world: Rc::clone(&world),
            id,
        };
        let (told, instances) = (Rc::clone(&told), Rc::clone(instances));
        let mut entropy: Entropy = seeded(10 + u64::try_from(id).expect("small"));
        let mut life: Life = Box::pin(async move {
            let store = Store::with_layout(client, layout);
            let tick = Tick {
                store: &store,
                witness: &(),
                directory: &*instances,
                sink: &instances.outer,
                clock: || instances.outer.now(),
                limits: TickLimits {
                    // The model executes one call of a client at a time.
                    at_once: 1,
                    ..TickLimits::default()
                },
            };
            let ticked = tick.run(&mut entropy).await.expect("the store works");
            told.borrow_mut().push(ticked);
        });
        assert_eq!(poll(&mut life), None, "a tick begins with a call");
        lives.push(Some(life));
    }
    let (mut reads, mut writes) = (0, 0);
    let mut own_writes = 0;
    while lives.iter().any(Option::is_some) {
        for (id, slot) in lives.iter_mut().enumerate() {
            let Some(life) = slot else { continue };
            let is_write = world.borrow().waiting[id]
                .as_ref()
                .is_some_and(crate::model::Call::writes);
            if id == 0 && is_write {
                own_writes += 1;
                if dies_before == Some(own_writes) {
                    *slot = None;
                    let mut world = world.borrow_mut();
                    world.waiting[id] = None;
                    world.model.drop_client(id);
                    continue;
                }
            }
            reads += u32::from(!is_write);
            writes += u32::from(is_write);
            world.borrow_mut().step(id, Fault::None);
            if poll(life).is_some() {
                *slot = None;
            }
        }
    }
    let ticked = told.borrow().clone();
    let mut model = world.borrow().model.clone();
    for id in 0..ticks {
        model.drop_client(id);
    }
    Ended {
        ticked,
        reads,
        writes,
        model,
    }
}

#[test]
fn two_ticks_at_a_time_share_the_work() {
    for rules in [Rules::Sqlite, Rules::Redis, Rules::Dynamo, Rules::Plain] {
        let instances = Rc::new(Instances {
            outer: Outer::new(),
            policy: waiting(700),
        });
        instances.outer.is_up.set(false);
        let (model, layout) = with_retries(rules, &instances);
        instances.outer.is_up.set(true);
        instances
            .outer
            .now_ms
            .set(instances.outer.now_ms.get() + 1_000);
        let costs = [1, 2].map(|ticks| {
            instances.outer.calls.borrow_mut().clear();
            let ended = tick(model.clone(), layout, &instances, ticks, None);
            let Ended {
                ticked,
                reads,
                writes,
                ..
            } = ended;
            let advanced: u32 = ticked.iter().map(|ticked| ticked.advanced).sum();
            let calls: u32 = instances.outer.calls.borrow().values().sum();
            println!("{rules:?}, {ticks} at a time: {reads} reads, {writes} writes, {ticked:?}");
            // Each attempt ran once, whoever claimed it.
            assert_eq!(u64::from(calls), OPERATIONS);
            assert!(u64::from(advanced) >= OPERATIONS, "{ticked:?}");
            writes
        });
        assert!(costs[1] < 2 * costs[0], "{rules:?}: {costs:?}");
    }
}
