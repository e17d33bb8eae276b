//! The client's half of a POST that is safe to repeat.
//!
//! Every call is one operation: it has one key, which is sent with each attempt, so the operation happens once however
//! often it has to be asked for. The call ends when the operation has, or at its deadline.
//!
//! ```no_run
//! use reprise_client::{Call, Client, Policy};
//!
//! let client = Client::new("http://127.0.0.1:3000", Policy::default())?;
//! let reply = client.send(&Call::post("/orders", r#"{"product_id":42,"quantity":1}"#))?;
//! println!("{} after {} attempts: {}", reply.status, reply.attempts, reply.text());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - **Attempts** that got no answer, or one that promises better times (408, 425, 429, 5xx), are repeated: after a full
//!   jitter, and not before `Retry-After` if the answer has one, up to a cap. An answer that is the operation's end is
//!   never repeated, whatever its status: it says so by `Idempotent-Replayed` or by `"retryable": false`.
//! - **A retry budget** is shared by all calls of a [`Client`]. When many calls fail, retries soon end at once instead
//!   of multiplying the load; success and time fill the budget again.
//! - **An operation that goes on** is waited for: a success with `Retry-After` is followed by reading the record at its
//!   `Location` until that has ended, and then the operation's own reply is fetched with the same key. 409 with
//!   `Retry-After` is the same key in progress elsewhere, and is waited for too. Waiting costs no budget.
//! - **Anything else** is the answer, errors of the caller's included: no other 4xx is ever repeated.
//!
//! It blocks the thread that calls it. A [`Client`] may be shared by threads.

mod call;
mod client;
mod key;
mod policy;
mod surroundings;
mod turn;

pub use call::{Call, CallError, Last, Reason, Reply};
pub use client::{BaseError, Client};
pub use key::{Key, KeyError};
pub use policy::Policy;
/// The types of a policy and of headers, which callers name.
pub use reprise::machine::{Backoff, BudgetPolicy, Millis, Timestamp};
pub use surroundings::{Surroundings, System};
pub use ureq::http::{HeaderMap, HeaderName, HeaderValue};
