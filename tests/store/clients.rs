//! The clients of the explorer's histories: each runs the real store code for one purpose, and tells how it went.

use crate::explorer::{Task, Told};
use crate::model::{Client, Model, Rules, World, run};
use reprise::driver::census::Census;
use reprise::driver::counts::Counts;
use reprise::driver::entropy::Entropy;
use reprise::driver::kv::Kv;
use reprise::driver::store::{
    Buckets, Change, Created, Identity, Layout, NEVER, NewRecord, PurgeLimits, Slot, Sought, Store,
    StoreError, Updated,
};
use reprise::driver::walk::{self, Walk};
use reprise::driver::{Fact, Witness};
use reprise::machine::{
    AttemptPolicy, Backoff, Blob, Headers, Hex, Input, Millis, Name, OnLostAttempt, Origin, Policy,
    PolicySettings, Record, Timestamp,
};
use std::cell::Cell;
use uuid::Uuid;

/// The time of every history.
pub const NOW_MS: u64 = 1_800_000_000_000;

/// A key's identity.
pub fn identity(number: u32) -> Identity {
    Identity::of_key(&[0; 32], "test", &format!("key-{number}"))
}

/// An empty store that knows its layout. With no bucket bits there is one bucket, so that everybody meets.
pub fn laid_out(rules: Rules, clients: usize, bucket_bits: u8) -> (Model, Layout) {
    let world = World::direct(Model::new(rules, clients));
    let client = Client { world, id: 0 };
    let store = run(Store::open(
        client.clone(),
        bucket_bits,
        &mut Entropy::from_seed([100; 32]),
    ));
    let layout = store.expect("a model can be laid out").layout();
    let mut model = client.world.borrow().model.clone();
    model.drop_client(0);
    (model, layout)
}

/// The store with one more record in it, and that record's id.
pub fn with_record(model: &Model, layout: Layout, key: u32, expires_at_ms: u64) -> (Model, Uuid) {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let seed = u8::try_from(key).expect("few keys");
    let mut entropy = Entropy::from_seed([150 + seed; 32]);
    let id = entropy.next_uuid(NOW_MS);
    let payload = b"0".to_vec();
    let new = NewRecord {
        id,
        identity: identity(key),
        expires_at_ms,
        payload,
    };
    let store = Store::with_layout(client.clone(), layout);
    // The record is created before anything expires.
    let created = run(store.create(&new, 0, &mut entropy)).expect("a direct world does not fail");
    assert!(
        matches!(created, Created::New(_)),
        "the start of a scenario creates its records"
    );
    let mut model = client.world.borrow().model.clone();
    model.drop_client(0);
    (model, id)
}

fn told<T>(result: Result<T, StoreError>, tell: impl FnOnce(T) -> Told) -> Told {
    match result {
        Ok(value) => tell(value),
        Err(error) => Told::Failed(error),
    }
}

fn seed(client: &Client) -> Entropy {
    Entropy::from_seed([u8::try_from(client.id).expect("few clients") + 1; 32])
}

/// Creates as the driver does: after a look, and where that saw nothing.
async fn create(
    store: &Store<Client>,
    new: &NewRecord,
    entropy: &mut Entropy,
) -> Result<Created, StoreError> {
    match store.seek(&new.identity, NOW_MS).await? {
        Sought::There(node) => Ok(Created::Exists(node)),
        Sought::Nothing(vacancy) => store.create_at(vacancy, new, NOW_MS, entropy).await,
    }
}

pub fn creator(layout: Layout, key: u32) -> impl Fn(Client) -> Task {
    creator_until(layout, key, NEVER)
}

/// A client that creates a record which expires at this time.
pub fn creator_until(layout: Layout, key: u32, expires_at_ms: u64) -> impl Fn(Client) -> Task {
    move |client| {
        let mut entropy = seed(&client);
        let id = entropy.next_uuid(NOW_MS);
        let new = NewRecord {
            id,
            identity: identity(key),
            expires_at_ms,
            payload: vec![1],
        };
        Box::pin(async move {
            let store = Store::with_layout(client, layout);
            told(
                create(&store, &new, &mut entropy).await,
                |created| match created {
                    Created::New(node) => Told::Created(node.id()),
                    Created::Exists(node) => Told::Exists(node.id()),
                },
            )
        })
    }
}

