//! Long random histories of one inbox: many receivers with skewed clocks, crashes and faults, and a purge, over more
//! time than an id is remembered for. Each event counts once, or was refused each time that it came.
//!
//! Every history has a seed, which is printed when it fails and replayed with `SEED=…`.

use crate::inbox::{order, projection_of};
use crate::model::{Client, Model, World, run};
use crate::population::{Population, dice, replay, seeds};
use reprise::driver::entropy::Entropy;
use reprise::driver::inbox::{Inbox, InboxError, InboxPolicy, Received, Rejection, limits};
use reprise::driver::store::{Buckets, PurgeLimits, Store, StoreError};
use reprise::machine::{Millis, Timestamp};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

const HISTORIES: u64 = 1_500;
const CLIENTS: usize = 5;
const STEPS: u32 = 900;
const EVENTS: u64 = 60;
const START_MS: u64 = 1_800_000_000_000;
const MINUTE_MS: u64 = 60_000;
/// Clocks differ by less than the grace period, which is what the grace period is for.
const SKEW_MS: u64 = 10 * MINUTE_MS;
const GRACE_MS: u64 = 30 * MINUTE_MS;
/// A step takes half of this on average, and a delivery a few dozens of them.
const PACE_MS: u64 = 2_000;
const POLICY: InboxPolicy = InboxPolicy {
    // The margin twice over, and a bit: an event can be young enough for an hour and more.
    retention: Millis::new(3 * 60 * MINUTE_MS),
    recent_marks: 2,
};

/// What happened to the events, and the clock that all share.
#[derive(Debug, Default)]
struct Journal {
    now_ms: u64,
    /// By event: when it happened, by its sender's clock.
    times: BTreeMap<u64, u64>,
    /// By event: how often a client was told that it was applied.
    applied: BTreeMap<u64, u32>,
    /// By event: how often a client was told that it came before.
    repeated: BTreeMap<u64, u32>,
    refused: u32,
    violation: Option<String>,
}

type Shared = Rc<RefCell<Journal>>;

/// One receiver: it gets one random event after the other, and sometimes purges, until the history ends.
async fn live(client: Client, skew_ms: u64, mut entropy: Entropy, journal: Shared) {
    let store = loop {
        match Store::open(client.clone(), 1, &mut entropy).await {
            Ok(store) => break store,
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => {
                journal.borrow_mut().violation = Some(format!("the layout was refused: {error}"));
            }
        }
    };
    let inbox = Inbox {
        store: &store,
        name: "orders",
        policy: POLICY,
    };
    loop {
        let now_ms = journal.borrow().now_ms - skew_ms;
        if entropy.next_u64().is_multiple_of(8) {
            let buckets = Buckets { first: 0, count: 2 };
            let limits = PurgeLimits {
                nodes: 10,
                grace_ms: GRACE_MS,
            };
            let _ = store.purge(buckets, limits, now_ms).await;
            continue;
        }
        let number = entropy.next_u64() % EVENTS;
        let time_ms = *journal
            .borrow_mut()
            .times
            .entry(number)
            // The sender's clock may be ahead.
            .or_insert(now_ms + entropy.next_u64() % (2 * SKEW_MS));
        let event = order(&format!("e-{number}"), time_ms);
        let now = Timestamp::from_unix_ms(now_ms);
        let received = inbox.receive(&event, now, &mut entropy).await;
        let mut journal = journal.borrow_mut();
        match received {
            Ok(Received::Applied) => *journal.applied.entry(number).or_default() += 1,
            Ok(Received::Duplicate) => *journal.repeated.entry(number).or_default() += 1,
            Err(InboxError::Rejected(Rejection::TooOld)) => journal.refused += 1,
            Err(InboxError::Store(StoreError::Unavailable(_)) | InboxError::Contended) => {}
            other => journal.violation = Some(format!("an event was answered {other:?}")),
        }
    }
}

/// What one history did.
#[derive(Debug, Default)]
struct Seen {
    applied: u32,
    repeated: u32,
    refused: u32,
    lost: usize,
}

