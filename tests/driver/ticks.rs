//! Single ticks: what a call costs that leaves work to them, and what they do about it.

use reprise::driver::store::StoreError;
use reprise::driver::{DriverError, Ticked, Timers};
use reprise::machine::{DeliveryState, Millis, State};

use crate::model::run;
use crate::setting::{Kind, LEASE_MS, START_MS, policy};
use crate::shop::{Shop, waiting};

/// One bucket and one slot that were used before, so that no word is created any more.
fn used(has_events: bool, timers: Timers) -> Shop {
    let mut shop = Shop::new(waiting(700), 0);
    shop.world.has_events = has_events;
    shop.world.is_up.set(false);
    shop.submit(1_000);
    shop.world.is_up.set(true);
    shop.world.has_events = true;
    shop.submit(1_001);
    shop.world.has_events = has_events;
    shop.timers = timers;
    shop
}

#[test]
fn what_a_call_costs_depends_on_what_it_leaves_to_the_ticks() {
    // Up or down, with an event or without, whose timers: the writes.
    let table = [
        (true, false, Timers::All, 3),
        (true, false, Timers::Never, 3),
        (true, true, Timers::All, 5),
        (true, true, Timers::CallerRelays, 3),
        (true, true, Timers::Never, 3),
        (false, false, Timers::All, 5),
        (false, false, Timers::CallerRelays, 5),
        (false, false, Timers::Never, 3),
    ];
    for (is_up, has_events, timers, expected) in table {
        let shop = used(has_events, timers);
        shop.world.is_up.set(is_up);
        let (_, (_, writes)) = shop.memory.cost(|| shop.submit(1));
        assert_eq!(
            writes, expected,
            "up {is_up}, events {has_events}, {timers:?}"
        );
        let (_, (_, writes)) = shop.memory.cost(|| shop.submit(1));
        assert_eq!(
            writes, 0,
            "a repeat: up {is_up}, events {has_events}, {timers:?}"
        );
    }
}

/// Whoever is to relay an event is told so, however long the attempt took that brought it about: nobody else will.
#[test]
fn what_has_no_timer_is_the_caller_s_to_relay() {
    for (has_events, takes_ms) in [(false, 300), (true, 0), (true, 1), (true, 3_000)] {
        let mut shop = Shop::new(waiting(700), 4);
        shop.timers = Timers::CallerRelays;
        shop.world.has_events = has_events;
        shop.world.takes_ms.set(takes_ms);
        let settled = shop.try_submit(1);
        assert_eq!(
            (settled.has_due_event(), shop.memory.count("t/")),
            (has_events, 0),
            "after {takes_ms} ms"
        );
    }
}

#[test]
fn a_tick_runs_a_retry_within_a_second_of_its_time() {
    let shop = Shop::new(waiting(1_300), 4);
    shop.world.is_up.set(false);
    let id = shop.submit(1).identity().id;
    shop.world.is_up.set(true);
    shop.pass(1_000);
    let early = shop.tick();
    assert_eq!((early.due, early.advanced), (0, 0), "{early:?}");
    shop.pass(1_000);
    let ticked = shop.tick();
    let expected = Ticked {
        due: 1,
        advanced: 1,
        buckets: 16,
        lag_ms: 700,
        come_back_ms: 1_000,
        ..Ticked::default()
    };
    assert_eq!(ticked, expected);
    assert!(matches!(shop.record(id).state(), State::Done { .. }));
    assert_eq!(shop.memory.count("t/"), 0);
}

#[test]
fn a_tick_delivers_and_comes_back_while_the_receiver_is_down() {
    let mut shop = Shop::new(waiting(700), 4);
    shop.world.has_events = true;
    shop.world.receiver_is_up.set(false);
    let id = shop.submit(1).identity().id;
    for _ in 0..3 {
        shop.pass(1_000);
        let ticked = shop.tick();
        assert_eq!((ticked.due, ticked.advanced, ticked.delivered), (1, 1, 0));
        assert_eq!(
            shop.memory.count("t/"),
            1,
            "one timer for the next delivery"
        );
    }
    shop.world.receiver_is_up.set(true);
    shop.pass(1_000);
    assert_eq!(shop.tick().delivered, 1);
    assert_eq!(
        (shop.world.deliveries.get(), shop.memory.count("t/")),
        (4, 0)
    );
    let record = shop.record(id);
    let delivery = &record.outbox().deliveries()[0];
    assert!(matches!(delivery.state, DeliveryState::Delivered { .. }));
}

