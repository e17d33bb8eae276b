//! The one place where tests meet the machine.

use reprise::machine::{
    AttemptError, AttemptPolicy, Backoff, Blob, BudgetPolicy, Decision, DeliveryEvent,
    DeliveryOutcome, Digest, Effect, EndReason, ErrorKind, Event, EventDraft, EventDrafts, Headers,
    Hex, Identity, Input, Millis, Name, OnLostAttempt, OperationEvent, OperationResult, Origin,
    OutboxEvent, Outcome, Policy, PolicySettings, Record, Refusal, ResultBody, Seed, State,
    Timestamp, Verdict, decide,
};

/// When every test begins. Far from the epoch, so that a clock can step back.
pub(crate) const START: Timestamp = Timestamp::from_unix_ms(1_800_000_000_000);

/// The numbers that the base policy below is made of, in milliseconds.
pub(crate) const DELAY: u64 = 1_000;
pub(crate) const TIMEOUT: u64 = 4_000;
pub(crate) const LEASE: u64 = 5_000;
pub(crate) const HINT_CAP: u64 = 300_000;
pub(crate) const RETENTION: u64 = 86_400_000;

/// The instant `ms` after the beginning.
pub(crate) fn at(ms: u64) -> Timestamp {
    START.after(Millis::new(ms))
}

/// Three attempts, a second apart, in each of two cycles; no total deadline, no budget, no events.
pub(crate) fn settings() -> PolicySettings {
    let attempts = AttemptPolicy {
        max_attempts: 3,
        backoff: Backoff::Constant {
            delay_ms: Millis::new(DELAY),
        },
        hint_cap_ms: Millis::new(HINT_CAP),
        timeout_ms: Millis::new(TIMEOUT),
        lease_ms: Millis::new(LEASE),
    };
    PolicySettings {
        start_delay_ms: Millis::ZERO,
        attempts,
        max_cycles: 2,
        on_lost_attempt: OnLostAttempt::Retry,
        total_deadline_ms: None,
        retry_budget: None,
        retention_ms: Millis::new(RETENTION),
        events_on_failed: Vec::new(),
        events_on_cancelled: Vec::new(),
        delivery: attempts,
    }
}

/// The base policy with one change.
pub(crate) fn policy_with(change: impl FnOnce(&mut PolicySettings)) -> Policy {
    let mut settings = settings();
    change(&mut settings);
    Policy::new(settings).expect("the tests' settings make sense")
}

/// A budget of two retries that time refills at one in fifty seconds.
pub(crate) fn small_budget() -> BudgetPolicy {
    BudgetPolicy {
        capacity_tokens: 2,
        deposit_per_second_millitokens: 20,
        deposit_per_success_millitokens: 100,
    }
}

/// The base policy with that budget.
pub(crate) fn paid_policy() -> Policy {
    policy_with(|settings| settings.retry_budget = Some(small_budget()))
}

/// A submitted operation, with `body` as what the client sent.
pub(crate) fn origin(body: &[u8]) -> Origin {
    let identity = Identity {
        id: "0199a1b2-c3d4-7e5f-8a6b-7c8d9eafb0c1"
            .parse()
            .expect("a UUID"),
        operation: name("charge"),
        tenant: Hex::new([0xa1; 32]),
        key: Some(Hex::new([0xb2; 32])),
        fingerprint: FINGERPRINT,
    };
    let headers = Headers::new(vec![(
        "content-type".to_owned(),
        "application/json".to_owned(),
    )])
    .expect("small");
    let input =
        Input::new("POST", "/charge?currency=eur", headers, Blob::new(body)).expect("small");
    Origin {
        identity,
        input,
        trace: Some(Hex::new([0xc3; 16])),
        created_at: START,
    }
}

pub(crate) const FINGERPRINT: Digest = Hex::new([0xd4; 32]);

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("a short name")
}

