//! The shell: requests in, replies out.
//!
//! [`app::App`] answers one request over any key-value store, and is tested natively. What is left for the component
//! is in `spin`: it reads the clock and draws a seed once per request, opens the store, and calls the app.
//!
//! This layer checks everything that comes from a client before anything below sees it, and computes the identity of
//! an operation once. It never decides what happens to an operation: it asks the machine.

mod admission;
pub mod app;
mod console;
mod cors;
mod dead_letters;
mod forward;
pub mod idempotency_key;
mod inbox;
mod local;
pub mod log;
pub mod metrics;
mod operation_view;
pub mod operations;
pub mod operators;
pub mod outgoing;
mod overview;
mod page_limits;
mod postman;
pub mod problem;
mod query;
mod record_view;
pub mod reply;
pub mod request;
mod sinks;
mod tally;
pub mod tenant;
pub mod trace;
mod worker;

#[cfg(test)]
mod openapi;
#[cfg(target_family = "wasm")]
mod spin;