/// A timer that was lost, or never set, costs a round of the walk.
#[test]
fn the_walk_finds_what_no_timer_tells_of() {
    let mut shop = Shop::new(waiting(700), 6);
    shop.timers = Timers::Never;
    shop.limits.buckets = 8;
    shop.world.is_up.set(false);
    let ids: Vec<_> = (0..20).map(|key| shop.submit(key).identity().id).collect();
    shop.world.is_up.set(true);
    let mut found = 0;
    for _ in 0..64 / 8 {
        shop.pass(1_000);
        let ticked = shop.tick();
        assert_eq!((ticked.due, ticked.buckets), (0, 8));
        found += ticked.found;
    }
    assert_eq!(found, 20);
    for id in ids {
        assert!(matches!(shop.record(id).state(), State::Done { .. }));
    }
}

/// What the walk finds and has no time for gets a timer.
#[test]
fn a_tick_that_is_spent_leaves_nothing_behind() {
    let mut shop = Shop::new(waiting(700), 4);
    shop.timers = Timers::Never;
    shop.limits.records = 3;
    shop.world.is_up.set(false);
    for key in 0..10 {
        shop.submit(key);
    }
    shop.world.is_up.set(true);
    shop.pass(2_000);
    let first = shop.tick();
    assert_eq!((first.found, first.advanced), (1, 1));
    assert_eq!(shop.memory.count("t/"), 9);
    let next = shop.tick();
    let moved = next.due + next.found;
    assert_eq!((next.due, next.advanced, next.come_back_ms), (3, moved, 0));
    // Records that wait for a timer get no second one.
    assert_eq!(shop.memory.count("t/"), 6);
    shop.limits.records = 100;
    let last = shop.tick();
    assert_eq!(
        (last.due, first.advanced + next.advanced + last.advanced),
        (6, 10)
    );
    assert_eq!(
        (
            shop.memory.count("t/"),
            shop.world.calls.borrow().values().sum()
        ),
        (0, 20)
    );
}

#[test]
fn a_tick_begins_nothing_once_its_time_is_over() {
    let mut shop = Shop::new(waiting(700), 4);
    shop.limits.work_ms = Millis::new(250);
    shop.limits.at_once = 1;
    shop.limits.buckets = 0;
    shop.world.is_up.set(false);
    for key in 0..10 {
        shop.submit(key);
    }
    shop.world.is_up.set(true);
    shop.world.takes_ms.set(100);
    shop.pass(1_000);
    let mut done = Vec::new();
    while done.iter().sum::<u32>() < 10 {
        let ticked = shop.tick();
        assert_eq!(ticked.stale, 0, "{ticked:?}");
        done.push(ticked.advanced);
    }
    assert_eq!((done, shop.memory.count("t/")), (vec![3, 3, 3, 1], 0));
}

/// What has no timer is found also while the wheel is always late: slow attempts in plenty, each of which takes more than
/// the whole tick may.
#[test]
fn a_wheel_that_is_always_late_does_not_keep_the_walk_from_moving() {
    let mut shop = Shop::new(waiting(700), 4);
    shop.limits.work_ms = Millis::new(250);
    shop.limits.at_once = 1;
    shop.world.is_up.set(false);
    shop.timers = Timers::Never;
    let lost: Vec<_> = (0..3).map(|key| shop.submit(key).identity().id).collect();
    shop.timers = Timers::All;
    shop.pass(1);
    for key in 3..40 {
        shop.submit(key);
    }
    shop.world.takes_ms.set(300);
    shop.pass(1_000);
    for ticks in 1..=3 {
        let ticked = shop.tick();
        assert_eq!(
            (ticked.due, ticked.found, ticked.come_back_ms),
            (1, 1, 0),
            "{ticked:?}"
        );
        let moved = lost
            .iter()
            .filter(|id| shop.record(**id).progress().attempts == 2);
        assert_eq!(moved.count(), ticks);
    }
}

