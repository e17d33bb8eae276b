//! The census: what the walk counts is what the store holds, whoever ticks, and however ticks meet and die.

use std::cell::RefCell;
use std::rc::Rc;

use reprise::driver::census::Census;
use reprise::driver::counts::Counts;
use reprise::driver::entropy::Entropy;
use reprise::driver::store::{Layout, Store};
use reprise::driver::walk::{self, Walk};
use reprise::driver::{Fact, Timers, Witness};
use reprise::machine::{OperationEvent, Policy, Timestamp};

use crate::model::{Client, Model, Rules, World, run};
use crate::overlap::{Instances, tick, with_retries};
use crate::setting::START_MS;
use crate::shop::{Outer, Shop, waiting};

/// A witness whose counts the test puts there.
#[derive(Debug, Default)]
struct Noted(RefCell<Counts>);

impl Noted {
    fn count(&self, times: u64) {
        self.0.borrow_mut().add("noted", times);
    }
}

impl Witness for Noted {
    fn note(&self, _: Fact<'_>, _: Timestamp) {}

    fn take(&self) -> Counts {
        self.0.take()
    }

    fn give_back(&self, counts: &Counts) {
        self.0.borrow_mut().merge(counts);
    }
}

/// The operations of a census, in the order queued, running, waiting, done, failed, cancelled.
fn operations(census: &Census) -> [u64; 6] {
    [
        "queued",
        "running",
        "waiting",
        "done",
        "failed",
        "cancelled",
    ]
    .map(|state| census.operations().of(&format!("charge {state}")))
}

fn walk_of_shop(shop: &Shop) -> Walk {
    let mut entropy = shop.entropy.borrow_mut();
    let stand = walk::stand(&shop.store, shop.world.now(), &mut entropy);
    run(stand).expect("the store works").into_walk()
}

fn walk_of(model: &Model, layout: Layout) -> Walk {
    let world = World::direct(model.clone());
    let store = Store::with_layout(Client { world, id: 0 }, layout);
    let now = Timestamp::from_unix_ms(START_MS);
    let mut entropy = Entropy::from_seed([1; 32]);
    let stand = walk::stand(&store, now, &mut entropy);
    run(stand).expect("the store works").into_walk()
}

const WAIT_MS: u64 = 100_000;

/// Waits that are longer than most of these histories, and receivers that may fail once.
fn patient() -> Policy {
    let mut settings = waiting(WAIT_MS).settings().clone();
    settings.delivery.max_attempts = 1;
    Policy::new(settings).expect("sound settings")
}

#[test]
fn a_round_counts_every_record_once_as_it_is() {
    for (bits, buckets, ticks) in [(4, 64, 1), (6, 16, 4), (6, 24, 3), (0, 64, 1)] {
        let mut shop = Shop::new(patient(), bits);
        shop.limits.buckets = buckets;
        for key in 0..5 {
            shop.submit(key);
        }
        shop.world.is_up.set(false);
        let waiting: Vec<_> = (5..12).map(|key| shop.submit(key)).collect();
        for record in &waiting[..3] {
            let mut entropy = shop.entropy.borrow_mut();
            let (id, now) = (record.identity().id, shop.world.now());
            let cancelled = OperationEvent::CancelAsked;
            let operations = shop.operations();
            let told = operations.tell_id(id, cancelled, now, &mut entropy);
            drop(run(told).expect("the store works"));
        }
        for number in 1..=ticks {
            assert_eq!(
                walk_of_shop(&shop).last_census(),
                None,
                "before tick {number}"
            );
            shop.pass(1_000);
            shop.tick();
        }
        let walk = walk_of_shop(&shop);
        let last = walk.last_census().expect("a whole round");
        assert_eq!(operations(&last.census), [0, 0, 4, 5, 0, 3], "{bits} bits");
        assert_eq!(last.at, shop.world.now());
        assert_eq!(last.census.due_lag_ms(), 0);
        // The next round takes as long again, and finds no more.
        for _ in 1..=ticks {
            shop.pass(1_000);
            shop.tick();
        }
        let walk = walk_of_shop(&shop);
        let last = walk.last_census().expect("a whole round");
        assert_eq!(operations(&last.census), [0, 0, 4, 5, 0, 3], "{bits} bits");
    }
}

#[test]
fn lags_and_dead_letters_are_those_of_what_is_there() {
    let mut shop = Shop::new(patient(), 4);
    shop.timers = Timers::Never;
    shop.world.has_events = true;
    shop.world.receiver_is_up.set(false);
    shop.submit(1);
    shop.world.has_events = false;
    shop.submit(2);
    shop.pass(7_000);
    // Its event is due for so long, and given up by this very tick: the census came before that.
    shop.tick();
    let seen = |walk: &Walk| {
        let census = &walk.last_census().expect("a whole round").census;
        let dead = census.dead_letters().of("ledger");
        (census.relay_lag_ms(), census.due_lag_ms(), dead)
    };
    assert_eq!(seen(&walk_of_shop(&shop)), (7_000, 0, 0));
    shop.world.is_up.set(false);
    shop.submit(3);
    shop.pass(1_000);
    shop.tick();
    assert_eq!(seen(&walk_of_shop(&shop)), (0, 0, 1));
    // The retry of the third is due for five seconds when a tick comes.
    shop.pass(WAIT_MS + 4_000);
    shop.tick();
    assert_eq!(seen(&walk_of_shop(&shop)), (0, 5_000, 1));
}

/// Whoever of several ticks moves the walk on, each record counts once; and a tick that dies has counted nothing.
#[test]
fn ticks_that_meet_or_die_count_nothing_twice() {
    for rules in [Rules::Sqlite, Rules::Redis, Rules::Dynamo, Rules::Plain] {
        let instances = Rc::new(Instances {
            outer: Outer::new(),
            policy: patient(),
        });
        instances.outer.is_up.set(false);
        let (mut model, layout) = with_retries(rules, &instances);
        let pass = || {
            let now_ms = &instances.outer.now_ms;
            now_ms.set(now_ms.get() + 1_000);
        };
        // The first tick of all creates the document, and may die over it.
        for dies_before in [Some(1), Some(2), Some(3), Some(4), Some(5), None] {
            for ticks in [1, 2] {
                pass();
                let ended = tick(model, layout, &instances, ticks, dies_before);
                model = ended.model;
                if let Some(last) = walk_of(&model, layout).last_census() {
                    assert_eq!(operations(&last.census), [0, 0, 30, 0, 0, 0], "{rules:?}");
                }
            }
        }
        let walk = walk_of(&model, layout);
        let last = walk.last_census().expect("the last ticks lived");
        assert_eq!(last.at, instances.outer.now(), "{rules:?}");
    }
}

/// A bucket that kills whoever visits it holds the walk up for a while and not for ever.
#[test]
fn a_walk_that_stands_still_is_moved_on_before_the_next_visit() {
    let mut shop = Shop::new(patient(), 6);
    shop.limits.buckets = 32;
    for key in 0..9 {
        shop.submit(key);
    }
    shop.tick();
    shop.pass(150_000);
    // It counts nothing: there is a hole now, and the round begins anew.
    shop.tick();
    let blind = walk_of_shop(&shop);
    assert_eq!(
        (blind.last_census(), blind.moved_at()),
        (None, shop.world.now())
    );
    shop.pass(1_000);
    shop.tick();
    assert_eq!(walk_of_shop(&shop).last_census(), None);
    shop.pass(1_000);
    shop.tick();
    let walk = walk_of_shop(&shop);
    let last = walk.last_census().expect("a whole round");
    assert_eq!(operations(&last.census), [0, 0, 0, 9, 0, 0]);
}

#[test]
fn counts_of_several_instances_add_up_and_what_cannot_be_brought_waits() {
    let shop = Shop::new(patient(), 4);
    let [one, two] = [Noted::default(), Noted::default()];
    let flush = |witness: &Noted| {
        let mut entropy = shop.entropy.borrow_mut();
        let now = shop.world.now();
        run(walk::flush(&shop.store, witness, now, &mut entropy))
    };
    one.count(3);
    two.count(4);
    flush(&one).expect("the store works");
    one.count(10);
    shop.memory.is_out.set(true);
    flush(&two).expect_err("the store is out");
    two.count(100);
    shop.memory.is_out.set(false);
    let (walk, (_, writes)) = shop.memory.cost(|| flush(&two));
    assert_eq!(
        (walk.expect("the store works").counts().of("noted"), writes),
        (107, 1)
    );
    assert_eq!(
        flush(&one).expect("the store works").counts().of("noted"),
        117
    );
    // A tick leaves them where they are.
    shop.tick();
    assert_eq!(walk_of_shop(&shop).counts().of("noted"), 117);
}

/// What cannot be read is begun anew, at the place where the walk was if that can be read.
#[test]
fn a_document_that_cannot_be_read_does_not_stop_the_walk() {
    for (garbage, next) in [
        (&br#"{"v":1,"next":32,"of":"another version"}"#[..], 48),
        (&br#"{"v":2,"next":32,"moved_at":1,"counted":0,"census":{"operations":{},"dead_letters":{},"due_lag_ms":0,"relay_lag_ms":0},"last":null,"counts":{}}"#[..], 48),
        (&b"\xff"[..], 16),
    ] {
        let mut shop = Shop::new(patient(), 6);
        shop.limits.buckets = 16;
        shop.submit(1);
        shop.tick();
        for (key, value) in shop.memory.data.borrow_mut().iter_mut() {
            let is_walk = value.windows(14).any(|window| window == br#"{"v":1,"next":"#);
            if key.starts_with("n/") && is_walk {
                value.truncate(112);
                value.extend(garbage);
            }
        }
        shop.pass(1_000);
        shop.tick();
        let data = shop.memory.data.borrow();
        let place = format!(r#"{{"v":1,"next":{next},"#);
        let is_there = |value: &&Vec<u8>| {
            let place = place.as_bytes();
            value.windows(place.len()).any(|window| window == place)
        };
        assert_eq!(data.values().filter(is_there).count(), 1, "{next}");
    }
}