fn history(seed: u64) -> Result<Seen, String> {
    let mut dice = dice(seed);
    let journal: Shared = Rc::default();
    journal.borrow_mut().now_ms = START_MS;
    let mut clients = Population::new(seed, CLIENTS, &mut dice, |client, entropy, roll| {
        let journal = Rc::clone(&journal);
        Box::pin(live(client, roll % SKEW_MS, entropy, journal))
    });
    // Half of the histories have pauses and so take longer than an id is remembered.
    let has_pauses = seed / 4 % 2 == 1;
    for _ in 0..STEPS {
        if has_pauses && dice.next_u64().is_multiple_of(100) {
            // Nobody is so slow as to sleep through a pause: that is what the grace period of a purge counts on.
            journal.borrow_mut().now_ms += dice.next_u64() % (60 * MINUTE_MS);
            clients.replace_all(&mut dice);
        }
        journal.borrow_mut().now_ms += dice.next_u64() % PACE_MS;
        clients.go_on(60, &mut dice);
    }
    let (model, lost) = clients.end();
    let journal = journal.borrow();
    check(&model, &journal)?;
    Ok(Seen {
        applied: journal.applied.values().sum(),
        repeated: journal.repeated.values().sum(),
        refused: journal.refused,
        lost,
    })
}

/// Sends every event that ever came once more, and holds the projection against what must have counted.
fn check(model: &Model, journal: &Journal) -> Result<(), String> {
    if let Some(violation) = &journal.violation {
        return Err(violation.clone());
    }
    if model.broken {
        return Err("a value that is no word was incremented (S4)".to_owned());
    }
    if let Some((event, times)) = journal.applied.iter().find(|(_, times)| **times > 1) {
        return Err(format!("event {event} was applied {times} times"));
    }
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let mut entropy = Entropy::from_seed([254; 32]);
    run(async {
        let store = Store::open(client, 1, &mut entropy)
            .await
            .map_err(|e| e.to_string())?;
        let inbox = Inbox {
            store: &store,
            name: "orders",
            policy: POLICY,
        };
        let counted = |projection: &reprise::driver::inbox::Projection| {
            projection
                .products
                .get(&42)
                .map_or(0, |totals| totals.orders)
        };
        let before = inbox.projection().await.map_err(|e| e.to_string())?;
        let known = journal.applied.len() as u64;
        let sent = journal.times.len() as u64;
        if !(known..=sent).contains(&counted(&before)) {
            return Err(format!(
                "{known} known, {sent} sent, {} there",
                counted(&before)
            ));
        }
        let now = Timestamp::from_unix_ms(journal.now_ms);
        let mut added = 0;
        for (number, time_ms) in &journal.times {
            let event = order(&format!("e-{number}"), *time_ms);
            let was_seen =
                journal.applied.contains_key(number) || journal.repeated.contains_key(number);
            match inbox.receive(&event, now, &mut entropy).await {
                Ok(Received::Applied) if was_seen => {
                    return Err(format!("event {number} was applied again"));
                }
                Ok(Received::Applied) => added += 1,
                Ok(Received::Duplicate) | Err(InboxError::Rejected(Rejection::TooOld)) => {}
                other => return Err(format!("event {number} was answered {other:?}")),
            }
        }
        let after = inbox.projection().await.map_err(|e| e.to_string())?;
        if after != projection_of(counted(&before) + added) {
            return Err(format!("{before:?} and {added} more are {after:?}"));
        }
        // Where nothing was forgotten, every event that was ever sent counts, once.
        let horizon = POLICY.retention.get() - limits::CLOCK_MARGIN.get();
        if journal.now_ms < START_MS - SKEW_MS + horizon && counted(&after) != sent {
            return Err(format!("{sent} sent, {after:?}"));
        }
        Ok(())
    })
}

#[test]
fn random_histories_of_an_inbox_count_each_event_once() {
    let seeds = seeds(HISTORIES);
    let mut all = Seen::default();
    replay(seeds.clone(), history, |seen| {
        all.applied += seen.applied;
        all.repeated += seen.repeated;
        all.refused += seen.refused;
        all.lost += seen.lost;
    });
    println!("seeds {seeds:?}: {all:?}");
    if seeds.end - seeds.start > 1 {
        assert!(
            all.applied > 0 && all.repeated > 0 && all.refused > 0 && all.lost > 0,
            "the histories did something of everything"
        );
    }
}
