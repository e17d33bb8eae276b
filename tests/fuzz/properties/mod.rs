//! What holds for every input of each parser that meets the network or the store: one function a target.
//!
//! A function takes any bytes and panics where a property is broken. The fuzzer looks for such bytes; plain tests give
//! the functions what it has kept. So a property is written once, and both look at the same one.

mod bodies;
mod config;
mod json;
mod key;
mod operators;
mod record;
mod request;
mod service;
mod store;
mod times;
mod webhooks;

/// A target: its name, which is that of its corpus, and what holds for every input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets, by name.
pub const TARGETS: [Target; 10] = [
    ("bodies", bodies::check),
    ("config", config::check),
    ("json", json::check),
    ("key", key::check),
    ("operators", operators::check),
    ("record", record::check),
    ("request", request::check),
    ("store", store::check),
    ("times", times::check),
    ("webhooks", webhooks::check),
];

/// Holds one input against the target of this name.
pub fn check(target: &str, data: &[u8]) {
    let (_, check) = TARGETS
        .iter()
        .find(|(name, _)| *name == target)
        .unwrap_or_else(|| panic!("there is no target {target}"));
    check(data);
}

/// Splits an input at the first byte that no UTF-8 has, for targets that take more than one text.
fn split(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == 0xff) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, b""),
    }
}
