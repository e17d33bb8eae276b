//! The store: Spin's key-value store behind the driver's trait, with the time that each call takes.
//!
//! What is stored, and in which order it is written, is the driver's business; this knows keys and bytes alone.

use super::door::Inside;
use super::{last_reading, now};
use crate::driver::kv::{Kv, KvError, SwapError};
use bindings::wasi::keyvalue::{atomics, batch, store};
use futures::future::{Either, select};
use spin_sdk::key_value;
use spin_sdk::time::sleep;
use std::cell::{Cell, OnceCell};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

/// The bindings that `wit/` asks for beyond those of the SDK.
mod bindings {
    #![allow(
        clippy::all,
        clippy::pedantic,
        reason = "the code is generated; which lints it meets depends on the generator"
    )]
    wit_bindgen::generate!({
        path: "wit",
        world: "bindings",
        generate_all,
    });
}

/// The label of the store in the manifest.
const STORE: &str = "default";

thread_local! {
    static OPENED: Rc<Opened> = Rc::default();
}

/// Spin's key-value store, by the two interfaces that reach it, each opened on first use.
///
/// Plain calls go through Spin's own interface: it is asynchronous, so they leave the instance free for its other
/// requests, and can be given up. The conditional write exists in `wasi:keyvalue` alone, whose calls block. Every
/// request reads before it writes, so a store that does not answer is met by a call that can be given up.
///
/// Before a value is written the request has its share of the instance's conditional writes. A counter is added to only
/// where a conditional write follows, and what is deleted is of no use any more.
pub(super) struct SpinKv {
    opened: Rc<Opened>,
    inside: Rc<Inside>,
}

/// The store as it is open for all requests of the instance: opening it is a call like any other.
#[derive(Default)]
struct Opened {
    plain: OnceCell<key_value::Store>,
    conditional: OnceCell<store::Bucket>,
    /// Whether the latest calls took long.
    is_slow: Cell<bool>,
    /// For how long the instance has stood still in calls that block it, in milliseconds.
    blocked_ms: Cell<u64>,
}

/// How long a store may take for one call. SQLite gives up on a lock after 5 s, which is then its own answer; Spin's
/// Redis driver tries to connect again for minutes, which is longer than any client waits.
const CALL_DEADLINE: Duration = Duration::from_secs(6);

/// From when on a call says that the store is too slow to begin anything: a new operation takes five calls more,
/// and one that is forwarded ten, which is as long as a client waits.
const SLOW_MS: u64 = 2_500;

impl SpinKv {
    /// The store of this instance, for a request inside.
    pub(super) fn new(inside: Rc<Inside>) -> Self {
        Self {
            opened: OPENED.with(Rc::clone),
            inside,
        }
    }

    async fn plain(&self) -> Result<&key_value::Store, KvError> {
        let plain = &self.opened.plain;
        if plain.get().is_none() {
            let opened = self.in_time(key_value::Store::open(STORE)).await?;
            // Should another request have been faster, its handle stays: it is as good.
            let _ = plain.set(opened);
        }
        Ok(plain.get().expect("it was just set"))
    }

    fn conditional(&self) -> Result<&store::Bucket, KvError> {
        let conditional = &self.opened.conditional;
        if conditional.get().is_none() {
            let opened = self.blocking(|| store::open(STORE));
            let _ = conditional.set(opened.map_err(error)?);
        }
        Ok(conditional.get().expect("it was just set"))
    }

