//! The driver: everything between a decision and the bytes in a store.
//!
//! It speaks to the world through one small trait, [`kv::Kv`], whose calls are those of `wasi:keyvalue` and no
//! others. The code here runs unchanged in the component, over a model of each store while every interleaving is
//! tried, and over an in-memory map in simulations.
//!
//! This layer never reads a clock, never draws randomness and knows no HTTP and no Spin type.

mod act;
mod arming;
pub mod census;
pub mod counts;
pub mod entropy;
mod error;
pub mod inbox;
pub mod kv;
mod operation;
pub mod ration;
mod relay;
pub mod store;
mod tick;
pub mod walk;
mod witness;
mod write;

pub use act::{Attempted, Upstream};
pub use arming::Timers;
pub use error::DriverError;
pub use operation::{Operations, Settled, Submission};
pub use relay::{Delivered, Sink};
pub use tick::{Directory, Parts, Tick, TickLimits, Ticked};
pub use witness::{Fact, Witness};
pub use write::Found;