/// A client that finds the store as it is, lays it out if need be, and creates.
pub fn first_user(key: u32) -> impl Fn(Client) -> Task {
    move |client| {
        let mut entropy = seed(&client);
        Box::pin(async move {
            let layout = match Store::open(client.clone(), 0, &mut entropy).await {
                Ok(store) => store.layout(),
                Err(error) => return Told::Failed(error),
            };
            creator(layout, key)(client).await
        })
    }
}

/// A client that purges the bucket.
pub fn purger(layout: Layout) -> impl Fn(Client) -> Task {
    move |client| {
        Box::pin(async move {
            let store = Store::with_layout(client, layout);
            let limits = PurgeLimits {
                nodes: 100,
                grace_ms: 0,
            };
            let bucket = Buckets { first: 0, count: 1 };
            told(store.purge(bucket, limits, NOW_MS).await, |_| Told::Purged)
        })
    }
}

/// The time of a walker: the walk has just been moved.
pub const WALK: Timestamp = Timestamp::from_unix_ms(NOW_MS);

/// A store whose walk has begun.
pub fn with_walk(model: &Model, layout: Layout) -> Model {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let store = Store::with_layout(client.clone(), layout);
    run(walk::stand(&store, WALK, &mut Entropy::from_seed([99; 32]))).expect("a sound store");
    let mut model = client.world.borrow().model.clone();
    model.drop_client(0);
    model
}

/// A witness that has counted one thing, until it is taken.
#[derive(Debug, Default)]
struct One(Cell<bool>);

