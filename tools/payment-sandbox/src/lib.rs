//! A payment provider to practise on: like a real one's test cards, the amount of a charge chooses what happens to it,
//! and every charge is counted, so that a test can prove "charged once".
//!
//! - `POST …/charges` with `{"amount": 1999, "currency": "EUR", "reference": "order-7"}` makes a charge. The amount is
//!   in minor units; the reference, which is optional, is what charges are counted by; other members are ignored.
//! - `GET …/charges?reference=order-7` answers `{"reference":"order-7","charges":1,"calls":2}`.
//! - `GET /payment-sandbox/` shows the table below.
//!
//! | Amount | First call | Later calls | Charged by |
//! |---|---|---|---|
//! | any other | 201 | the same | the first call |
//! | 40200 | 402, declined | the same | none |
//! | 50300 | 503 | 503, then 201 | the third call |
//! | 50301 | 503, `Retry-After: 2` | 201 | the second call |
//! | 50302 | 503, `Retry-After` as a date two seconds ahead | 201 | the second call |
//! | 42900 | 429, `Retry-After: 1` | 201 | the second call |
//! | 40800 | 201 after ten seconds | 201 at once | the first call |
//! | 50200 | 201, cut off in the middle of its body | 201, whole | the first call |
//! | 41300 | 201 with three million bytes | the same | the first call |
//! | 40100 | 201 with `Set-Cookie`, `WWW-Authenticate` and headers for one hop | the same | the first call |
//!
//! "First" and "later" are counted per `Idempotency-Key`, and without one per reference. With a key at most one call
//! charges; the others repeat its answer. Without a key, each call from the charging one on is a charge of its own. A
//! key that comes back with another amount, currency or reference is answered 422. How that survives concurrency and a
//! kill at any moment is told in [`ledger`].
//!
//! A charge cannot be read by its id, though it has a `Location`: nothing is stored of it but counts. Nor are there
//! accounts: whoever asks sees the same keys and references.

pub mod answer;
pub mod app;
pub mod behaviour;
pub mod charge;
pub mod key;
pub mod ledger;

#[cfg(target_family = "wasm")]
mod spin;
