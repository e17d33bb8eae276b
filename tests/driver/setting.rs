//! What the simulated operations are: their policies and requests.

use reprise::driver::store::Identity;
use reprise::machine::{
    AttemptPolicy, Backoff, Blob, BudgetPolicy, EventDraft, EventDrafts, Headers, Hex, Input,
    Millis, Name, OnLostAttempt, OperationResult, Origin, Outcome, Policy, PolicySettings,
    ResultBody, Timestamp,
};
use uuid::Uuid;

/// When every history begins, in milliseconds since the Unix epoch.
pub const START_MS: u64 = 1_800_000_000_000;
pub const TIMEOUT_MS: u64 = 4_000;
pub const LEASE_MS: u64 = 5_000;

/// A budget that time hardly fills, so that whoever overdraws it is seen.
pub fn budget(capacity_tokens: u32) -> BudgetPolicy {
    BudgetPolicy {
        capacity_tokens,
        deposit_per_second_millitokens: 1,
        deposit_per_success_millitokens: 100,
    }
}

/// What kind of upstream an operation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It knows a repeated call by its key, so a lost attempt is followed by another. Retries are paid for.
    Idempotent,
    /// It acts on every call, so a lost attempt, or one whose effect is not known, is the end.
    Unsafe,
    /// It computes, and nothing else.
    Pure,
}

pub fn policy(kind: Kind, capacity_tokens: u32) -> Policy {
    let attempts = AttemptPolicy {
        max_attempts: 3,
        backoff: Backoff::FullJitter {
            base_ms: Millis::new(500),
            cap_ms: Millis::new(4_000),
            floor_ms: Millis::new(50),
        },
        hint_cap_ms: Millis::new(20_000),
        timeout_ms: Millis::new(TIMEOUT_MS),
        lease_ms: Millis::new(LEASE_MS),
    };
    let settings = PolicySettings {
        start_delay_ms: Millis::ZERO,
        attempts,
        max_cycles: 4,
        on_lost_attempt: if kind == Kind::Unsafe {
            OnLostAttempt::Fail
        } else {
            OnLostAttempt::Retry
        },
        total_deadline_ms: None,
        retry_budget: (kind == Kind::Idempotent).then(|| budget(capacity_tokens)),
        retention_ms: Millis::from_secs(24 * 60 * 60),
        events_on_failed: vec![draft("charge.failed")],
        events_on_cancelled: Vec::new(),
        delivery: AttemptPolicy {
            max_attempts: 50,
            ..attempts
        },
    };
    Policy::new(settings).expect("sound settings")
}

pub fn identity(key: u64) -> Identity {
    Identity::of_key(&[0; 32], "charge", &format!("key-{key}"))
}

/// A request under a key. Requests with other `content` are other requests.
pub fn origin(key: u64, content: u8, id: Uuid, created_at: Timestamp) -> Origin {
    let identity = reprise::machine::Identity {
        id,
        operation: name("charge"),
        tenant: Hex::new([0; 32]),
        key: Some(Hex::new([u8::try_from(key).expect("few keys"); 32])),
        fingerprint: Hex::new([content; 32]),
    };
    let body = Blob::new(format!("{{\"amount\":{content}}}").into_bytes());
    let input = Input::new("POST", "/charge", Headers::default(), body).expect("small");
    Origin {
        identity,
        input,
        trace: None,
        created_at,
    }
}

pub fn name(text: &str) -> Name {
    Name::new(text).expect("a short name")
}

pub fn draft(kind: &str) -> EventDraft {
    EventDraft::new(name(kind), name("ledger"), Blob::new(*b"{}")).expect("small")
}

/// The result that belongs to one record and no other.
pub fn result(id: Uuid) -> OperationResult {
    let body = ResultBody::Kept(Blob::new(format!("{{\"charge\":\"{id}\"}}").into_bytes()));
    OperationResult {
        status: 201,
        headers: Headers::default(),
        body,
    }
}

pub fn success(id: Uuid) -> Outcome {
    let events = EventDrafts::new(vec![draft("charge.made")]).expect("few events");
    Outcome::Succeeded {
        result: result(id),
        events,
    }
}
