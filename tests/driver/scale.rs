//! What a tick reads when there is much that it has nothing to do with: many live records, and a long time.

use reprise::driver::entropy::Entropy;
use reprise::driver::store::limits::DEFAULT_BUCKET_BITS;
use reprise::machine::{Backoff, Millis, Policy};

use crate::model::run;
use crate::setting::{Kind, policy};
use crate::shop::Shop;

const HOUR_MS: u64 = 3_600_000;
const WEEK_MS: u64 = 7 * 24 * HOUR_MS;
/// One look at each slot of the wheel.
const SLOTS: u64 = 3 * 1_024;

/// A shop with this many operations whose retries are due within a day, and a hundred whose retries are due now.
fn crowded(live: u64) -> Shop {
    let mut settings = policy(Kind::Unsafe, 10).settings().clone();
    settings.attempts.backoff = Backoff::Constant {
        delay_ms: Millis::new(700),
    };
    settings.attempts.hint_cap_ms = Millis::new(24 * HOUR_MS);
    let policy = Policy::new(settings).expect("sound settings");
    let shop = Shop::new(policy, DEFAULT_BUCKET_BITS);
    shop.tick();
    shop.world.is_up.set(false);
    let mut dice = Entropy::from_seed([1; 32]);
    for key in 0..live {
        let wait_ms = 60_000 + dice.next_u64() % (23 * HOUR_MS);
        shop.world.hint.set(Some(Millis::new(wait_ms)));
        shop.submit(key);
    }
    shop.world.hint.set(None);
    for key in live..live + 100 {
        shop.submit(key);
    }
    shop.world.is_up.set(true);
    shop
}

#[test]
fn a_tick_s_reads_depend_on_what_is_due_and_not_on_what_lives() {
    let [few, many] = [1_000, 100_000].map(|live| {
        let shop = crowded(live);
        shop.pass(1_000);
        let (ticked, (reads, writes)) = shop.memory.cost(|| shop.tick());
        println!("{live} live: {reads} reads, {writes} writes, {ticked:?}");
        assert_eq!((ticked.due, ticked.advanced), (100, 100));
        if live > 1_000 {
            catch_up(shop);
        }
        reads
    });
    assert!(many <= 2 * few, "{many} reads, and {few} with few records");
}

/// A week later all of them are due: each tick does its share, for what it does and one look at each slot.
fn catch_up(mut shop: Shop) {
    shop.limits.records = 256;
    shop.pass(WEEK_MS);
    for round in 0..20 {
        let (ticked, (reads, writes)) = shop.memory.cost(|| shop.tick());
        if round < 2 {
            println!("a week later, tick {round}: {reads} reads, {writes} writes, {ticked:?}");
        }
        // The walk may have come by before the timer.
        assert!(ticked.advanced >= 256 && ticked.stale <= 64, "{ticked:?}");
        assert_eq!((ticked.due, ticked.come_back_ms), (256, 0));
        assert!(reads < SLOTS + 256 * 10, "{reads} reads");
    }
}

#[test]
fn a_gap_of_a_week_is_one_look_at_each_slot() {
    let mut shop = crowded(100);
    for _ in 0..25 {
        shop.pass(HOUR_MS);
        shop.tick();
    }
    assert_eq!(shop.memory.count("t/"), 0);
    shop.world.is_up.set(false);
    shop.submit(1_000_000);
    shop.world.is_up.set(true);
    shop.pass(WEEK_MS);
    let (ticked, (reads, writes)) = shop.memory.cost(|| shop.tick());
    println!("a week's gap: {reads} reads, {writes} writes, {ticked:?}");
    assert_eq!(
        (ticked.due, ticked.advanced, ticked.come_back_ms),
        (1, 1, 1_000)
    );
    assert!(reads < 2 * SLOTS, "{reads} reads");
    shop.pass(1_000);
    shop.limits.purge.nodes = 0;
    let (_, (reads, writes)) = shop.memory.cost(|| shop.tick());
    println!("an idle tick: {reads} reads, {writes} writes");
    assert!(reads < 200 && writes == 1, "{reads} reads, {writes} writes");
}

/// Ten thousand timers in one second are taken in as many ticks as it takes, for a few reads each.
#[test]
fn a_crowded_slot_is_taken_bit_by_bit() {
    const TIMERS: u64 = 10_000;
    let mut shop = Shop::new(policy(Kind::Unsafe, 10), 0);
    shop.limits.records = 200;
    shop.limits.buckets = 0;
    shop.tick();
    let (id, due_ms) = (uuid::Uuid::from_u128(7), shop.world.now_ms.get() + 1);
    for _ in 0..TIMERS {
        let mut entropy = shop.entropy.borrow_mut();
        run(shop.store.add_timer(id, due_ms, due_ms, &mut entropy)).expect("the store works");
    }
    shop.pass(1_000);
    let (mut ticks, mut reads, mut most) = (0, 0, 0);
    while shop.memory.count("t/") > 0 {
        let (_, (one, _)) = shop.memory.cost(|| shop.tick());
        (ticks, reads, most) = (ticks + 1, reads + one, most.max(one));
    }
    println!("{TIMERS} timers: {ticks} ticks, {reads} reads, {most} in one tick at most");
    assert_eq!(ticks, TIMERS / 200);
    // The timer and its record, the milestones above, and what a tick looked at and left to the next one.
    assert!(
        reads < TIMERS * 5 && most < 200 * 8,
        "{reads} reads, {most} in one tick"
    );
}
