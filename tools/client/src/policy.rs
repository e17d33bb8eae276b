//! How patient a client is.

use reprise::machine::{Backoff, BudgetPolicy, Millis};

/// The bounds of every call of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Requests of one call that may fail in a row; the first counts.
    pub max_attempts: u32,
    /// The waits between them.
    pub backoff: Backoff,
    /// The longest `Retry-After` that is waited for in full; a longer one is cut to it.
    pub retry_after_cap: Millis,
    /// How long one request may take, its answer included.
    pub attempt_timeout: Millis,
    /// How long a call may take, all waits included. No wait begins that would end behind it.
    pub deadline: Millis,
    /// What all calls of the client may spend on retries together.
    pub budget: BudgetPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 6,
            backoff: Backoff::FullJitter {
                base_ms: Millis::new(100),
                cap_ms: Millis::from_secs(10),
                floor_ms: Millis::new(1),
            },
            retry_after_cap: Millis::from_secs(60),
            attempt_timeout: Millis::from_secs(15),
            deadline: Millis::from_secs(120),
            // Ten retries at once, one a second after that, and one for ten successes.
            budget: BudgetPolicy {
                capacity_tokens: 10,
                deposit_per_second_millitokens: 1_000,
                deposit_per_success_millitokens: 100,
            },
        }
    }
}
