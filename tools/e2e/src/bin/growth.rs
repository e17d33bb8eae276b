//! Measures how a repeat's time grows with the number of live records.
//!
//! ```sh
//! cargo run --profile host --package reprise-e2e --bin growth
//! ```

use reprise_e2e::{Client, Host, Options};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The numbers of live records at which a repeat is measured.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const THREADS: usize = 16;
const REPEATS: usize = 1_000;
/// A step through the keys that visits them in no order, and never the same twice.
const STRIDE: usize = 7_919;

fn main() {
    let state = TempDir::new().expect("a folder for the state");
    let host = Host::start(state.path(), &Options::default());
    println!("live records | p50 kept alive | p50 connection each | reads a repeat");
    let mut live = 0;
    for size in SIZES {
        fill(&host, live, size);
        live = size;
        let before = host.key_value_calls().0;
        let kept_alive = median(&host.client(), size);
        let reads = host.key_value_calls().0 - before;
        let mut connecting: Vec<Duration> = (0..REPEATS)
            .map(|number| repeat(&host.client(), number * STRIDE % size))
            .collect();
        connecting.sort_unstable();
        println!(
            "{size:>12} | {:>11} us | {:>16} us | {}.{:02}",
            kept_alive.as_micros(),
            connecting[REPEATS / 2].as_micros(),
            reads as usize / REPEATS,
            reads as usize * 100 / REPEATS % 100,
        );
    }
}

/// Creates the records from one number to another.
fn fill(host: &Host, from: usize, to: usize) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let client = host.client();
            scope.spawn(move || {
                for number in (from + thread..to).step_by(THREADS) {
                    let answer = client.task("a short text", Some(&format!("key-{number}")));
                    assert_eq!(answer.status, 201, "{answer:?}");
                }
            });
        }
    });
}

fn median(client: &Client, size: usize) -> Duration {
    let mut times: Vec<Duration> = (0..REPEATS)
        .map(|number| repeat(client, number * STRIDE % size))
        .collect();
    times.sort_unstable();
    times[REPEATS / 2]
}

/// The time of one repeat.
fn repeat(client: &Client, number: usize) -> Duration {
    let key = format!("key-{number}");
    let start = Instant::now();
    let answer = client.task("a short text", Some(&key));
    let took = start.elapsed();
    assert!(answer.is_replayed(), "{answer:?}");
    took
}
