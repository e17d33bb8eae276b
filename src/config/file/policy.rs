//! Attempts, waits and deadlines, of operations and of deliveries.
//!
//! What is wrong by itself is told by range here. What is wrong beside another setting is known to the machine alone;
//! its names of settings are put into those of the file.

use super::super::{ConfigError, Delivery};
use super::at::{At, Fields};
use crate::machine::{AttemptPolicy, Backoff, BudgetPolicy, Millis, limits};
use crate::webhook;

/// How much longer than an attempt's time its lease is unless the file says otherwise: more than two instances' clocks
/// should differ.
const LEASE_MARGIN: Millis = Millis::from_secs(10);
const TIMEOUT_DEFAULT: Millis = Millis::from_secs(5);
/// What one second or one success may deposit at most, in thousandths of a token: a whole bucket.
const DEPOSIT_MAX: u32 = limits::BUDGET_TOKENS_MAX * 1_000;

/// Where attempts differ between operations and deliveries.
pub(super) struct Kind {
    pub(super) timeout: &'static str,
    max_attempts: u32,
    backoff: Backoff,
    hint_cap: Millis,
}

/// Attempts of operations.
pub(super) const OPERATION: Kind = Kind {
    timeout: "attempt_timeout",
    max_attempts: 4,
    backoff: Backoff::FullJitter {
        base_ms: Millis::from_secs(1),
        cap_ms: Millis::from_secs(60),
        floor_ms: Millis::new(100),
    },
    hint_cap: Millis::from_secs(5 * 60),
};

const DELIVERY: Kind = Kind {
    timeout: "timeout",
    max_attempts: 10,
    backoff: Backoff::FullJitter {
        base_ms: Millis::from_secs(1),
        cap_ms: Millis::from_secs(5 * 60),
        floor_ms: Millis::new(100),
    },
    hint_cap: Millis::from_secs(10 * 60),
};

/// What events name as their source unless the file says otherwise.
const SOURCE_DEFAULT: &str = "urn:reprise";

/// `[delivery]`
pub(super) fn delivery(at: Option<At<'_>>) -> Result<Delivery, Box<ConfigError>> {
    let Some(at) = at else {
        return Ok(Delivery {
            policy: AttemptPolicy {
                max_attempts: DELIVERY.max_attempts,
                backoff: DELIVERY.backoff,
                hint_cap_ms: DELIVERY.hint_cap,
                timeout_ms: TIMEOUT_DEFAULT,
                lease_ms: lease_of(TIMEOUT_DEFAULT),
            },
            source: SOURCE_DEFAULT.to_owned(),
            is_after_answer: true,
        });
    };
    let fields = at.fields(&[
        "source",
        "first_attempt",
        "max_attempts",
        "backoff",
        "retry_after_cap",
        "timeout",
        "lease",
    ])?;
    Ok(Delivery {
        policy: attempts(&fields, &DELIVERY)?,
        source: fields.read("source", SOURCE_DEFAULT.to_owned(), source)?,
        is_after_answer: fields.read("first_attempt", true, |at| {
            at.choice(&[("after_answer", true), ("tick", false)])
        })?,
    })
}

/// A URI reference, as far as it is looked at here: every message carries it in a header or in JSON.
pub(super) fn source(at: &At<'_>) -> Result<String, Box<ConfigError>> {
    let text = at.filled_text()?;
    if text.len() <= webhook::limits::ATTRIBUTE_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_graphic())
    {
        Ok(text.to_owned())
    } else {
        Err(at.wrong("is not a URI reference of visible ASCII characters"))
    }
}

/// The fields of attempts, in the table of an operation or of the deliveries.
pub(super) fn attempts(
    fields: &Fields<'_>,
    kind: &Kind,
) -> Result<AttemptPolicy, Box<ConfigError>> {
    let timeout_ms = fields.read(kind.timeout, TIMEOUT_DEFAULT, |at| {
        at.duration(LEAST..=limits::LEASE_MAX)
    })?;
    let attempts = AttemptPolicy {
        max_attempts: fields.read("max_attempts", kind.max_attempts, |at| {
            count(at, limits::ATTEMPTS_PER_CYCLE_MAX)
        })?,
        backoff: fields.read("backoff", kind.backoff, backoff)?,
        hint_cap_ms: fields.read("retry_after_cap", kind.hint_cap, |at| {
            at.duration(Millis::ZERO..=limits::RETRY_DELAY_MAX)
        })?,
        timeout_ms,
        lease_ms: fields.read("lease", lease_of(timeout_ms), |at| {
            at.duration(LEAST..=limits::LEASE_MAX)
        })?,
    };
    attempts.problem().map_or(Ok(attempts), |problem| {
        Err(located(fields, kind.timeout, problem))
    })
}

