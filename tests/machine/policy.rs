//! Settings that make no sense are refused, each for its own reason.

use reprise::machine::{Backoff, EventDraft, Millis, Policy, PolicySettings};

use crate::support::{LEASE, draft, settings, small_budget};

type Change = fn(&mut PolicySettings);

const HOUR: u64 = 3_600_000;

/// (a change of good settings, the group of the complaint, a part of it)
const BROKEN: &[(Change, &str, &str)] = &[
    (|s| s.max_cycles = 0, "operation", "max_cycles"),
    (|s| s.max_cycles = 101, "operation", "max_cycles"),
    (
        |s| s.retention_ms = Millis::ZERO,
        "operation",
        "retention_ms",
    ),
    (
        |s| s.retention_ms = Millis::new(400 * 24 * HOUR + 1),
        "operation",
        "retention_ms",
    ),
    (
        |s| s.start_delay_ms = Millis::new(24 * HOUR + 1),
        "operation",
        "start_delay_ms",
    ),
    (
        |s| s.total_deadline_ms = Some(Millis::new(30 * 24 * HOUR + 1)),
        "operation",
        "total_deadline_ms",
    ),
    (
        |s| (s.total_deadline_ms, s.start_delay_ms) = (Some(Millis::new(5)), Millis::new(6)),
        "operation",
        "beyond",
    ),
    (
        |s| s.events_on_failed = five_events(),
        "operation",
        "events",
    ),
    (
        |s| s.events_on_cancelled = five_events(),
        "operation",
        "events",
    ),
    (|s| s.attempts.max_attempts = 0, "attempts", "max_attempts"),
    (
        |s| s.attempts.max_attempts = 101,
        "attempts",
        "max_attempts",
    ),
    (
        |s| s.attempts.timeout_ms = Millis::ZERO,
        "attempts",
        "timeout_ms",
    ),
    (
        |s| s.attempts.timeout_ms = Millis::new(LEASE),
        "attempts",
        "lease_ms",
    ),
    (
        |s| s.attempts.lease_ms = Millis::new(HOUR / 4 + 1),
        "attempts",
        "lease_ms",
    ),
    (
        |s| s.attempts.hint_cap_ms = Millis::new(24 * HOUR + 1),
        "attempts",
        "hint_cap_ms",
    ),
    (
        |s| s.attempts.backoff = constant(24 * HOUR + 1),
        "attempts",
        "delay_ms",
    ),
    (
        |s| s.attempts.backoff = exponential(0, 10),
        "attempts",
        "base_ms",
    ),
    (
        |s| s.attempts.backoff = exponential(11, 10),
        "attempts",
        "cap_ms",
    ),
    (
        |s| s.attempts.backoff = exponential(1, 24 * HOUR + 1),
        "attempts",
        "cap_ms",
    ),
    (
        |s| s.attempts.backoff = jitter(0, 10, 0),
        "attempts",
        "base_ms",
    ),
    (
        |s| s.attempts.backoff = jitter(11, 10, 0),
        "attempts",
        "cap_ms",
    ),
    (
        |s| s.attempts.backoff = jitter(1, 10, 11),
        "attempts",
        "floor_ms",
    ),
    (|s| s.delivery.max_attempts = 0, "delivery", "max_attempts"),
    (
        |s| budget(s, |b| b.capacity_tokens = 0),
        "retry_budget",
        "capacity_tokens",
    ),
    (
        |s| budget(s, |b| b.capacity_tokens = 4_001),
        "retry_budget",
        "capacity_tokens",
    ),
    (
        |s| budget(s, |b| b.deposit_every_ms = Millis::ZERO),
        "retry_budget",
        "deposit_every_ms",
    ),
];

/// Settings at the very edge of what makes sense.
const SOUND: &[Change] = &[
    |s| s.max_cycles = 100,
    |s| s.max_cycles = 1,
    |s| s.retention_ms = Millis::new(400 * 24 * HOUR),
    |s| s.retention_ms = Millis::new(1),
    |s| s.start_delay_ms = Millis::new(24 * HOUR),
    |s| s.total_deadline_ms = Some(Millis::new(30 * 24 * HOUR)),
    |s| s.total_deadline_ms = Some(Millis::ZERO),
    |s| (s.total_deadline_ms, s.start_delay_ms) = (Some(Millis::new(5)), Millis::new(5)),
    |s| s.events_on_failed = five_events().split_off(1),
    |s| s.attempts.max_attempts = 100,
    |s| s.attempts.max_attempts = 1,
    |s| s.attempts.timeout_ms = Millis::new(LEASE - 1),
    |s| s.attempts.lease_ms = Millis::new(HOUR / 4),
    |s| s.attempts.hint_cap_ms = Millis::new(24 * HOUR),
    |s| s.attempts.backoff = constant(24 * HOUR),
    |s| s.attempts.backoff = constant(0),
    |s| s.attempts.backoff = exponential(10, 10),
    |s| s.attempts.backoff = exponential(1, 24 * HOUR),
    |s| s.attempts.backoff = jitter(10, 10, 10),
    |s| budget(s, |b| b.capacity_tokens = 4_000),
    |s| budget(s, |b| b.capacity_tokens = 1),
    |s| budget(s, |b| b.deposit_every_ms = Millis::new(1)),
];

#[test]
fn each_broken_setting_is_named() {
    for (index, (change, group, part)) in BROKEN.iter().enumerate() {
        let mut settings = settings();
        change(&mut settings);
        let error = Policy::new(settings).expect_err("a broken setting");
        assert_eq!(error.group, *group, "line {index}: {error}");
        assert!(error.problem.contains(part), "line {index}: {error}");
        assert!(error.to_string().contains(group), "line {index}: {error}");
    }
}

#[test]
fn settings_at_the_edge_are_accepted() {
    for (index, change) in SOUND.iter().enumerate() {
        let mut settings = settings();
        change(&mut settings);
        assert_eq!(
            Policy::new(settings.clone()).map(|policy| policy.settings().clone()),
            Ok(settings),
            "line {index}"
        );
    }
}

fn five_events() -> Vec<EventDraft> {
    vec![draft("order.failed"); 5]
}

fn constant(delay: u64) -> Backoff {
    Backoff::Constant {
        delay_ms: Millis::new(delay),
    }
}

fn exponential(base: u64, cap: u64) -> Backoff {
    Backoff::Exponential {
        base_ms: Millis::new(base),
        cap_ms: Millis::new(cap),
    }
}

fn jitter(base: u64, cap: u64, floor: u64) -> Backoff {
    Backoff::FullJitter {
        base_ms: Millis::new(base),
        cap_ms: Millis::new(cap),
        floor_ms: Millis::new(floor),
    }
}

fn budget(settings: &mut PolicySettings, change: fn(&mut reprise::machine::BudgetPolicy)) {
    let mut budget = small_budget();
    change(&mut budget);
    settings.retry_budget = Some(budget);
}