pub(crate) fn draft(kind: &str) -> EventDraft {
    EventDraft::new(name(kind), name("warehouse"), Blob::new(*br#"{"order":7}"#))
        .expect("a small event")
}

pub(crate) fn submitted() -> OperationEvent {
    OperationEvent::Submitted {
        fingerprint: FINGERPRINT,
    }
}

pub(crate) fn submitted_with_other_content() -> OperationEvent {
    OperationEvent::Submitted {
        fingerprint: Hex::new([0xee; 32]),
    }
}

pub(crate) fn error(detail: &str) -> AttemptError {
    AttemptError::new(ErrorKind::Status(503), detail)
}

pub(crate) fn result() -> OperationResult {
    let headers =
        Headers::new(vec![("location".to_owned(), "/charges/9".to_owned())]).expect("small");
    OperationResult {
        status: 201,
        headers,
        body: ResultBody::capture(Blob::new(*b"{\"paid\":true}"), 1_000),
    }
}

pub(crate) fn success() -> Outcome {
    Outcome::Succeeded {
        result: result(),
        events: EventDrafts::default(),
    }
}

pub(crate) fn success_with(kinds: &[&str]) -> Outcome {
    let events =
        EventDrafts::new(kinds.iter().map(|kind| draft(kind)).collect()).expect("few events");
    Outcome::Succeeded {
        result: result(),
        events,
    }
}

pub(crate) fn retryable(detail: &str) -> Outcome {
    Outcome::Retryable {
        error: error(detail),
        hint: None,
    }
}

pub(crate) fn retryable_after(hint_ms: u64) -> Outcome {
    Outcome::Retryable {
        error: error("busy"),
        hint: Some(Millis::new(hint_ms)),
    }
}

pub(crate) fn terminal(detail: &str) -> Outcome {
    Outcome::Terminal {
        error: error(detail),
    }
}

pub(crate) fn finished(attempt: u32, outcome: Outcome) -> OperationEvent {
    OperationEvent::AttemptFinished { attempt, outcome }
}

pub(crate) fn delivery(seq: u32, event: DeliveryEvent) -> OutboxEvent {
    OutboxEvent::Delivery { seq, event }
}

pub(crate) fn delivered(attempt: u32, outcome: DeliveryOutcome) -> DeliveryEvent {
    DeliveryEvent::Finished { attempt, outcome }
}

/// A record, its policy and a clock: what a driver with a perfect store would hold.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) record: Record,
    pub(crate) policy: Policy,
    pub(crate) now: Timestamp,
    /// Attempts that were started here: what an upstream would have seen.
    pub(crate) started: u32,
}

impl World {
    /// A freshly submitted operation, not yet told that it was.
    pub(crate) fn new(policy: &Policy) -> Self {
        let record = Record::new(origin(b"{\"amount\":100}"), policy);
        Self {
            record,
            policy: policy.clone(),
            now: START,
            started: 0,
        }
    }

    /// The same, told, so that its first attempt runs.
    pub(crate) fn running(policy: &Policy) -> Self {
        let mut world = Self::new(policy);
        assert!(
            matches!(world.tell(submitted()), Effect::Start(_)),
            "the first attempt starts: {:?}",
            world.record
        );
        world
    }

    /// An operation that is done and has these events to deliver.
    pub(crate) fn done(policy: &Policy, kinds: &[&str]) -> Self {
        let mut world = Self::running(policy);
        world.tell(finished(1, success_with(kinds)));
        assert!(
            matches!(world.record.state(), State::Done { .. }),
            "the first attempt was a success"
        );
        world
    }

    /// Sets the clock to `ms` after the beginning; it may step back.
    pub(crate) fn set_clock(&mut self, ms: u64) -> &mut Self {
        self.now = at(ms);
        self
    }

    /// Sets the clock to the record's next deadline.
    pub(crate) fn until_due(&mut self) -> &mut Self {
        self.now = self.record.due().at;
        self
    }

    /// What the machine would decide, leaving everything as it is.
    pub(crate) fn ask(&self, event: impl Into<Told>, seed: u64) -> Decision {
        decide(
            &self.record,
            event.into().0,
            self.now,
            Seed::new(seed),
            &self.policy,
        )
    }

    /// Takes a decision and its write; the effect is the caller's to carry out.
    pub(crate) fn tell(&mut self, event: impl Into<Told>) -> Effect {
        let Decision { write, effect } = self.ask(event, 7);
        if let Some(record) = write {
            self.record = record;
        }
        if let Effect::Start(_) = &effect {
            self.started += 1;
        }
        effect
    }

    /// The same, with the budget's word should the machine ask for it.
    pub(crate) fn tell_with_budget(&mut self, event: impl Into<Told>, verdict: Verdict) -> Effect {
        let effect = self.tell(event);
        if let Effect::Withdraw(question) = effect {
            self.tell(question.answered(verdict))
        } else {
            effect
        }
    }

    /// Reports the outcome of the attempt that runs.
    pub(crate) fn finish(&mut self, outcome: Outcome) -> Effect {
        let attempt = self.record.progress().attempts;
        self.tell(finished(attempt, outcome))
    }

    /// Reports the outcome of a delivery that runs.
    pub(crate) fn finish_delivery(&mut self, seq: u32, outcome: DeliveryOutcome) -> Effect {
        let attempt = self
            .record
            .outbox()
            .find(seq)
            .expect("the event is there")
            .attempts;
        self.tell(delivery(seq, delivered(attempt, outcome)))
    }

    /// The detail of the last real error.
    pub(crate) fn last_error(&self) -> Option<&str> {
        self.record.last_error().map(AttemptError::detail)
    }

    /// Why the operation failed.
    #[track_caller]
    pub(crate) fn end_reason(&self) -> EndReason {
        let State::Failed { error, .. } = self.record.state() else {
            panic!("expected a failed operation: {:?}", self.record.state())
        };
        *error
    }

    /// The state's name, for tables.
    pub(crate) fn state_name(&self) -> &'static str {
        self.record.state().name()
    }
}

/// Anything that a world can be told.
pub(crate) struct Told(Event);

impl From<OperationEvent> for Told {
    fn from(event: OperationEvent) -> Self {
        Self(Event::Operation(event))
    }
}

impl From<OutboxEvent> for Told {
    fn from(event: OutboxEvent) -> Self {
        Self(Event::Outbox(event))
    }
}

impl From<Event> for Told {
    fn from(event: Event) -> Self {
        Self(event)
    }
}

pub(crate) fn effect_name(effect: &Effect) -> &'static str {
    match effect {
        Effect::Idle(_) => "idle",
        Effect::Start(_) => "start",
        Effect::Withdraw(_) => "withdraw",
        Effect::Deposit => "deposit",
        Effect::Deliver(_) => "deliver",
        Effect::Stale => "stale",
        Effect::Refuse(Refusal::Mismatch) => "mismatch",
        Effect::Refuse(Refusal::AlreadyEnded) => "already-ended",
        Effect::Refuse(Refusal::NotToRetry) => "not-to-retry",
        Effect::Refuse(Refusal::OutboxFull) => "outbox-full",
        Effect::Refuse(Refusal::NoSuchEvent) => "no-such-event",
        Effect::Refuse(Refusal::NotDead) => "not-dead",
        Effect::Expired => "expired",
    }
}
