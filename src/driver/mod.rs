//! The driver: everything between a decision and the bytes in a store.
//!
//! It speaks to the world through one small trait, [`kv::Kv`], whose calls are those of `wasi:keyvalue` and no
//! others. The code here runs unchanged in the component, over a model of each store while every interleaving is
//! tried, and over an in-memory map in simulations.
//!
//! This layer never reads a clock, never draws randomness and knows no HTTP and no Spin type.

pub mod entropy;
pub mod kv;
pub mod store;