/// Short ticks may follow any request: when nothing is due they write nothing.
#[test]
fn a_tick_without_a_walk_writes_nothing_when_nothing_is_due() {
    let mut shop = Shop::new(waiting(700), 4);
    shop.submit(1);
    shop.tick();
    shop.limits.buckets = 0;
    for _ in 0..20 {
        shop.pass(1_000);
        let (_, (reads, writes)) = shop.memory.cost(|| shop.tick());
        assert!(reads < 70 && writes == 0, "{reads} reads, {writes} writes");
    }
}

/// Four events for a receiver that hangs, each due again before the round is over: whoever comes by delivers each once,
/// and sets the timer for whoever comes next.
#[test]
fn one_call_delivers_each_event_once_at_most() {
    for timers in [Timers::All, Timers::CallerRelays] {
        let mut shop = Shop::new(waiting(700), 4);
        shop.timers = timers;
        shop.limits.buckets = 0;
        shop.world.has_events = true;
        shop.world.events = 4;
        shop.world.receiver_is_up.set(false);
        shop.world.delivery_takes_ms.set(3_000);
        let id = shop.submit(1).identity().id;
        let (now, mut expected) = (shop.world.now(), 0);
        if timers == Timers::CallerRelays {
            let relayed =
                run(shop
                    .operations()
                    .relay(id, &shop.world, now, &mut shop.entropy.borrow_mut()));
            assert!(relayed.is_ok(), "{relayed:?}");
            expected += 4;
            assert_eq!(shop.world.deliveries.get(), expected);
        }
        for _ in 0..3 {
            assert_eq!(shop.memory.count("t/"), 1, "{timers:?}");
            shop.pass(1_000);
            let ticked = shop.tick();
            expected += 4;
            assert_eq!(
                (ticked.due, ticked.advanced, ticked.failed),
                (1, 1, 0),
                "{timers:?}: {ticked:?}"
            );
            assert_eq!(shop.world.deliveries.get(), expected, "{timers:?}");
        }
    }
}

/// More has expired than one tick deletes: the next one comes at once, until nothing is left.
#[test]
fn ticks_come_back_at_once_while_there_is_more_to_purge() {
    const RECORDS: u64 = 400;
    let shop = Shop::new(waiting(700), 4);
    for key in 0..RECORDS {
        shop.submit(key);
    }
    shop.tick();
    // One node is the walk's own.
    assert_eq!(shop.memory.count("n/"), 401);
    shop.pass(25 * 60 * 60 * 1_000);
    let mut purged = Vec::new();
    loop {
        let ticked = shop.tick();
        purged.push(ticked.purged);
        if ticked.come_back_ms > 0 {
            break;
        }
    }
    assert!(purged.len() > 2, "one tick does not do it all: {purged:?}");
    assert_eq!(purged.iter().sum::<usize>(), 400, "{purged:?}");
    assert_eq!(shop.memory.count("n/"), 1);
}

/// A store that is out ends the tick, and the next one goes on.
#[test]
fn a_store_that_is_out_ends_the_tick() {
    let shop = Shop::new(waiting(700), 4);
    shop.world.is_up.set(false);
    shop.submit(1);
    shop.world.is_up.set(true);
    shop.pass(1_000);
    shop.memory.is_out.set(true);
    let told = shop.try_tick();
    assert!(
        matches!(told, Err(DriverError::Store(StoreError::Unavailable(_)))),
        "{told:?}"
    );
    shop.memory.is_out.set(false);
    assert_eq!(shop.tick().advanced, 1);
}

