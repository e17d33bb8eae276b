//! What comes after a history: all clients have left, and ticks alone move what is there.
//!
//! Two instances tick at a time, step by step. Their clocks are set anew before each tick, up to ten minutes off either
//! way; they die between any two calls, and the store, the upstream and the receiver go on failing for a while. In the
//! end everything must have come to its end, and no timer may be left.

use std::rc::Rc;

use reprise::driver::entropy::Entropy;
use reprise::driver::store::{Layout, PurgeLimits, Store, StoreError};
use reprise::driver::{
    Directory, DriverError, Operations, Parts, Tick, TickLimits, Ticked, Timers,
};
use reprise::machine::{Millis, Name, Policy, stored};

use crate::client::BUDGET_NAME;
use crate::model::{Client, Fault, Model, World, poll, run};
use crate::simulation::{History, Life, check_repeat, seeded};
use crate::upstream::Gateway;

/// Clocks are off by up to this much, either way.
const STEP_MS: u64 = 600_000;
/// Rounds of two ticks each in which everything fails now and then, and in which instances die.
const BAD_ROUNDS: u32 = 6;
/// Good rounds: as many minutes as clocks may be off, and as many again for what is left.
const GOOD_ROUNDS: u32 = 40;
const ROUND_MS: u64 = 60_000;

/// What the ticks of many histories did.
#[derive(Debug, Default)]
pub struct Ticks {
    pub whole: u32,
    pub crashes: u32,
    pub due: u32,
    pub stale: u32,
    pub found: u32,
    pub advanced: u32,
    pub delivered: u32,
    pub failed: u32,
}

impl Ticks {
    pub fn add(&mut self, other: &Self) {
        self.whole += other.whole;
        self.crashes += other.crashes;
        self.due += other.due;
        self.stale += other.stale;
        self.found += other.found;
        self.advanced += other.advanced;
        self.delivered += other.delivered;
        self.failed += other.failed;
    }

    fn note(&mut self, ticked: &Ticked) {
        self.whole += 1;
        self.due += ticked.due;
        self.stale += ticked.stale;
        self.found += ticked.found;
        self.advanced += ticked.advanced;
        self.delivered += ticked.delivered;
        self.failed += ticked.failed;
    }
}

/// An instance that ticks once.
struct Instance {
    client: Client,
    layout: Layout,
    policy: Policy,
    gateway: Gateway,
    entropy: Entropy,
}

impl Directory for Instance {
    type Upstream = Gateway;

    fn find(&self, _: &Name) -> Option<Parts<'_, Gateway>> {
        Some(Parts {
            upstream: &self.gateway,
            policy: &self.policy,
            budget_name: BUDGET_NAME,
        })
    }
}

impl Instance {
    async fn tick(&self) -> Result<Ticked, DriverError> {
        let store = Store::with_layout(self.client.clone(), self.layout);
        let tick = Tick {
            store: &store,
            witness: &(),
            directory: self,
            sink: &self.gateway,
            clock: || self.gateway.now(),
            limits: TickLimits {
                records: 8,
                // The model executes one call of a client at a time.
                at_once: 1,
                work_ms: Millis::from_secs(60),
                buckets: 4,
                purge: PurgeLimits {
                    nodes: 8,
                    grace_ms: 2 * STEP_MS,
                },
            },
        };
        tick.run(&mut self.entropy.clone()).await
    }
}

impl History {
    /// Ticks until all is done, and checks what is left.
    pub fn tick_to_the_end(&mut self) -> Result<Ticks, String> {
        let mut ticks = Ticks::default();
        self.begin_wheel()?;
        for _ in 0..BAD_ROUNDS {
            let noted = self.tick_twice()?;
            ticks.add(&noted);
            let ms = self.roll(ROUND_MS);
            self.outside.borrow_mut().now_ms += ms;
        }
        self.outside.borrow_mut().healthy = true;
        let model = self.world.borrow().model.clone();
        self.world = World::direct(model);
        let mut last = Ticked::default();
        for round in 0..GOOD_ROUNDS {
            // In the end the clocks are right, so that nobody's future is left.
            let is_off = round < GOOD_ROUNDS / 2;
            let instance = self.instance(0, if is_off { STEP_MS } else { 0 });
            last = run(instance.tick()).map_err(|error| format!("a good tick: {error}"))?;
            ticks.note(&last);
            self.world.borrow_mut().model.drop_client(0);
            self.outside.borrow_mut().now_ms += ROUND_MS;
        }
        if (last.due, last.found, last.failed) != (0, 0, 0) {
            return Err(format!("the ticks do not come to an end: {last:?}"));
        }
        self.check_aftermath()?;
        Ok(ticks)
    }

