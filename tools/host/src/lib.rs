//! Runs a Spin application's HTTP components on wasmtime, where Spin itself is not installed.
//!
//! The host reads a `spin.toml` and offers its components what Spin would: the WASI interfaces, `wasi:keyvalue`,
//! `spin:key-value`, `spin:variables`, files, variables, and requests to the hosts that they are allowed. It exists so
//! that tests mean something: where Spin's stores or its server do something surprising, it does the same. What it does
//! not support in a manifest is an error at start, never left out in silence.
//!
//! # Where it differs from Spin
//!
//! - Not here: other triggers, components of WASI 0.2, TLS for incoming requests, HTTP/2 for outgoing ones,
//!   runtime configuration but for a Redis as the one store, `default`, `.env` files, and every other interface of Spin.
//! - Stricter: two triggers with one route are an error, and so is a directory among a component's `files` patterns, or an
//!   allowed host that is no component of the application.
//! - A request to a component that does not exist is an error for the guest that sends it, and not a trap.
//! - What guests print goes to stderr, and not to files.
//! - Here alone: ticks, see [`ticks`], and counts of what guests ask of the stores.

pub mod allowed_hosts;
pub mod app;
pub mod bindings;
pub mod connect;
pub mod files;
pub mod guest;
pub mod headers;
pub mod kv;
pub mod logs;
pub mod manifest;
pub mod outbound;
pub mod routes;
pub mod runtime_config;
pub mod server;
pub mod start;
pub mod ticks;
pub mod variables;

pub use start::{Bound, Options};