/// A tick that died while it had an attempt under way has left the timer; the next one sets one for the lease's end.
#[test]
fn a_dead_tick_s_attempt_is_taken_up_at_the_end_of_its_lease() {
    let mut shop = Shop::new(policy(Kind::Idempotent, 10), 4);
    // Its buckets are not visited, so no walk comes to the rescue.
    shop.limits.buckets = 0;
    shop.world.is_up.set(false);
    let record = shop.submit(1);
    let id = record.identity().id;
    shop.world.is_up.set(true);
    shop.world.now_ms.set(record.due().at.as_unix_ms());
    // The dead one's claim, as it is in the store before the outcome.
    let waiting = shop.memory.data.borrow().clone();
    shop.pass(1_000);
    shop.tick();
    let node = format!("n/{:016x}", id.as_u128() & ((1 << 62) - 1));
    let running = claim_of(&shop, id);
    *shop.memory.data.borrow_mut() = waiting;
    shop.memory.data.borrow_mut().insert(node, running);
    let ticked = shop.tick();
    assert_eq!((ticked.due, ticked.stale, ticked.advanced), (1, 0, 0));
    assert_eq!(shop.memory.count("t/"), 1);
    shop.pass(LEASE_MS + 1_000);
    let ticked = shop.tick();
    assert_eq!((ticked.due, ticked.advanced), (1, 1));
    let record = shop.record(id);
    assert!(matches!(record.state(), State::Done { .. }));
    assert_eq!(
        (record.progress().attempts, shop.memory.count("t/")),
        (3, 0)
    );
}

/// The bytes of the record's node with an attempt under way, which a tick wrote and the next swap has replaced.
fn claim_of(shop: &Shop, id: uuid::Uuid) -> Vec<u8> {
    let journal = shop.memory.journal.borrow();
    let node = format!("n/{:016x}", id.as_u128() & ((1 << 62) - 1));
    let is_claim = |(key, value): &&(String, Vec<u8>)| {
        *key == node && String::from_utf8_lossy(value).contains("\"running\"")
    };
    let claim = journal.iter().rev().find(is_claim);
    claim.expect("an attempt was claimed").1.clone()
}

#[test]
fn a_record_that_nobody_can_move_stops_no_other() {
    let shop = Shop::new(waiting(700), 0);
    shop.world.is_up.set(false);
    let broken = shop.submit(1).identity().id;
    let other = shop.submit(2).identity().id;
    shop.world.is_up.set(true);
    let node = format!("n/{:016x}", broken.as_u128() & ((1 << 62) - 1));
    let mut data = shop.memory.data.borrow_mut();
    let value = data.get_mut(&node).expect("it is there");
    value.truncate(120);
    drop(data);
    shop.pass(1_000);
    let ticked = shop.tick();
    // By its timer, and by the walk.
    assert_eq!(
        (ticked.due, ticked.advanced, ticked.failed),
        (2, 1, 2),
        "{ticked:?}"
    );
    assert!(matches!(shop.record(other).state(), State::Done { .. }));
}

#[test]
fn an_operation_that_is_not_known_is_left_alone() {
    let shop = Shop::new(waiting(700), 0);
    shop.world.is_up.set(false);
    let id = shop.submit(1).identity().id;
    shop.pass(1_000);
    let before = shop.record(id);
    let tick = reprise::driver::Tick {
        store: &shop.store,
        witness: &(),
        directory: &Nobody,
        sink: &shop.world,
        clock: || shop.world.now(),
        limits: shop.limits,
    };
    let ticked = run(tick.run(&mut shop.entropy.borrow_mut())).expect("the store works");
    assert_eq!(
        (ticked.unknown, ticked.advanced, ticked.failed),
        (2, 0, 0),
        "{ticked:?}"
    );
    assert_eq!(shop.record(id), before);
    // However many they are, the walk neither comes by for one nor sets a timer.
    shop.world.is_up.set(false);
    for key in 2..5 {
        shop.submit(key);
    }
    shop.pass(1_000);
    let mut limits = shop.limits;
    limits.records = 8;
    let tick = reprise::driver::Tick { limits, ..tick };
    run(tick.run(&mut shop.entropy.borrow_mut())).expect("the store works");
    let ticked = run(tick.run(&mut shop.entropy.borrow_mut())).expect("the store works");
    assert_eq!((ticked.due, ticked.found, ticked.unknown), (0, 0, 4));
    assert_eq!(shop.memory.count("t/"), 0);
    // Whoever knows it moves it on: the walk finds it.
    shop.world.is_up.set(true);
    assert_eq!(
        (shop.tick().found, shop.world.now_ms.get() - START_MS),
        (4, 2_000)
    );
}

struct Nobody;

impl reprise::driver::Directory for Nobody {
    type Upstream = crate::shop::Outer;

    fn find(
        &self,
        _: &reprise::machine::Name,
    ) -> Option<reprise::driver::Parts<'_, crate::shop::Outer>> {
        None
    }
}
