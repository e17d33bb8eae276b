//! Long random histories: many clients, moving and skewed clocks, crashes and faults, hundreds of steps.
//!
//! Every history has a seed, which is printed when it fails and replayed with `SEED=…`.

use crate::invariants::Snapshot;
use crate::model::{Client, Model, World, run};
use crate::population::{Population, dice, replay, seeds};
use reprise::driver::entropy::Entropy;
use reprise::driver::store::{
    Buckets, Change, Created, Identity, NewRecord, PurgeLimits, Sought, Store, StoreError, Updated,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use uuid::Uuid;

const HISTORIES: u64 = 8_000;
const CLIENTS: usize = 6;
const STEPS: u32 = 700;
const KEYS: u64 = 5;
const START_MS: u64 = 1_800_000_000_000;
const GRACE_MS: u64 = 400;
/// Clocks differ by less than the grace period, which is what the grace period is for.
const SKEW_MS: u64 = 100;

/// A record as its creator was told of it, at a time when it was there.
#[derive(Debug, Clone, Copy)]
struct Birth {
    id: Uuid,
    told_at_ms: u64,
    expires_at_ms: u64,
}

/// What all clients together were told, and the clock that they share.
#[derive(Debug, Default)]
struct Journal {
    now_ms: u64,
    births: BTreeMap<u64, Vec<Birth>>,
    /// By record: the updates that somebody was told of, and those that somebody tried.
    updates: BTreeMap<Uuid, (u32, u32)>,
    violation: Option<String>,
    answered: u32,
}

impl Journal {
    fn violate(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// Two records of one key may not live at one time. Whichever came later, it was there when its creator was told,
    /// and the other had to be expired by then.
    fn born(&mut self, key: u64, birth: Birth) {
        let earlier = self.births.entry(key).or_default();
        let overlap = earlier.iter().find(|other| {
            birth.told_at_ms < other.expires_at_ms && other.told_at_ms < birth.expires_at_ms
        });
        let overlap =
            overlap.map(|other| format!("key {key} was created as {birth:?} beside {other:?}"));
        earlier.push(birth);
        if let Some(overlap) = overlap {
            self.violate(overlap);
        }
    }

    /// A record that any client must find under this key for a while to come.
    fn certain(&self, key: u64) -> Option<Birth> {
        let births = self.births.get(&key)?;
        births
            .iter()
            .copied()
            .find(|birth| self.now_ms + 2 * SKEW_MS < birth.expires_at_ms)
    }
}

type Shared = Rc<RefCell<Journal>>;

fn identity(key: u64) -> Identity {
    Identity::of_key(&[0; 32], "test", &format!("key-{key}"))
}

/// One client: it does one random thing after the other until the history ends.
async fn live(client: Client, skew_ms: u64, mut entropy: Entropy, journal: Shared) {
    let store = loop {
        match Store::open(client.clone(), 1, &mut entropy).await {
            Ok(store) => break store,
            Err(StoreError::Unavailable(_)) => {}
            Err(error) => journal
                .borrow_mut()
                .violate(format!("the layout was refused: {error}")),
        }
    };
    loop {
        let now_ms = journal.borrow().now_ms - skew_ms;
        let key = entropy.next_u64() % KEYS;
        let result = match entropy.next_u64() % 8 {
            0..=2 => create(&store, key, now_ms, &mut entropy, &journal).await,
            3..=4 => update(&store, key, now_ms, &mut entropy, &journal).await,
            5..=6 => find(&store, key, now_ms, &journal).await,
            _ => purge(&store, now_ms, &mut entropy).await,
        };
        match result {
            Ok(()) => journal.borrow_mut().answered += 1,
            Err(StoreError::Unavailable(_) | StoreError::Contended) => {}
            Err(error) => journal
                .borrow_mut()
                .violate(format!("the store answered {error}")),
        }
    }
}

async fn create(
    store: &Store<Client>,
    key: u64,
    now_ms: u64,
    entropy: &mut Entropy,
    journal: &Shared,
) -> Result<(), StoreError> {
    let expires_at_ms = now_ms + 1 + entropy.next_u64() % 1_500;
    let id = entropy.next_uuid(now_ms);
    let new = NewRecord {
        id,
        identity: identity(key),
        expires_at_ms,
        payload: b"0".to_vec(),
    };
    let certain = journal.borrow().certain(key);
    let created = match entropy.next_u64() % 4 {
        0 => store.create(&new, now_ms, entropy).await?,
        _ => match store.seek(&new.identity, now_ms).await? {
            Sought::There(node) => Created::Exists(node),
            Sought::Nothing(vacancy) => {
                // An attempt takes its time; each call is a step in which others go on.
                for _ in 0..entropy.next_u64() % 60 {
                    store.load(id, now_ms).await?;
                }
                store.create_at(vacancy, &new, now_ms, entropy).await?
            }
        },
    };
    let mut journal = journal.borrow_mut();
    match created {
        Created::New(node) => {
            let told_at_ms = journal.now_ms;
            journal.born(
                key,
                Birth {
                    id: node.id(),
                    told_at_ms,
                    expires_at_ms,
                },
            );
        }
        Created::Exists(node) => {
            if let Some(birth) = certain.filter(|birth| birth.id != node.id()) {
                journal.violate(format!(
                    "key {key} was answered {} beside {birth:?}",
                    node.id()
                ));
            }
        }
    }
    Ok(())
}

async fn update(
    store: &Store<Client>,
    key: u64,
    now_ms: u64,
    entropy: &mut Entropy,
    journal: &Shared,
) -> Result<(), StoreError> {
    let Some(node) = store.find(&identity(key), now_ms).await? else {
        return Ok(());
    };
    let number: u32 = std::str::from_utf8(node.payload())
        .expect("decimal")
        .parse()
        .expect("decimal");
    let change = Change {
        payload: (number + 1).to_string().into_bytes(),
        expires_at_ms: node.expires_at_ms(),
    };
    journal.borrow_mut().updates.entry(node.id()).or_default().1 += 1;
    let updated = store.update(&node, change, now_ms, entropy).await?;
    let mut journal = journal.borrow_mut();
    let counts = journal.updates.entry(node.id()).or_default();
    match updated {
        Updated::Applied(_) => counts.0 += 1,
        // Not made, and known not to be made.
        Updated::Conflict(_) | Updated::Gone => counts.1 -= 1,
    }
    Ok(())
}

async fn find(
    store: &Store<Client>,
    key: u64,
    now_ms: u64,
    journal: &Shared,
) -> Result<(), StoreError> {
    let certain = journal.borrow().certain(key);
    let found = store
        .find(&identity(key), now_ms)
        .await?
        .map(|node| node.id());
    if let Some(birth) = certain
        && found != Some(birth.id)
        && now_ms < birth.expires_at_ms
    {
        journal
            .borrow_mut()
            .violate(format!("{birth:?} is there, but {found:?} was found"));
    }
    Ok(())
}

async fn purge(
    store: &Store<Client>,
    now_ms: u64,
    entropy: &mut Entropy,
) -> Result<(), StoreError> {
    let first = u32::try_from(entropy.next_u64() % u64::from(store.layout().buckets()));
    let first = first.expect("there are few buckets");
    let limits = PurgeLimits {
        nodes: 3,
        grace_ms: GRACE_MS,
    };
    store
        .purge(Buckets { first, count: 1 }, limits, now_ms)
        .await
        .map(drop)
}

/// What one history did.
#[derive(Debug, Default)]
struct Seen {
    answered: u32,
    born: usize,
    lost: usize,
}

/// Runs one history and checks it.
fn history(seed: u64) -> Result<Seen, String> {
    let mut dice = dice(seed);
    let journal: Shared = Rc::new(RefCell::new(Journal {
        now_ms: START_MS,
        ..Journal::default()
    }));
    let mut clients = Population::new(seed, CLIENTS, &mut dice, |client, entropy, roll| {
        let journal = Rc::clone(&journal);
        Box::pin(live(client, roll % SKEW_MS, entropy, journal))
    });
    for _ in 0..STEPS {
        journal.borrow_mut().now_ms += dice.next_u64() % 8;
        clients.go_on(100, &mut dice);
    }
    let (model, lost) = clients.end();
    let journal = journal.borrow();
    check(&model, &journal, lost + CLIENTS)?;
    Ok(Seen {
        answered: journal.answered,
        born: journal.births.values().map(Vec::len).sum(),
        lost,
    })
}

/// Checks the store at the end. The clients that were stopped in the middle count as crashed.
fn check(model: &Model, journal: &Journal, lost: usize) -> Result<(), String> {
    if let Some(violation) = &journal.violation {
        return Err(violation.clone());
    }
    if model.broken {
        return Err("a value that is no word was incremented (S4)".to_owned());
    }
    let snapshot = Snapshot::of(model)?;
    if snapshot.orphans() > lost {
        return Err(format!(
            "{} orphans after {lost} losses",
            snapshot.orphans()
        ));
    }
    for key in 0..KEYS {
        let live = snapshot.live(&identity(key), journal.now_ms);
        if live.len() > 1 {
            return Err(format!("key {key} has the live records {live:?}"));
        }
        if let Some(birth) = journal.certain(key)
            && live != [birth.id]
        {
            return Err(format!("{birth:?} was promised, {live:?} is there"));
        }
    }
    for node in snapshot.nodes.values().filter(|node| !node.sealed) {
        let count: u32 = String::from_utf8_lossy(&node.payload)
            .parse()
            .map_err(|e| format!("{e}"))?;
        let (made, tried) = journal.updates.get(&node.id).copied().unwrap_or_default();
        if count < made || count > tried {
            return Err(format!(
                "{}: {made} made, {tried} tried, {count} there",
                node.id
            ));
        }
    }
    everything_can_be_claimed(model, journal.now_ms)
}

/// After it all, a new client is answered on every key.
fn everything_can_be_claimed(model: &Model, now_ms: u64) -> Result<(), String> {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let mut entropy = Entropy::from_seed([255; 32]);
    run(async {
        let store = Store::open(client, 1, &mut entropy).await?;
        for key in 0..KEYS {
            let id = entropy.next_uuid(now_ms);
            let expires_at_ms = now_ms + 1;
            let new = NewRecord {
                id,
                identity: identity(key),
                expires_at_ms,
                payload: Vec::new(),
            };
            store.create(&new, now_ms, &mut entropy).await?;
        }
        Ok::<_, StoreError>(())
    })
    .map_err(|error| format!("a key is stuck: {error}"))
}

#[test]
fn random_histories_keep_every_invariant() {
    let seeds = seeds(HISTORIES);
    let mut all = Seen::default();
    replay(seeds.clone(), history, |seen| {
        all.answered += seen.answered;
        all.born += seen.born;
        all.lost += seen.lost;
    });
    println!("seeds {seeds:?}: {all:?}");
    assert!(
        all.answered > 0 && all.born > 0,
        "the histories did something"
    );
}
