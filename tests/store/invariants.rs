//! What must hold of a store's bytes whatever happened, checked by a reader of its own.
//!
//! This file reads the stored bytes by their documented layout and shares no code with the store: were the store's own
//! reader wrong, it could not hide that here.

use crate::explorer::{End, Told};
use crate::model::{Client, Model, World, run};
use reprise::driver::entropy::Entropy;
use reprise::driver::store::{Created, Identity, NEVER, NewRecord, Store};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

const CUT: u64 = 1 << 63;

/// A node as it lies in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub sealed: bool,
    pub next: u64,
    pub revision: u64,
    pub id: Uuid,
    pub identity: [u8; 32],
    pub expires_at_ms: u64,
    pub payload: Vec<u8>,
}

/// All nodes by pointer, and the chain of each bucket's word.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub nodes: BTreeMap<u64, Stored>,
    /// The pointers that readers reach, newest first, by bucket key.
    pub chains: BTreeMap<String, Vec<u64>>,
    /// The pointers that only a purge reaches.
    pub remains: BTreeSet<u64>,
    pub scratch: usize,
    /// All timers by pointer.
    pub timers: BTreeMap<u64, StoredTimer>,
    /// The timers that a slot's word leads to, newest first, by the word's key.
    pub slots: BTreeMap<String, Vec<u64>>,
}

/// A timer as it lies in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTimer {
    pub next: u64,
    pub milestone: u64,
    pub id: Uuid,
    pub due_ms: u64,
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl Snapshot {
    /// Reads a store. An error says which chain is broken, and how.
    pub fn of(model: &Model) -> Result<Self, String> {
        let mut snapshot = Self::default();
        for (key, value) in &model.data {
            match key.split_once('/') {
                Some(("n", pointer)) => {
                    let pointer =
                        u64::from_str_radix(pointer, 16).map_err(|e| format!("{key}: {e}"))?;
                    snapshot.nodes.insert(pointer, stored(value));
                }
                Some(("t", pointer)) => {
                    let pointer =
                        u64::from_str_radix(pointer, 16).map_err(|e| format!("{key}: {e}"))?;
                    snapshot.timers.insert(pointer, stored_timer(value));
                }
                Some(("p", _)) => snapshot.scratch += 1,
                Some(("w", _)) if value.len() == 8 || key == "w/layout" => {}
                _ => return Err(format!("{key} is a key of no kind")),
            }
        }
        for (key, value) in model.data.range("w/b/".to_owned().."w/b0".to_owned()) {
            let chain = snapshot.chain(key, u64_at(value, 0))?;
            snapshot.chains.insert(key.clone(), chain);
        }
        for (key, value) in model.data.range("w/t/".to_owned().."w/t0".to_owned()) {
            let slot = snapshot.slot(key, u64_at(value, 0))?;
            snapshot.slots.insert(key.clone(), slot);
        }
        Ok(snapshot)
    }

    /// The timers that a word leads to. A chain of timers ends where one is missing.
    fn slot(&self, key: &str, word: u64) -> Result<Vec<u64>, String> {
        let (mut link, mut slot) = (word, Vec::new());
        while let Some(timer) = self.timers.get(&link) {
            if slot.contains(&link) {
                return Err(format!("{key} leads to {link:016x} twice"));
            }
            slot.push(link);
            link = timer.next;
        }
        Ok(slot)
    }

    /// Timers that no word leads to.
    pub fn timer_orphans(&self) -> usize {
        self.timers.len() - self.slots.values().map(Vec::len).sum::<usize>()
    }

    fn chain(&mut self, key: &str, word: u64) -> Result<Vec<u64>, String> {
        let (mut link, mut chain) = (word, Vec::new());
        while link != 0 && link & CUT == 0 {
            let node = self.nodes.get(&link);
            let node =
                node.ok_or_else(|| format!("{key} leads to {link:016x}, which is not there"))?;
            if chain.contains(&link) {
                return Err(format!("{key} leads to {link:016x} twice"));
            }
            chain.push(link);
            link = node.next;
        }
        while let Some(node) = self.nodes.get(&(link & !CUT)).filter(|_| link != 0) {
            if !self.remains.insert(link & !CUT) {
                break;
            }
            link = node.next;
        }
        Ok(chain)
    }

    /// The live records of an identity that readers reach.
    pub fn live(&self, identity: &Identity, now_ms: u64) -> Vec<Uuid> {
        let reached = self
            .chains
            .values()
            .flatten()
            .map(|pointer| &self.nodes[pointer]);
        reached
            .filter(|node| node.identity == *identity.as_bytes())
            .filter(|node| !node.sealed && now_ms < node.expires_at_ms)
            .map(|node| node.id)
            .collect()
    }

    /// Nodes that nobody reaches.
    pub fn orphans(&self) -> usize {
        let reached: BTreeSet<u64> = self.chains.values().flatten().copied().collect();
        self.nodes
            .keys()
            .filter(|p| !reached.contains(p) && !self.remains.contains(p))
            .count()
    }
}

