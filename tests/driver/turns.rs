//! The wheel and the clock: clocks that were ahead, long gaps, and deadlines beyond the wheel's horizon.

use reprise::machine::{Millis, State};

use crate::model::run;
use crate::setting::START_MS;
use crate::shop::{Shop, waiting};

/// A tick whose clock is ahead leaves a wheel that right ones still go through. What is put in before the first of them
/// may be late by as much as the clock was ahead, or by a round of the walk, which is left out here.
#[test]
fn a_clock_that_was_ahead_hides_no_timer() {
    const AHEAD_MS: u64 = 600_000;
    let mut shop = Shop::new(waiting(20_000), 4);
    shop.limits.buckets = 0;
    shop.pass(AHEAD_MS);
    shop.tick();
    shop.world.now_ms.set(START_MS);
    shop.world.is_up.set(false);
    let id = shop.submit(1).identity().id;
    shop.world.is_up.set(true);
    shop.pass(120_000);
    shop.tick();
    shop.world.is_up.set(false);
    let other = shop.submit(2).identity().id;
    shop.world.is_up.set(true);
    // From here on the wheel is where the clock is, also when ticks are rare.
    shop.pass(120_000);
    shop.tick();
    assert!(matches!(shop.record(other).state(), State::Done { .. }));
    shop.pass(AHEAD_MS);
    shop.tick();
    assert!(matches!(shop.record(id).state(), State::Done { .. }));
    assert_eq!(shop.memory.count("t/"), 0);
}

/// When nobody ticks for long, timers of two turns of the wheel meet in one slot. Each is taken at its own turn.
#[test]
fn timers_of_two_turns_in_one_slot_are_told_apart() {
    let mut shop = Shop::new(waiting(700), 4);
    shop.limits.buckets = 0;
    shop.tick();
    shop.world.is_up.set(false);
    let submit_due_in = |key, wait_s| {
        shop.world.hint.set(Some(Millis::from_secs(wait_s)));
        shop.submit(key).identity().id
    };
    let old = submit_due_in(1, 100);
    shop.pass(700_000);
    let new = submit_due_in(2, 100 + 1_024 - 700);
    shop.world.is_up.set(true);
    let is_done = |id| matches!(shop.record(id).state(), State::Done { .. });
    let ticked = shop.tick();
    assert_eq!(
        (ticked.due, ticked.stale, ticked.come_back_ms),
        (1, 0, 1_000)
    );
    assert_eq!(
        (is_done(old), is_done(new), shop.memory.count("t/")),
        (true, false, 1)
    );
    for _ in 0..43 {
        shop.pass(10_000);
        shop.tick();
    }
    assert_eq!((is_done(new), shop.memory.count("t/")), (true, 0));
}

/// A timer beyond the wheel's horizon, which only a broken clock can have set, comes round early and is put in again.
#[test]
fn a_timer_beyond_the_horizon_comes_round_again() {
    let mut shop = Shop::new(waiting(700), 4);
    shop.limits.buckets = 0;
    shop.tick();
    let start_ms = shop.world.now_ms.get();
    let due_ms = start_ms + 80 * 3_600_000;
    let id = uuid::Uuid::from_u128(7);
    let added = run(shop
        .store
        .add_timer(id, due_ms, start_ms, &mut shop.entropy.borrow_mut()));
    added.expect("the store works");
    let mut told_at = None;
    while shop.world.now_ms.get() < due_ms + 1_200_000 {
        shop.pass(600_000);
        if shop.tick().due > 0 {
            told_at = Some(shop.world.now_ms.get());
        }
    }
    let late_ms = told_at.expect("it is met").saturating_sub(due_ms);
    assert!(late_ms < 600_000 + 256_000, "{late_ms} ms late");
    assert_eq!(shop.memory.count("t/"), 0);
}
