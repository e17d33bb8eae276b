//! Runs a Spin application's HTTP components on wasmtime, where Spin itself is not installed.
//!
//! The host reads a `spin.toml` and offers its components what Spin would: the WASI interfaces, `wasi:keyvalue`,
//! `spin:key-value`, `spin:variables`, files, variables, and requests to the hosts that they are allowed. It exists so
//! that tests mean something: where Spin's stores or its server do something surprising, it does the same. What it does
//! not support in a manifest is an error at start, never left out in silence.
//!
//! Not here: other triggers, TLS for incoming requests, runtime configuration, and every other interface of Spin.

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
pub mod server;
pub mod start;
pub mod variables;

pub use start::{Bound, Options};
