//! What holds for every decision, whatever the record, the event and the time.

use reprise::machine::{
    AttemptEnd, Decision, DeliveryState, DueReason, Effect, Event, OperationEvent, OutboxEvent,
    Outcome, Policy, Record, State, Timestamp, stored,
};

/// One decision with everything that led to it.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) before: &'a Record,
    pub(crate) event: &'a Event,
    pub(crate) now: Timestamp,
    pub(crate) policy: &'a Policy,
    pub(crate) decision: &'a Decision,
}

/// What a rule says, and whether a case keeps to it.
type Rule = (&'static str, fn(&Case<'_>) -> bool);

/// Panics with the whole case when it breaks an invariant.
pub(crate) fn check(case: &Case<'_>) {
    let rules: &[Rule] = &[
        ("the origin never changes", origin_is_fixed),
        (
            "a write changes something, and effects that need one have one",
            writes_fit_effects,
        ),
        (
            "an expired record is absent, and only then",
            expiry_is_absence,
        ),
        ("a state that is terminal absorbs", terminal_absorbs),
        (
            "an attempt starts only when it is due, or asked for by an operator, and no lease is live",
            starts_are_due,
        ),
        (
            "attempts are counted where they start, and stay within the policy",
            attempts_are_counted,
        ),
        (
            "a start has a lease, and ends before the lease and the deadline",
            starts_are_bounded,
        ),
        (
            "a retry comes after now, within the caps and before the deadline",
            waits_are_bounded,
        ),
        (
            "an outcome counts from the running attempt alone",
            outcomes_are_fenced,
        ),
        ("the last real error is kept", errors_are_kept),
        ("a retry is paid for", retries_are_paid),
        ("an end has its retention and its events", ends_are_complete),
        ("the history follows the attempts", history_is_complete),
        (
            "deliveries keep their order, their numbers and their leases",
            deliveries_are_fenced,
        ),
        ("idle means until the next deadline", idle_has_a_deadline),
        ("what is written can be read", stored_form_is_faithful),
    ];
    for (rule, holds) in rules {
        assert!(holds(case), "broken: {rule}\n{case:#?}");
    }
}

impl Case<'_> {
    fn after(&self) -> &Record {
        self.decision.write.as_ref().unwrap_or(self.before)
    }

    fn operation_event(&self) -> Option<&OperationEvent> {
        match self.event {
            Event::Operation(event) => Some(event),
            Event::Outbox(_) => None,
        }
    }

    fn is_start(&self) -> bool {
        matches!(self.decision.effect, Effect::Start(_))
    }

    fn is_taken_up_again(&self) -> bool {
        self.operation_event() == Some(&OperationEvent::RetryAsked)
            && matches!(self.before.state(), State::Failed { .. })
    }

    /// Whether this decision ended the operation.
    fn ends(&self) -> bool {
        self.after().state().is_terminal() && !self.before.state().is_terminal()
    }
}

fn origin_is_fixed(case: &Case<'_>) -> bool {
    case.before.origin() == case.after().origin()
}

fn writes_fit_effects(case: &Case<'_>) -> bool {
    let writes = case.decision.write.is_some();
    if writes && case.after() == case.before {
        return false;
    }
    match case.decision.effect {
        Effect::Start(_) | Effect::Deposit | Effect::Deliver(_) => writes,
        Effect::Withdraw(_) | Effect::Stale | Effect::Refuse(_) | Effect::Expired => !writes,
        Effect::Idle(_) => true,
    }
}

fn expiry_is_absence(case: &Case<'_>) -> bool {
    case.before.is_expired(case.now) == (case.decision.effect == Effect::Expired)
}

fn terminal_absorbs(case: &Case<'_>) -> bool {
    let (before, after) = (case.before, case.after());
    !before.state().is_terminal()
        || case.is_taken_up_again()
        || (
            before.state(),
            before.progress(),
            before.deadline(),
            before.history(),
            before.last_error(),
        ) == (
            after.state(),
            after.progress(),
            after.deadline(),
            after.history(),
            after.last_error(),
        )
}

fn starts_are_due(case: &Case<'_>) -> bool {
    let is_asked_for = case.operation_event() == Some(&OperationEvent::RetryAsked)
        && matches!(
            case.before.state(),
            State::Waiting { .. } | State::Failed { .. }
        );
    let is_due = case.before.state().due().at <= case.now && !case.before.state().is_terminal();
    !case.is_start() || is_due || is_asked_for
}

fn attempts_are_counted(case: &Case<'_>) -> bool {
    let (before, after) = (case.before.progress(), case.after().progress());
    let settings = case.policy.settings();
    after.attempts == before.attempts + u32::from(case.is_start())
        && after.attempts_in_cycle <= settings.attempts.max_attempts
        && (1..=settings.max_cycles).contains(&after.cycle)
}

fn starts_are_bounded(case: &Case<'_>) -> bool {
    let Effect::Start(start) = &case.decision.effect else {
        return true;
    };
    let State::Running(running) = case.after().state() else {
        return false;
    };
    running.attempt == start.attempt
        && start.attempt == case.after().progress().attempts
        && running.started_at == case.now
        && running.lease_until == case.now.after(case.policy.settings().attempts.lease_ms)
        && start.until.at > case.now
        && start.until.at < running.lease_until
        && case
            .after()
            .deadline()
            .is_none_or(|deadline| start.until.at <= deadline)
        && start.upstream_key == case.before.upstream_key()
}

fn waits_are_bounded(case: &Case<'_>) -> bool {
    let State::Waiting { retry_at, .. } = case.after().state() else {
        return true;
    };
    if case.after().state() == case.before.state() {
        return true;
    }
    let attempts = &case.policy.settings().attempts;
    *retry_at > case.now
        && *retry_at
            <= case
                .now
                .after(attempts.backoff.longest().max(attempts.hint_cap_ms))
        && case
            .before
            .deadline()
            .is_none_or(|deadline| *retry_at < deadline)
}

