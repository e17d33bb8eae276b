//! A model of the stores that the sandbox runs on, in which a test decides what happens between two calls.

use payment_sandbox::ledger::{Store, StoreError};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Which store is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Counters are eight bytes, and an increment of anything else breaks the store.
    Sqlite,
    /// Counters are decimal text, and an increment of anything else fails.
    Redis,
}

/// What a test lets happen just before a call.
enum Event<'a> {
    /// Another client's request, whole.
    Other(Box<dyn Fn(&ModelStore<'a>) + 'a>),
    /// The end of the request: this call and those after it have no effect.
    Kill,
}

/// A store that counts its calls, and at one of them lets something happen.
pub(crate) struct ModelStore<'a> {
    kind: Kind,
    values: RefCell<BTreeMap<String, Vec<u8>>>,
    calls: Cell<u32>,
    event: RefCell<Option<(u32, Event<'a>)>>,
    is_killed: Cell<bool>,
}

impl<'a> ModelStore<'a> {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            values: RefCell::default(),
            calls: Cell::new(0),
            event: RefCell::new(None),
            is_killed: Cell::new(false),
        }
    }

    /// Lets another client's request come just before the call of this number, from 1, counted from now on.
    pub(crate) fn before_call(&self, number: u32, other: impl Fn(&ModelStore<'a>) + 'a) {
        self.calls.set(0);
        *self.event.borrow_mut() = Some((number, Event::Other(Box::new(other))));
    }

    /// Kills the request just before its call of this number.
    pub(crate) fn kill_before_call(&self, number: u32) {
        self.calls.set(0);
        *self.event.borrow_mut() = Some((number, Event::Kill));
    }

    /// Starts again after a kill, with what was stored.
    pub(crate) fn restart(&self) {
        self.is_killed.set(false);
    }

    /// Whether what was to happen has not happened.
    pub(crate) fn is_event_pending(&self) -> bool {
        self.event.borrow().is_some()
    }

    fn begin_call(&self) -> Result<(), StoreError> {
        self.calls.set(self.calls.get() + 1);
        let is_due = matches!(&*self.event.borrow(), Some((due, _)) if *due == self.calls.get());
        let event = if is_due { self.event.take() } else { None };
        match event {
            Some((_, Event::Other(other))) => other(self),
            Some((_, Event::Kill)) => self.is_killed.set(true),
            None => {}
        }
        if self.is_killed.get() {
            return Err(StoreError("killed".to_owned()));
        }
        Ok(())
    }
}

impl Store for ModelStore<'_> {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.begin_call()?;
        Ok(self.values.borrow().get(key).cloned())
    }

    fn increment(&self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.begin_call()?;
        let mut values = self.values.borrow_mut();
        let value = values.get(key);
        let (sum, new) = match self.kind {
            Kind::Sqlite => {
                let bytes = value.map_or(Ok([0; 8]), |value| value.as_slice().try_into());
                let sum = i64::from_le_bytes(bytes.expect("this breaks the store")) + delta;
                (sum, sum.to_le_bytes().to_vec())
            }
            Kind::Redis => {
                let text = value.map_or("0", |value| str::from_utf8(value).unwrap_or_default());
                let number: Result<i64, _> = text.parse();
                let sum = number.map_err(|_| StoreError("not an integer".to_owned()))? + delta;
                (sum, sum.to_string().into_bytes())
            }
        };
        values.insert(key.to_owned(), new);
        Ok(sum)
    }

    fn swap(&self, key: &str, old: &[u8], new: &[u8]) -> Result<(), StoreError> {
        self.begin_call()?;
        let mut values = self.values.borrow_mut();
        if let Some(value) = values.get_mut(key)
            && value == old
        {
            *value = new.to_vec();
        }
        Ok(())
    }

    fn keys(&self) -> Result<Vec<String>, StoreError> {
        self.begin_call()?;
        Ok(self.values.borrow().keys().cloned().collect())
    }
}
