//! The service over models of the stores, with a scripted way out: requests in, replies out, nothing in between.
//!
//! What a reply must be is a table here wherever it can be one. The wire, the component and real stores are the business
//! of the end-to-end tests.

#![expect(
    unreachable_pub,
    dead_code,
    reason = "what one module of a test offers to another is public in the sense of the test, and this one uses a part"
)]

#[path = "../app/mod.rs"]
mod app;
#[path = "../model/mod.rs"]
mod model;

mod support;

mod changes;
mod closed;
mod console;
mod constant_time;
mod faults;
mod forwarding;
mod metrics;
mod overview;
mod refusals;
mod routing;
mod systems;
mod unfinished;
