//! The store protocol against models of the stores: every interleaving of small histories, and random long ones.
//!
//! ```sh
//! cargo test --test store -- --nocapture          # prints how many schedules and states were seen
//! SEED=42 cargo test --test store simulation      # replays one random history
//! ```

#![expect(
    unreachable_pub,
    reason = "what one module of a test offers to another is public in the sense of the test"
)]

#[path = "../model/mod.rs"]
mod model;

mod chains;
mod clients;
mod control;
mod explorer;
mod inbox;
mod inbox_simulation;
mod invariants;
mod layouts;
mod population;
mod scenarios;
mod simulation;
mod timers;