    /// Waits for a call, but not for ever, and notes how long that was. A write that is given up may still happen.
    ///
    /// While the call is under way the instance may stand still for other requests, in calls of theirs that block it.
    /// That is not the store's time for this call, or may not be: it makes no call slow, and none late.
    async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, key_value::Error>>,
    ) -> Result<T, KvError> {
        let begun = last_reading();
        let blocked_ms = self.opened.blocked_ms.get();
        let own_ms = |elapsed_ms: u64| {
            let blocked_ms = self.opened.blocked_ms.get() - blocked_ms;
            elapsed_ms.saturating_sub(blocked_ms)
        };
        let mut call = pin!(call);
        let mut left = CALL_DEADLINE;
        let end = loop {
            match select(call.as_mut(), pin!(sleep(left))).await {
                Either::Left((end, _)) => {
                    break end.map_err(plain_error);
                }
                Either::Right(((), _)) => {}
            }
            let own = Duration::from_millis(own_ms(now().since(begun).get()));
            // The clock and the timer may differ by what is too short to wait for.
            left = CALL_DEADLINE.saturating_sub(own);
            if left < Duration::from_millis(10) {
                break Err(KvError(format!(
                    "the store did not answer within {} s",
                    CALL_DEADLINE.as_secs()
                )));
            }
        };
        let elapsed_ms = now().since(begun).get();
        if own_ms(elapsed_ms) >= SLOW_MS {
            self.opened.is_slow.set(true);
        } else if elapsed_ms < SLOW_MS {
            self.opened.is_slow.set(false);
        }
        end
    }

    /// Makes a call that blocks the instance, and notes how long that was.
    fn blocking<T>(&self, call: impl FnOnce() -> T) -> T {
        let begun = last_reading();
        let end = call();
        let blocked_ms = now().since(begun).get();
        let sum_ms = self.opened.blocked_ms.get().saturating_add(blocked_ms);
        self.opened.blocked_ms.set(sum_ms);
        if blocked_ms >= SLOW_MS {
            self.opened.is_slow.set(true);
        }
        end
    }
}

fn error(error: store::Error) -> KvError {
    match error {
        store::Error::NoSuchStore => not_set_up(),
        store::Error::AccessDenied => not_granted(),
        store::Error::Other(message) => KvError(message),
    }
}

fn plain_error(error: key_value::Error) -> KvError {
    match error {
        key_value::Error::NoSuchStore => not_set_up(),
        key_value::Error::AccessDenied => not_granted(),
        other @ (key_value::Error::StoreTableFull | key_value::Error::Other(_)) => {
            KvError(other.to_string())
        }
    }
}

fn not_set_up() -> KvError {
    KvError(format!("the store \"{STORE}\" is not set up"))
}

fn not_granted() -> KvError {
    KvError(format!(
        "the manifest gives this component no key-value store \"{STORE}\""
    ))
}

impl Kv for SpinKv {
    type Cas = atomics::Cas;

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, KvError> {
        self.in_time(self.plain().await?.get(key)).await
    }

    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<(String, Vec<u8>)>, KvError> {
        let bucket = self.conditional()?;
        let found = self.blocking(|| batch::get_many(bucket, &keys));
        let found = found.map_err(error)?;
        let found = found.into_iter();
        Ok(found
            .filter_map(|(key, value)| Some((key, value?)))
            .collect())
    }

    async fn set(&self, key: &str, value: &[u8]) -> Result<(), KvError> {
        self.inside.check()?;
        self.in_time(self.plain().await?.set(key, value)).await
    }

    async fn delete(&self, key: &str) -> Result<(), KvError> {
        self.in_time(self.plain().await?.delete(key)).await
    }

    async fn increment(&self, key: &str, delta: i64) -> Result<i64, KvError> {
        let bucket = self.conditional()?;
        self.blocking(|| atomics::increment(bucket, key, delta))
            .map_err(error)
    }

    async fn cas(&self, key: &str) -> Result<Self::Cas, KvError> {
        self.inside.check()?;
        let bucket = self.conditional()?;
        // A handle alone asks the store nothing. Should it take long all the same, the next call begins at the same
        // reading of the clock.
        atomics::Cas::new(bucket, key).map_err(error)
    }

    async fn current(&self, cas: &Self::Cas) -> Result<Option<Vec<u8>>, KvError> {
        self.blocking(|| cas.current()).map_err(error)
    }

    async fn swap(&self, cas: Self::Cas, value: &[u8]) -> Result<(), SwapError<Self::Cas>> {
        self.inside.take();
        let swapped = self.blocking(|| atomics::swap(cas, value));
        swapped.map_err(|failure| match failure {
            atomics::CasError::StoreError(failure) => SwapError::Store(error(failure)),
            atomics::CasError::CasFailed(fresh) => SwapError::CasFailed(fresh),
        })
    }

    fn check_pace(&self) -> Result<(), KvError> {
        if self.opened.is_slow.get() {
            return Err(KvError(
                "the store is too slow to begin anything".to_owned(),
            ));
        }
        Ok(())
    }

    fn reserve(&self, swaps: u32) -> bool {
        self.inside.reserve(swaps)
    }
}
