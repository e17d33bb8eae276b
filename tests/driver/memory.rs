//! A store in memory by SQLite's rules, fast enough for a hundred thousand records, that counts what it is asked.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use reprise::driver::kv::{Kv, KvError, SwapError};

/// Clones share the data and the counts.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    pub data: Rc<RefCell<BTreeMap<String, Vec<u8>>>>,
    pub reads: Rc<Cell<u64>>,
    pub writes: Rc<Cell<u64>>,
    /// Calls that read many keys at once, which are no reads of the count above.
    pub batches: Rc<Cell<u64>>,
    /// Answer nothing any more.
    pub is_out: Rc<Cell<bool>>,
    /// The last values that were written.
    pub journal: Rc<RefCell<Journal>>,
}

/// The last writes, oldest first: a key and its value.
pub type Journal = VecDeque<(String, Vec<u8>)>;

/// How many values the journal keeps.
const JOURNAL: usize = 32;

/// A handle: the key, and what was read of it.
#[derive(Debug)]
pub struct Cas {
    key: String,
    seen: RefCell<Option<Vec<u8>>>,
}

impl Memory {
    /// The reads and writes that `act` takes.
    pub fn cost<T>(&self, act: impl FnOnce() -> T) -> (T, (u64, u64)) {
        let before = (self.reads.get(), self.writes.get());
        let done = act();
        (
            done,
            (self.reads.get() - before.0, self.writes.get() - before.1),
        )
    }

    /// How many keys begin like this.
    pub fn count(&self, prefix: &str) -> usize {
        let data = self.data.borrow();
        data.keys().filter(|key| key.starts_with(prefix)).count()
    }

    fn read(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        if self.is_out.get() {
            return Err(KvError("out".to_owned()));
        }
        self.reads.set(self.reads.get() + 1);
        Ok(self.data.borrow().get(key).cloned())
    }

    fn write(&self, key: &str, value: &[u8]) {
        self.writes.set(self.writes.get() + 1);
        let mut journal = self.journal.borrow_mut();
        if journal.len() == JOURNAL {
            journal.pop_front();
        }
        journal.push_back((key.to_owned(), value.to_vec()));
        self.data
            .borrow_mut()
            .insert(key.to_owned(), value.to_vec());
    }
}

impl Kv for Memory {
    type Cas = Cas;

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        self.read(key)
    }

    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, KvError> {
        self.batches.set(self.batches.get() + 1);
        let data = self.data.borrow();
        // In no particular order, as SQLite answers.
        let found = keys.into_iter().rev();
        let found = found.filter_map(|key| data.get(&key).cloned().map(|value| (key, value)));
        Ok(found.collect())
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        self.write(key, value);
        Ok(())
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        self.writes.set(self.writes.get() + 1);
        self.data.borrow_mut().remove(key);
        Ok(())
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        let value = self.data.borrow().get(key).cloned();
        let before = match value.map(|value| <[u8; 8]>::try_from(value.as_slice())) {
            None => 0,
            Some(Ok(bytes)) => i64::from_le_bytes(bytes),
            Some(Err(_)) => panic!("a value that is no word was incremented (S4): {key}"),
        };
        self.write(key, &(before + delta).to_le_bytes());
        Ok(before + delta)
    }

    async fn cas(&self, key: &str) -> Result<Cas, KvError> {
        Ok(Cas {
            key: key.to_owned(),
            seen: RefCell::default(),
        })
    }

    async fn current(&self, cas: &Cas) -> Result<Option<Vec<u8>>, KvError> {
        let seen = self.read(&cas.key)?;
        cas.seen.borrow_mut().clone_from(&seen);
        Ok(seen)
    }

    async fn swap(&self, cas: Cas, value: &[u8]) -> Result<(), SwapError<Cas>> {
        let seen = cas.seen.into_inner();
        let holds = seen.is_none() || self.data.borrow().get(&cas.key) == seen.as_ref();
        if holds {
            self.write(&cas.key, value);
            return Ok(());
        }
        let seen = RefCell::new(self.read(&cas.key).map_err(SwapError::Store)?);
        Err(SwapError::CasFailed(Cas { seen, ..cas }))
    }
}