    /// The wheel was gone through up to the beginning, or the first tick would look at each of its slots.
    fn begin_wheel(&mut self) -> Result<(), String> {
        let model = self.world.borrow().model.clone();
        let client = Client {
            world: World::direct(model),
            id: 0,
        };
        let store = Store::with_layout(client.clone(), self.layout);
        let now_ms = crate::setting::START_MS - STEP_MS;
        run(async {
            let due = store.due_slots(now_ms).await?;
            store.pass_slots(&due, None, &mut seeded(3)).await
        })
        .map_err(|error| error.to_string())?;
        let mut model = client.world.borrow().model.clone();
        for id in 0..self.world.borrow().waiting.len() {
            model.drop_client(id);
        }
        self.world = World::stepped(model);
        Ok(())
    }

    /// An instance whose clock is off by up to so much.
    fn instance(&mut self, id: usize, most_ms: u64) -> Instance {
        let skew_ms = i64::try_from(self.roll(2 * most_ms + 1)).expect("minutes")
            - i64::try_from(most_ms).expect("minutes");
        let entropy = seeded(self.roll(u64::MAX));
        Instance {
            client: Client {
                world: Rc::clone(&self.world),
                id,
            },
            layout: self.layout,
            policy: self.policy.clone(),
            gateway: self.gateway(skew_ms),
            entropy,
        }
    }

    /// Two ticks at a time, each to its end or its death.
    fn tick_twice(&mut self) -> Result<Ticks, String> {
        let ticks = Rc::new(std::cell::RefCell::new(Ticks::default()));
        let mut lives: Vec<Option<Life>> = Vec::new();
        for id in 0..2 {
            let instance = self.instance(id, STEP_MS);
            let (ticks, outside) = (Rc::clone(&ticks), Rc::clone(&self.outside));
            let mut life: Life = Box::pin(async move {
                match instance.tick().await {
                    Ok(ticked) => ticks.borrow_mut().note(&ticked),
                    Err(
                        DriverError::Store(StoreError::Unavailable(_)) | DriverError::Contended,
                    ) => {}
                    Err(error) => outside.borrow_mut().violate(format!("a tick: {error}")),
                }
            });
            assert_eq!(
                poll(&mut life),
                None,
                "a tick begins with a look at the wheel"
            );
            lives.push(Some(life));
        }
        while lives.iter().any(Option::is_some) {
            let id = usize::try_from(self.roll(2)).expect("small");
            let ms = self.roll(40);
            self.outside.borrow_mut().now_ms += ms;
            if lives[id].is_some() && self.roll(400) == 0 {
                ticks.borrow_mut().crashes += 1;
                self.crashes += 1;
                lives[id] = None;
                self.world.borrow_mut().waiting[id] = None;
                self.world.borrow_mut().model.drop_client(id);
            }
            if lives[id].is_none() {
                continue;
            }
            let call = self.world.borrow().waiting[id].clone();
            if let Some(call) = call {
                let fault = match self.roll(600) {
                    0 => Fault::Before,
                    1 => Fault::After,
                    _ => Fault::None,
                };
                self.faults += u32::from(fault != Fault::None);
                self.execute(id, &call, fault)?;
            }
            if lives[id].as_mut().is_some_and(|life| poll(life).is_some()) {
                lives[id] = None;
                self.world.borrow_mut().model.drop_client(id);
            }
        }
        drop(lives);
        Ok(Rc::into_inner(ticks)
            .expect("the ticks are over")
            .into_inner())
    }

    fn check_aftermath(&mut self) -> Result<(), String> {
        self.check_budget(i64::try_from(STEP_MS).expect("minutes"))?;
        check_timers(&self.world.borrow().model, self.crashes + self.faults)?;
        let gateway = self.gateway(0);
        let client = Client {
            world: Rc::clone(&self.world),
            id: 0,
        };
        let store = Store::with_layout(client, self.layout);
        let operations = Operations {
            store: &store,
            upstream: &gateway,
            policy: &self.policy,
            budget_name: BUDGET_NAME,
            timers: Timers::Never,
            witness: &(),
        };
        for (key, id) in &self.told.borrow().ids {
            let node = run(store.load(*id, gateway.now().as_unix_ms()));
            let node = node.map_err(|error| error.to_string())?;
            let node = node.ok_or_else(|| format!("{id} is gone within its retention"))?;
            let record = stored::decode(node.payload()).map_err(|error| error.to_string())?;
            if record.expires_at().is_none() {
                return Err(format!("{id} has not come to its end: {record:#?}"));
            }
            self.check_end(&record)?;
            check_repeat(&operations, &gateway, *key, &record)?;
        }
        Ok(())
    }
}

/// No slot leads to a timer. What a client that died, or met a fault, has set and not pushed is in no slot.
fn check_timers(model: &Model, lost: u32) -> Result<(), String> {
    let words = model.data.range("w/t/".to_owned().."w/t0".to_owned());
    for (key, word) in words {
        let word = u64::from_le_bytes(word.as_slice().try_into().expect("a word"));
        if model.data.contains_key(&format!("t/{word:016x}")) {
            return Err(format!("{key} leads to a timer"));
        }
    }
    let timers = model
        .data
        .keys()
        .filter(|key| key.starts_with("t/"))
        .count();
    if timers > usize::try_from(lost).expect("few") {
        return Err(format!("{timers} timers are left over after {lost} losses"));
    }
    Ok(())
}