fn stored(bytes: &[u8]) -> Stored {
    Stored {
        sealed: bytes[4] == 1,
        next: u64_at(bytes, 8),
        revision: u64_at(bytes, 16),
        id: Uuid::from_slice(&bytes[56..72]).expect("sixteen bytes"),
        identity: bytes[72..104].try_into().expect("thirty-two bytes"),
        expires_at_ms: u64_at(bytes, 104),
        payload: bytes[112..].to_vec(),
    }
}

fn stored_timer(bytes: &[u8]) -> StoredTimer {
    StoredTimer {
        next: u64_at(bytes, 8),
        milestone: u64_at(bytes, 16),
        id: Uuid::from_slice(&bytes[24..40]).expect("sixteen bytes"),
        due_ms: u64_at(bytes, 40),
    }
}

/// Checks what must hold of the store's bytes after every schedule.
pub fn check_structure(end: &End) -> Result<Snapshot, String> {
    if end.model.broken {
        return Err("a value that is no word was incremented (S4)".to_owned());
    }
    let snapshot = Snapshot::of(&end.model)?;
    let lost = usize::from(end.crashes) + usize::from(end.faults);
    if snapshot.orphans() > lost {
        return Err(format!(
            "{} orphans after {lost} crashes and faults",
            snapshot.orphans()
        ));
    }
    if snapshot.timer_orphans() > lost {
        return Err(format!(
            "{} timers that no slot leads to after {lost} crashes and faults",
            snapshot.timer_orphans()
        ));
    }
    if snapshot.scratch > 2 * lost {
        return Err(format!(
            "{} scratch keys after {lost} crashes and faults",
            snapshot.scratch
        ));
    }
    Ok(snapshot)
}

/// Checks what must hold after every schedule, for these identities at this time.
pub fn check(end: &End, identities: &[Identity], now_ms: u64) -> Result<Snapshot, String> {
    let snapshot = check_structure(end)?;
    let mut live = Vec::new();
    for identity in identities {
        let one = snapshot.live(identity, now_ms);
        if one.len() > 1 {
            return Err(format!("{identity:?} has {} live records", one.len()));
        }
        live.extend(one);
    }
    let mut created = BTreeSet::new();
    for told in end.told.iter().flatten() {
        let (Told::Created(id) | Told::Exists(id)) = told else {
            continue;
        };
        if !live.contains(id) {
            return Err(format!(
                "a client was told {told:?}, but that is not the live record"
            ));
        }
        if matches!(told, Told::Created(_)) && !created.insert(id) {
            return Err(format!("two clients were told {told:?}"));
        }
    }
    check_claims(end, &snapshot, identities, now_ms)?;
    Ok(snapshot)
}

/// Checks that every key can be claimed, or is answered.
pub fn check_claims(
    end: &End,
    snapshot: &Snapshot,
    identities: &[Identity],
    now_ms: u64,
) -> Result<(), String> {
    for (at, identity) in identities.iter().enumerate() {
        can_be_claimed(
            &end.model,
            *identity,
            &snapshot.live(identity, now_ms),
            now_ms,
            at,
        )?;
    }
    Ok(())
}

/// The next client that comes with this key is answered: with the record that is there, or with a new one.
fn can_be_claimed(
    model: &Model,
    identity: Identity,
    live: &[Uuid],
    now_ms: u64,
    salt: usize,
) -> Result<(), String> {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let mut entropy = Entropy::from_seed([200 + u8::try_from(salt).expect("few identities"); 32]);
    let id = entropy.next_uuid(now_ms);
    let new = NewRecord {
        id,
        identity,
        expires_at_ms: NEVER,
        payload: Vec::new(),
    };
    let answer = run(async {
        let store = Store::open(client, 8, &mut entropy).await?;
        store.create(&new, now_ms, &mut entropy).await
    });
    match (answer, live) {
        (Ok(Created::Exists(node)), [there]) if node.id() == *there => Ok(()),
        (Ok(Created::New(_)), []) => Ok(()),
        (answer, live) => Err(format!(
            "with {live:?} there the next client is answered {answer:?}"
        )),
    }
}