impl Witness for One {
    fn note(&self, _: Fact<'_>, _: Timestamp) {}

    fn take(&self) -> Counts {
        let mut counts = Counts::default();
        counts.add("came", u64::from(!self.0.replace(true)));
        counts
    }

    fn give_back(&self, _: &Counts) {
        self.0.set(false);
    }
}

/// A client that visits one bucket of the walk, sees an operation there, and moves the walk on; once, whoever is faster.
pub fn walker(layout: Layout) -> impl Fn(Client) -> Task {
    move |client| {
        let mut entropy = seed(&client);
        Box::pin(async move {
            let store = Store::with_layout(client, layout);
            let mut census = Census::default();
            census.see(&operation(), WALK);
            let walked = async {
                let stand = walk::stand(&store, WALK, &mut entropy).await?;
                let buckets = stand.ahead(1);
                let (seen, one) = ((buckets, Some(&census)), One::default());
                let passed = stand.pass(&store, seen, &one, WALK, &mut entropy);
                Ok(passed.await?.then_some(buckets.first))
            };
            told(walked.await, |took| took.map_or(Told::Gone, Told::Took))
        })
    }
}

/// An operation that has just been submitted.
fn operation() -> Record {
    let identity = reprise::machine::Identity {
        id: Uuid::from_u128(7),
        operation: Name::new("charge").expect("a name"),
        tenant: Hex::new([0; 32]),
        key: None,
        fingerprint: Hex::new([0; 32]),
    };
    let input = Input::new("POST", "/", Headers::default(), Blob::new(*b"")).expect("small");
    let origin = Origin {
        identity,
        input,
        trace: None,
        created_at: WALK,
    };
    Record::new(origin, &policy())
}

fn policy() -> Policy {
    let attempts = AttemptPolicy {
        max_attempts: 1,
        backoff: Backoff::Constant {
            delay_ms: Millis::from_secs(1),
        },
        hint_cap_ms: Millis::from_secs(1),
        timeout_ms: Millis::from_secs(1),
        lease_ms: Millis::from_secs(2),
    };
    let settings = PolicySettings {
        start_delay_ms: Millis::ZERO,
        attempts,
        max_cycles: 1,
        on_lost_attempt: OnLostAttempt::Fail,
        total_deadline_ms: None,
        retry_budget: None,
        retention_ms: Millis::from_secs(60),
        events_on_failed: Vec::new(),
        events_on_cancelled: Vec::new(),
        delivery: attempts,
    };
    Policy::new(settings).expect("sound settings")
}

/// The walk as the clients have left it.
pub fn walk_of(model: &Model, layout: Layout) -> Walk {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let store = Store::with_layout(client, layout);
    let stand = run(walk::stand(&store, WALK, &mut Entropy::from_seed([98; 32])));
    stand.expect("a sound store").into_walk()
}

/// When the timers of the histories are due.
pub const TIMER_MS: u64 = NOW_MS + 1_500;

/// The record that a client's timers name.
pub fn timed(client: usize) -> Uuid {
    Uuid::from_u128(client as u128 + 1)
}

/// A client that puts a timer into the one slot where all meet.
pub fn arming(layout: Layout) -> impl Fn(Client) -> Task {
    move |client| {
        let mut entropy = seed(&client);
        let id = timed(client.id);
        Box::pin(async move {
            let store = Store::with_layout(client, layout);
            let added = store.add_timer(id, TIMER_MS, NOW_MS, &mut entropy).await;
            told(added, |()| Told::TimerSet)
        })
    }
}

/// A client that goes through that slot, and takes its timers until there is none.
pub fn taker(layout: Layout) -> impl Fn(Client) -> Task {
    move |client| {
        Box::pin(async move {
            let store = Store::with_layout(client, layout);
            let mut rang = Vec::new();
            told(take_all(&store, &mut rang).await, |()| Told::Rang(rang))
        })
    }
}

async fn take_all<K: Kv>(store: &Store<K>, rang: &mut Vec<Uuid>) -> Result<(), StoreError> {
    // The histories do not spread over several slots, so it is known beforehand which of those that are due it is.
    let slot = timer_slot();
    loop {
        let timers = store.oldest_timers(slot).await?;
        if timers.is_empty() {
            return Ok(());
        }
        for timer in timers {
            // Here the record would be told.
            rang.push(timer.id());
            store.remove_timer(&timer).await?;
        }
    }
}

/// The slot of the histories' timers.
pub fn timer_slot() -> Slot {
    Slot::due(TIMER_MS + 1_000, TIMER_MS / 1_000)
        .into_iter()
        .find(|slot| slot.is_home_of(TIMER_MS, NOW_MS))
        .expect("its time has come")
}

/// The store with these timers in that slot, the first one pushed first.
pub fn with_timers(model: &Model, layout: Layout, ids: &[Uuid]) -> Model {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let store = Store::with_layout(client.clone(), layout);
    let mut entropy = Entropy::from_seed([170; 32]);
    for id in ids {
        run(store.add_timer(*id, TIMER_MS, NOW_MS, &mut entropy))
            .expect("a direct world does not fail");
    }
    let mut model = client.world.borrow().model.clone();
    model.drop_client(0);
    model
}

/// What a client that comes after it all takes from the slot.
pub fn left_to_take(model: &Model, layout: Layout) -> Result<Vec<Uuid>, StoreError> {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let mut rang = Vec::new();
    run(take_all(&Store::with_layout(client, layout), &mut rang))?;
    Ok(rang)
}

/// A client that adds 1 to the number in a record, `times` times, from whatever it finds there.
pub fn updater(layout: Layout, id: Uuid, times: u32) -> impl Fn(Client) -> Task {
    move |client| {
        let mut entropy = seed(&client);
        Box::pin(async move {
            let store = Store::with_layout(client, layout);
            let mut made = 0;
            while made < times {
                let node = match store.load(id, NOW_MS).await {
                    Ok(Some(node)) => node,
                    Ok(None) => return Told::Gone,
                    Err(error) => return Told::Failed(error),
                };
                let number: u32 = number(node.payload());
                let payload = (number + 1).to_string().into_bytes();
                let change = Change {
                    payload,
                    expires_at_ms: node.expires_at_ms(),
                };
                match store.update(&node, change, NOW_MS, &mut entropy).await {
                    Ok(Updated::Applied(_)) => made += 1,
                    Ok(Updated::Conflict(_)) => {}
                    Ok(Updated::Gone) => return Told::Gone,
                    Err(error) => return Told::Failed(error),
                }
            }
            Told::Updated(made)
        })
    }
}

/// A client whose clock is behind: it read a failed record before its expiry, and makes it run again after.
pub fn reviver(layout: Layout, id: Uuid) -> impl Fn(Client) -> Task {
    move |client| {
        let mut entropy = seed(&client);
        Box::pin(async move {
            let store = Store::with_layout(client, layout);
            let node = match store.load(id, NOW_MS - 2_000).await {
                Ok(Some(node)) => node,
                Ok(None) => return Told::Gone,
                Err(error) => return Told::Failed(error),
            };
            let change = Change {
                payload: b"1".to_vec(),
                expires_at_ms: NEVER,
            };
            told(
                store
                    .update(&node, change, NOW_MS - 2_000, &mut entropy)
                    .await,
                |updated| match updated {
                    Updated::Applied(_) => Told::Exists(id),
                    Updated::Conflict(_) | Updated::Gone => Told::Gone,
                },
            )
        })
    }
}

pub fn number(payload: &[u8]) -> u32 {
    std::str::from_utf8(payload)
        .expect("decimal")
        .parse()
        .expect("decimal")
}
