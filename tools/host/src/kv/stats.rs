//! Counts of what guests asked of the stores, for tests and benchmarks.
//!
//! Counted are the guests' calls, not the statements behind them: one `set-many` is one write, and the reading that a
//! failed swap does for its new handle is no read. Opening a store and making a CAS handle are not counted.
//!
//! There are totals only. Requests of one instance run concurrently, and a call does not say which of them it serves;
//! who wants the numbers of one request reads the totals before and after, with nothing else running.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

/// One function of the key-value interfaces; the two interfaces count together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the function of its name")]
pub enum Call {
    Get,
    Exists,
    ListKeys,
    GetMany,
    Current,
    Set,
    Delete,
    SetMany,
    DeleteMany,
    Increment,
    Swap,
}

/// Every call, in the order of [`Call`].
const CALLS: [(Call, &str); 11] = [
    (Call::Get, "get"),
    (Call::Exists, "exists"),
    (Call::ListKeys, "list-keys"),
    (Call::GetMany, "get-many"),
    (Call::Current, "current"),
    (Call::Set, "set"),
    (Call::Delete, "delete"),
    (Call::SetMany, "set-many"),
    (Call::DeleteMany, "delete-many"),
    (Call::Increment, "increment"),
    (Call::Swap, "swap"),
];

impl Call {
    /// Whether it only reads.
    fn is_read(self) -> bool {
        match self {
            Self::Get | Self::Exists | Self::ListKeys | Self::GetMany | Self::Current => true,
            Self::Set
            | Self::Delete
            | Self::SetMany
            | Self::DeleteMany
            | Self::Increment
            | Self::Swap => false,
        }
    }
}

/// The counts since the start.
#[derive(Debug, Default)]
pub struct Stats {
    requests: AtomicU64,
    calls: [AtomicU64; CALLS.len()],
}

impl Stats {
    /// Counts a request that reached a component.
    pub fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a call.
    pub fn count(&self, call: Call) {
        self.calls[call as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts as `{"requests":N,"kv":{"reads":N,"writes":N,"calls":{"get":N,…}}}`.
    pub fn to_json(&self) -> Value {
        let (mut reads, mut writes, mut calls) = (0, 0, Map::new());
        for (call, name) in CALLS {
            let count = self.calls[call as usize].load(Ordering::Relaxed);
            *if call.is_read() {
                &mut reads
            } else {
                &mut writes
            } += count;
            calls.insert(name.to_owned(), count.into());
        }
        json!({
            "requests": self.requests.load(Ordering::Relaxed),
            "kv": { "reads": reads, "writes": writes, "calls": calls },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_its_own_count() {
        let stats = Stats::default();
        for (index, (call, _)) in CALLS.into_iter().enumerate() {
            assert_eq!(call as usize, index, "{call:?} is out of order");
            for _ in 0..=index {
                stats.count(call);
            }
        }
        stats.count_request();
        let json = stats.to_json();
        assert_eq!(json["requests"], 1);
        assert_eq!(json["kv"]["reads"], 1 + 2 + 3 + 4 + 5);
        assert_eq!(json["kv"]["writes"], 6 + 7 + 8 + 9 + 10 + 11);
        assert_eq!(json["kv"]["calls"]["get"], 1);
        assert_eq!(json["kv"]["calls"]["swap"], 11);
    }
}
