//! Reprise makes a POST safe to repeat: per operation it keeps one durable record, and every later request is answered
//! from that record or moves it on.
//!
//! The parts, each of which knows only those above it:
//! - [`sorted`] and [`json`] are what all others are written with.
//! - [`machine`] decides. It is pure: arguments are all it knows.
//! - [`webhook`] is how an event looks on its way: CloudEvents, signed as Standard Webhooks are. It is pure too.
//! - [`driver`] keeps records in a key-value store, exclusively and crash-safe, over one small trait.
//! - [`content`] says what of a request makes it the same request.
//! - [`config`] is what the owner of a service has decided.
//! - [`text`] is cut into what a reader would call characters, words and sentences.
//! - [`handler`]s do what an operation is for, where that is a pure function.
//! - [`shell`] speaks HTTP, and in the component Spin.

pub mod config;
pub mod content;
pub mod driver;
pub mod handler;
pub mod shell;
pub mod text;
pub mod webhook;

pub use reprise_json as json;
pub use reprise_json::sorted;
pub use reprise_machine as machine;
