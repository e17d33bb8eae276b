//! The machine's tests, from single sentences to exhaustive and random histories.
//!
//! All of them touch the machine through [`support`] alone and are data otherwise. None reads a clock, sleeps or
//! draws randomness of its own: a random test runs from fixed seeds or prints the case that it shrank to.

mod budget;
mod commands;
mod invariants;
mod jitter;
mod lesson;
mod liveness;
mod model;
mod outbox;
mod policy;
mod purity;
mod scenarios;
mod stored;
mod support;
mod table;
mod traces;
