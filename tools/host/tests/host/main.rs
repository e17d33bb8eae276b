//! Tests of the host: the rules of its stores on the stores themselves ([`sqlite_rules`], [`redis_rules`]), and the
//! host's program with a component in it over real HTTP (the others).

mod components;
mod deployed;
mod guest_redis;
mod guest_stores;
mod harness;
mod instances;
mod redis_rules;
mod redis_server;
mod redis_start;
mod scripts;
mod serving;
mod sole;
mod sqlite_rules;
mod starting;
mod stats;
mod ticks;