fn outcomes_are_fenced(case: &Case<'_>) -> bool {
    let Some(OperationEvent::AttemptFinished { attempt, .. }) = case.operation_event() else {
        return true;
    };
    let is_current =
        matches!(case.before.state(), State::Running(running) if running.attempt == *attempt);
    is_current || case.decision.write.is_none()
}

fn errors_are_kept(case: &Case<'_>) -> bool {
    let reported = match case.operation_event() {
        Some(OperationEvent::AttemptFinished { outcome, .. }) => match outcome {
            Outcome::Retryable { error, .. } | Outcome::Terminal { error } => Some(error),
            Outcome::Succeeded { .. } => None,
        },
        _ => None,
    };
    match reported {
        Some(error) if case.decision.write.is_some() => case.after().last_error() == Some(error),
        _ => case.after().last_error().is_some() || case.before.last_error().is_none(),
    }
}

fn retries_are_paid(case: &Case<'_>) -> bool {
    let was_running = matches!(case.before.state(), State::Running(_));
    let schedules = was_running && matches!(case.after().state(), State::Waiting { .. });
    let starts_over = was_running && case.is_start();
    let is_answer = matches!(
        case.operation_event(),
        Some(OperationEvent::BudgetAnswered(_))
    );
    case.policy.settings().retry_budget.is_none() || is_answer || !(schedules || starts_over)
}

fn ends_are_complete(case: &Case<'_>) -> bool {
    if !case.ends() {
        return true;
    }
    let added = case.after().outbox().deliveries().len() - case.before.outbox().deliveries().len();
    let settings = case.policy.settings();
    let has_its_events = match case.after().state() {
        State::Failed { .. } => added == settings.events_on_failed.len(),
        State::Cancelled { .. } => added == settings.events_on_cancelled.len(),
        State::Done { .. } => match case.operation_event() {
            Some(OperationEvent::AttemptFinished {
                outcome: Outcome::Succeeded { events, .. },
                ..
            }) => added == events.as_slice().len(),
            _ => false,
        },
        State::Queued { .. } | State::Running(_) | State::Waiting { .. } => false,
    };
    has_its_events && case.after().state().due().at == case.now.after(settings.retention_ms)
}

fn history_is_complete(case: &Case<'_>) -> bool {
    let after = case.after();
    let running = u32::from(matches!(after.state(), State::Running(_)));
    let ended = after.progress().attempts - running;
    let entries = after.history().entries();
    let dropped = ended.saturating_sub(16);
    let numbers = entries.iter().map(|entry| entry.attempt);
    numbers.eq(dropped + 1..=ended)
        && after.history().dropped() == dropped
        && newest_entry_is_of_this_decision(case)
}

/// The entry that a decision has added says what the decision was: when the next attempt comes, and what set that; or why
/// there is none.
fn newest_entry_is_of_this_decision(case: &Case<'_>) -> bool {
    let after = case.after();
    let Some(newest) = after.history().entries().last() else {
        return true;
    };
    if case.before.history().entries().last() == Some(newest) {
        return true;
    }
    let is_now = newest.ended_at == case.now
        && matches!(case.before.state(), State::Running(running)
            if (running.attempt, running.started_at) == (newest.attempt, newest.started_at));
    let is_told = match (&newest.outcome, after.state()) {
        (
            AttemptEnd::Retrying {
                delay_ms, reason, ..
            },
            State::Waiting {
                retry_at,
                reason: set_by,
            },
        ) => *retry_at == case.now.after(*delay_ms) && *reason == Some(*set_by),
        (AttemptEnd::Failed { reason, .. }, State::Failed { error, .. }) => *reason == Some(*error),
        (AttemptEnd::Succeeded, State::Done { .. })
        | (AttemptEnd::Lost, State::Running(_) | State::Failed { .. })
        | (AttemptEnd::Abandoned, State::Cancelled { .. }) => true,
        _ => false,
    };
    is_now && is_told
}

fn deliveries_are_fenced(case: &Case<'_>) -> bool {
    let after = case.after().outbox();
    let kept = case.before.outbox().deliveries().iter().all(|old| {
        let Some(new) = after.find(old.seq) else {
            // Only an operator's retry clears away what is settled.
            return case.is_taken_up_again() && old.state.due().is_none();
        };
        let is_woken = *case.event == Event::Outbox(OutboxEvent::Woken);
        let has_started = new.attempts != old.attempts;
        let was_due = old.state.due().is_some_and(|due| due.at <= case.now);
        let was_settled = matches!(
            old.state,
            DeliveryState::Delivered { .. } | DeliveryState::Dropped { .. }
        );
        (new.event == old.event && new.occurred_at == old.occurred_at)
            && (!has_started || (is_woken && was_due && new.attempts == old.attempts + 1))
            && (!was_settled || new == old)
            && new.attempts_in_cycle <= case.policy.settings().delivery.max_attempts
    });
    kept && after.deliveries().is_sorted_by(|a, b| a.seq < b.seq)
}

fn idle_has_a_deadline(case: &Case<'_>) -> bool {
    let Effect::Idle(due) = case.decision.effect else {
        return true;
    };
    let after = case.after();
    due == after.due() && (due.reason == DueReason::Expiry) == after.expires_at().is_some()
}

fn stored_form_is_faithful(case: &Case<'_>) -> bool {
    case.decision
        .write
        .as_ref()
        .is_none_or(|record| stored::decode(&stored::encode(record)).as_ref() == Ok(record))
}
