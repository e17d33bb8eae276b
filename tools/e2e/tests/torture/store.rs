//! The store as it lies there, read by the documented format and not by the code that wrote it.
//!
//! The words are in `src/driver/store/mod.rs`, the bytes of nodes and timers in the headers of `node.rs` and `timers.rs`.

use reprise::machine::{Record, stored};
use reprise_e2e::State;
use std::collections::{BTreeMap, BTreeSet};

/// What the node of an event holds that the inbox has settled.
const DONE_EVENT: &[u8] = b"inbox event done";
/// Links with this bit lead to what a purge has cut off.
const CUT: u64 = 1 << 63;

/// Everything in a store, by key.
pub(crate) struct Dump(BTreeMap<String, Vec<u8>>);

/// What readers find in a store.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The records of operations, by id.
    pub(crate) records: BTreeMap<String, Record>,
    /// Records without an expiry: those that somebody has yet to come by for.
    pub(crate) unsettled: BTreeSet<String>,
    /// The events that the inbox remembers in records of their own.
    pub(crate) done_events: usize,
    /// Timers that hang on the wheel: each one's slot, its record, and when that was to be due.
    pub(crate) timers: Vec<(String, String, u64)>,
    /// What a kill left between being written and being linked.
    pub(crate) orphan_nodes: usize,
    pub(crate) orphan_timers: usize,
}

impl Dump {
    pub(crate) fn of(state: &State) -> Self {
        Self(state.dump())
    }

    /// Follows every chain.
    pub(crate) fn contents(&self) -> Contents {
        let mut contents = Contents::default();
        let mut linked = BTreeSet::new();
        for (word, value) in self.with_prefix("w/b/") {
            let mut link = number(value, 0);
            while link != 0 && link & CUT == 0 {
                let key = format!("n/{link:016x}");
                let node = self.0.get(&key);
                let node = node.unwrap_or_else(|| panic!("{word}: {key} is missing"));
                assert!(linked.insert(key.clone()), "{key} is linked twice");
                contents.add(node);
                link = number(node, 8);
            }
        }
        for (_, value) in self.with_prefix("w/d/") {
            linked.insert(format!("n/{:016x}", number(value, 0)));
        }
        for (slot, value) in self.with_prefix("w/t/") {
            let mut key = format!("t/{:016x}", number(value, 0));
            // A chain of timers ends where one is missing.
            while let Some(timer) = self.0.get(&key) {
                let id = uuid::Uuid::from_slice(&timer[24..40]).expect("sixteen bytes");
                contents
                    .timers
                    .push((slot.clone(), id.to_string(), number(timer, 40)));
                let next = format!("t/{:016x}", number(timer, 8));
                linked.insert(std::mem::replace(&mut key, next));
            }
        }
        let orphans = |prefix| {
            let all = self.with_prefix(prefix);
            all.filter(|(key, _)| !linked.contains(*key)).count()
        };
        contents.orphan_nodes = orphans("n/");
        contents.orphan_timers = orphans("t/");
        contents
    }

    fn with_prefix(&self, prefix: &'static str) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        self.0
            .iter()
            .filter(move |(key, _)| key.starts_with(prefix))
    }
}

impl Contents {
    fn add(&mut self, node: &[u8]) {
        assert_eq!(
            (&node[..4], node[4]),
            (&b"RPN1"[..], 0),
            "a node that is not sealed"
        );
        let (expires_at, payload) = (number(node, 104), &node[112..]);
        if payload == DONE_EVENT {
            self.done_events += 1;
            return;
        }
        let record = stored::decode(payload).expect("an operation's record");
        let id = record.identity().id.to_string();
        if expires_at == u64::MAX {
            self.unsettled.insert(id.clone());
        }
        self.records.insert(id, record);
    }
}

/// The number at this place, the lowest byte first.
fn number(bytes: &[u8], at: usize) -> u64 {
    let bytes: &[u8; 8] = bytes[at..].first_chunk().expect("eight bytes");
    u64::from_le_bytes(*bytes)
}