/// `retry_budget` of an upstream.
pub(super) fn budget(at: &At<'_>) -> Result<BudgetPolicy, Box<ConfigError>> {
    let fields = at.fields(&["capacity", "per_second", "per_success"])?;
    let deposit = |name| fields.read(name, 0, |at| at.thousandths(DEPOSIT_MAX));
    let capacity = fields.need("capacity")?;
    let budget = BudgetPolicy {
        capacity_tokens: count(&capacity, limits::BUDGET_TOKENS_MAX)?,
        deposit_per_second_millitokens: deposit("per_second")?,
        deposit_per_success_millitokens: deposit("per_success")?,
    };
    // By range the capacity is right, so what is left is that nothing is ever deposited.
    budget
        .problem()
        .map_or(Ok(budget), |problem| Err(at.wrong(problem)))
}

/// The shortest length that is one.
pub(super) const LEAST: Millis = Millis::new(1);

/// A number from 1 to `max`.
pub(super) fn count(at: &At<'_>, max: u32) -> Result<u32, Box<ConfigError>> {
    let number = at.integer(1..=u64::from(max))?;
    Ok(u32::try_from(number).expect("the range is within the type"))
}

/// The error for what the machine finds wrong: its words, in which a field of the file stands for each setting.
#[expect(
    clippy::unnecessary_box_returns,
    reason = "every result of the file carries it, so that it is one pointer"
)]
pub(super) fn located(fields: &Fields<'_>, timeout: &str, problem: &str) -> Box<ConfigError> {
    let mut told = String::new();
    for word in problem.split(' ') {
        let bare = word.trim_end_matches(',');
        let field = match bare {
            "timeout_ms" => timeout,
            "hint_cap_ms" => "retry_after_cap",
            "delay_ms" => "backoff.delay",
            "base_ms" => "backoff.base",
            "cap_ms" => "backoff.cap",
            "floor_ms" => "backoff.floor",
            other => other.strip_suffix("_ms").unwrap_or(other),
        };
        let space = if told.is_empty() { "" } else { " " };
        told.extend([space, field, &word[bare.len()..]]);
    }
    let (field, rest) = told.split_once(' ').unwrap_or(("", &told));
    fields.wrong(field, rest)
}

fn lease_of(timeout: Millis) -> Millis {
    Millis::new(timeout.get() + LEASE_MARGIN.get()).min(limits::LEASE_MAX)
}

#[derive(Clone, Copy)]
enum BackoffKind {
    Constant,
    Exponential,
    FullJitter,
}

fn backoff(at: &At<'_>) -> Result<Backoff, Box<ConfigError>> {
    let fields = at.fields(&["kind", "delay", "base", "cap", "floor"])?;
    let kind = fields.need("kind")?.choice(&[
        ("constant", BackoffKind::Constant),
        ("exponential", BackoffKind::Exponential),
        ("full_jitter", BackoffKind::FullJitter),
    ])?;
    let wait = |name| {
        fields
            .need(name)?
            .duration(Millis::ZERO..=limits::RETRY_DELAY_MAX)
    };
    // Asked again with the fields of this kind alone, the table refuses those of another.
    match kind {
        BackoffKind::Constant => {
            at.fields(&["kind", "delay"])?;
            Ok(Backoff::Constant {
                delay_ms: wait("delay")?,
            })
        }
        BackoffKind::Exponential => {
            at.fields(&["kind", "base", "cap"])?;
            Ok(Backoff::Exponential {
                base_ms: wait("base")?,
                cap_ms: wait("cap")?,
            })
        }
        BackoffKind::FullJitter => {
            at.fields(&["kind", "base", "cap", "floor"])?;
            Ok(Backoff::FullJitter {
                base_ms: wait("base")?,
                cap_ms: wait("cap")?,
                floor_ms: fields.read("floor", Millis::ZERO, |at| {
                    at.duration(Millis::ZERO..=limits::RETRY_DELAY_MAX)
                })?,
            })
        }
    }
}
