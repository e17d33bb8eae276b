//! The driver over models of the stores: single requests with their writes counted, and long random histories.
//!
//! ```sh
//! cargo test --test driver -- --nocapture          # prints what the histories did
//! SEED=42 cargo test --test driver histories       # replays one of them
//! ```

#![expect(
    unreachable_pub,
    dead_code,
    reason = "what one module of a test offers to another is public in the sense of the test, and this one uses a part"
)]

#[path = "../model/mod.rs"]
mod model;

mod aftermath;
mod batches;
mod bench;
mod census;
mod client;
mod memory;
mod observer;
mod outage;
mod overlap;
mod pages;
mod requests;
mod scale;
mod setting;
mod shop;
mod simulation;
mod ticks;
mod turns;
mod upstream;
mod worn;
