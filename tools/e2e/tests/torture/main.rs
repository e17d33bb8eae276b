//! The torture test: clients that lose answers, hosts that are killed, a Redis that is killed, an upstream that flaps and a
//! receiver that answers 500 half of the time; and afterwards, by ticks alone, nothing is lost, doubled or left over.
//!
//! ```sh
//! cargo test -p reprise-e2e --test torture -- --nocapture        # one minute, and half of one on Redis
//! REPRISE_E2E_STORE=redis-two TORTURE_SECONDS=300 SEED=42 cargo test -p reprise-e2e --test torture -- --nocapture
//! ```
//!
//! The seed decides what each client asks for and every failure; how the threads meet, no seed can bring back.

mod aftermath;
mod book;
mod clients;
mod dice;
mod ledger;
mod receiver;
mod store;
mod world;

use aftermath::{ask_for_everything_again, check_everything, check_what_was_told, settle};
use book::Book;
use clients::Shop;
use dice::Dice;
use reprise_e2e::State;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use world::{Kills, World, tick_along};

const CLIENTS: u64 = 16;
/// A host that lives longer than this on average tortures nobody.
const SECONDS_PER_KILL_MAX: u64 = 6;

#[test]
fn nothing_is_lost_or_doubled() {
    let dice = Dice::of_this_run();
    let state = State::new();
    let is_redis = state.redis().is_some();
    let seconds = if is_redis { seconds() / 2 } else { seconds() };
    println!("SEED={} for {seconds} s", dice.seed);
    let mut world = World::new(dice, state);
    let book = Book::default();
    let (kills, ticks) = run(&mut world, dice, &book, Duration::from_secs(seconds));
    let all = kills.hosts + kills.redis;
    assert!(all >= seconds / SECONDS_PER_KILL_MAX, "{kills:?}");
    assert!(!is_redis || kills.redis > 1, "{kills:?}");
    let unfinished = world.dump().contents().unsettled.len();
    let answers: u64 = book.all().values().map(|told| told.answers).sum();
    println!(
        "{} kills of hosts, {} of Redis, {ticks} ticks, {answers} answers; {unfinished} records not settled at the last kill",
        kills.hosts, kills.redis
    );

    world.heal();
    settle(&world.client());
    check_what_was_told(&world, &book);
    ask_for_everything_again(&world, &book);
    check_everything(&world, &book);
    sum_up(&world, &book);
}

fn seconds() -> u64 {
    let seconds = std::env::var("TORTURE_SECONDS").ok();
    seconds.map_or(60, |seconds| {
        seconds.parse().expect("TORTURE_SECONDS is a whole number")
    })
}

/// Says that it is over, also when whoever waits for the end panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Lets everything loose for a while. Answers with the kills and the ticks that were heard of.
fn run(world: &mut World, dice: Dice, book: &Book, length: Duration) -> (Kills, usize) {
    let is_over = AtomicBool::new(false);
    let end = Instant::now() + length;
    // The world's hosts change while the clients are at it; its front does not.
    let front = world.front.clone();
    thread::scope(|scope| {
        let over = Over(&is_over);
        let shop = Shop {
            dice,
            front: &front,
            book,
            is_over: &is_over,
        };
        for number in 0..CLIENTS {
            scope.spawn(move || shop.visit(number));
        }
        let ticks = scope.spawn(|| tick_along(&front, dice, &is_over));
        let kills = world.kill(end);
        drop(over);
        (kills, ticks.join().expect("ticks are sound"))
    })
}

fn sum_up(world: &World, book: &Book) {
    let contents = world.dump().contents();
    let all = book.all();
    let records = contents.records.values();
    let attempts: u32 = records
        .clone()
        .map(|record| record.progress().attempts)
        .sum();
    let again = records
        .filter(|record| record.progress().attempts > 1)
        .count();
    println!(
        "{} operations, {attempts} attempts, {again} operations with more than one",
        all.len()
    );
    let entries = world.ledger.entries();
    let calls: u64 = entries.values().map(|entry| entry.calls).sum();
    let charges: u64 = entries.values().map(|entry| entry.charges).sum();
    println!("ledger: {calls} calls, {charges} charges");
    let arrivals = world.receiver.arrivals();
    let deliveries: usize = arrivals.values().map(Vec::len).sum();
    let said = |word: &str| {
        let said = arrivals
            .values()
            .flatten()
            .filter_map(|arrival| arrival.said.as_ref());
        said.filter(|(_, body)| body.contains(word)).count()
    };
    println!(
        "events: {}, deliveries {deliveries}, heard of the inbox: {} applied, {} duplicates",
        arrivals.len(),
        said("applied"),
        said("duplicate")
    );
    println!(
        "store: {} records, {} events remembered, {} nodes and {} timers that nothing leads to",
        contents.records.len(),
        contents.done_events,
        contents.orphan_nodes,
        contents.orphan_timers
    );
}
