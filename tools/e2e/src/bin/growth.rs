//! Measures how a repeat's time grows with the number of live records.
//!
//! The records are written by the product's own code, over the file of the store and without waiting for the disk; the
//! repeats are measured over HTTP.
//!
//! ```sh
//! cargo run --profile host --package reprise-e2e --bin growth
//! ```

use reprise_e2e::fill::{self, Filling};
use reprise_e2e::{Arrangement, Client, Host, Options, State};
use std::time::{Duration, Instant};

/// The numbers of live records at which a repeat is measured.
const SIZES: [u64; 3] = [1_000, 10_000, 100_000];
const REPEATS: u64 = 1_000;
/// A step through the keys that visits them in no order, and never the same twice.
const STRIDE: u64 = 7_919;

fn main() {
    let state = State::on(Arrangement::Sqlite);
    println!("live records | p50 kept alive | p50 connection each | reads a repeat");
    let mut live = 0;
    for size in SIZES {
        fill::fill(&state.file(), Filling::Tasks, live..size);
        live = size;
        let host = Host::start(&state, &Options::default());
        let client = host.client();
        let before = host.key_value_calls().0;
        let kept_alive = median(size, || client.clone());
        let reads = host.key_value_calls().0 - before;
        let connecting = median(size, || host.client());
        println!(
            "{size:>12} | {:>11} us | {:>16} us | {}.{:02}",
            kept_alive.as_micros(),
            connecting.as_micros(),
            reads / REPEATS,
            reads * 100 / REPEATS % 100,
        );
    }
}

/// The median time of a repeat, each by the client that this makes.
fn median(size: u64, client: impl Fn() -> Client) -> Duration {
    let mut times: Vec<Duration> = (0..REPEATS)
        .map(|number| repeat(&client(), number * STRIDE % size))
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// The time of one repeat.
fn repeat(client: &Client, number: u64) -> Duration {
    let key = fill::key(number);
    let start = Instant::now();
    let answer = client.post(Filling::Tasks.path(), Some(&key), Filling::Tasks.body());
    let took = start.elapsed();
    assert!(answer.is_replayed(), "{answer:?}");
    took
}
