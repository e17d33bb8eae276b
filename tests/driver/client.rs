//! A client: it asks for operations, polls, cancels and relays events, one random thing after the other.

use reprise::driver::entropy::Entropy;
use reprise::driver::store::{Layout, Store, StoreError};
use reprise::driver::{DriverError, Operations, Settled, Submission, Timers};
use reprise::machine::{Effect, OperationEvent, Policy, Record, Refusal, State};
use uuid::Uuid;

use crate::model::Client;
use crate::setting::{Kind, identity, origin, result};
use crate::upstream::{Gateway, Shared};

pub const KEYS: u64 = 5;
pub const BUDGET_NAME: &str = "payments";

/// What clients were told of which key, over a whole history.
#[derive(Debug, Default)]
pub struct Told {
    /// The record of each key, as somebody was told.
    pub ids: Vec<(u64, Uuid)>,
    pub created: u32,
    pub repeated: u32,
    pub mismatched: u32,
    pub unavailable: u32,
}

/// Lives for ever: the test ends it.
pub async fn live(
    client: Client,
    layout: Layout,
    policy: Policy,
    gateway: Gateway,
    mut entropy: Entropy,
    told: std::rc::Rc<std::cell::RefCell<Told>>,
) {
    let store = Store::with_layout(client, layout);
    let operations = Operations {
        store: &store,
        upstream: &gateway,
        policy: &policy,
        budget_name: BUDGET_NAME,
        timers: Timers::All,
        witness: &(),
    };
    loop {
        // Some time passes between two things, and the clock is read once for each.
        gateway.idle(&mut entropy).await;
        let now = gateway.now();
        let known = told.borrow().ids.clone();
        let pick = |number: u64| {
            known
                .get(usize::try_from(number % known.len().max(1) as u64).expect("small"))
                .copied()
        };
        let dice = entropy.next_u64() % 20;
        let result = match (dice, pick(entropy.next_u64())) {
            (10..=14, Some((_, id))) => {
                let woken = OperationEvent::Woken;
                operations
                    .tell_id(id, woken, now, &mut entropy)
                    .await
                    .map(drop)
            }
            (15..=17, Some((_, id))) => operations
                .relay(id, &gateway, now, &mut entropy)
                .await
                .map(drop),
            (18, Some((_, id))) => {
                let cancel = OperationEvent::CancelAsked;
                operations
                    .tell_id(id, cancel, now, &mut entropy)
                    .await
                    .map(drop)
            }
            // An operator decides on a second call, so not where each one acts.
            (19, Some((_, id))) if gateway.outside.borrow().kind != Kind::Unsafe => {
                let retry = OperationEvent::RetryAsked;
                operations
                    .tell_id(id, retry, now, &mut entropy)
                    .await
                    .map(drop)
            }
            _ => {
                let key = entropy.next_u64() % KEYS;
                let content = u8::from(entropy.next_u64().is_multiple_of(10));
                let origin = origin(key, content, entropy.next_uuid(now.as_unix_ms()), now);
                let submitted = operations
                    .submit(identity(key), origin, now, &mut entropy)
                    .await;
                submitted.map(|submission| note(&submission, key, content, &gateway.outside, &told))
            }
        };
        judge(result, &gateway.outside, &told);
    }
}

/// Holds what a client was told about its request against what it asked for.
fn note(
    submission: &Submission,
    key: u64,
    content: u8,
    outside: &Shared,
    told: &std::cell::RefCell<Told>,
) {
    let Settled::At { record, effect, .. } = &submission.settled else {
        outside
            .borrow_mut()
            .violate(format!("key {key} is gone within its retention"));
        return;
    };
    let mut told = told.borrow_mut();
    let is_same = record.identity().fingerprint.as_bytes()[0] == content;
    if is_same == (*effect == Effect::Refuse(Refusal::Mismatch)) {
        outside.borrow_mut().violate(format!(
            "key {key}, content {content} was told {effect:?} of {record:?}"
        ));
    }
    if let Some((_, other)) = told
        .ids
        .iter()
        .find(|(k, id)| *k == key && *id != record.identity().id)
    {
        outside.borrow_mut().violate(format!(
            "key {key} has two records, {other} and {}",
            record.identity().id
        ));
    }
    if !told.ids.contains(&(key, record.identity().id)) {
        told.ids.push((key, record.identity().id));
    }
    check_result(record, outside);
    told.created += u32::from(submission.is_new);
    told.repeated += u32::from(!submission.is_new && is_same);
    told.mismatched += u32::from(!is_same);
}

/// A record that is done has the result of its own operation.
pub fn check_result(record: &Record, outside: &Shared) {
    if let State::Done { result: kept, .. } = record.state()
        && *kept != result(record.identity().id)
    {
        outside
            .borrow_mut()
            .violate(format!("a foreign result: {record:?}"));
    }
}

/// A client may be told that the store failed, and nothing else that is an error.
fn judge(result: Result<(), DriverError>, outside: &Shared, told: &std::cell::RefCell<Told>) {
    match result {
        Ok(()) => {}
        Err(DriverError::Contended | DriverError::Store(StoreError::Unavailable(_))) => {
            told.borrow_mut().unavailable += 1;
        }
        Err(error @ (DriverError::Record(_) | DriverError::Store(_))) => {
            outside.borrow_mut().violate(error.to_string());
        }
    }
}
