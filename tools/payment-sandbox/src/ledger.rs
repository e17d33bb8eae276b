//! What is stored: which request a key stands for, and how often it was called. A charge *is* a call.
//!
//! Two kinds of values, both of eight bytes or, where a store writes counters so, of decimal text:
//! - `sandbox/claim/{key}`: the fingerprint of the first request with that key; 0 until it is known.
//! - `sandbox/calls/{reference}/{behaviour}/{key}`: a counter of calls; of those without a key, under `keyless`.
//!
//! A call with a key first claims it, then adds 1 to its counter, then answers. Nothing else is written, and every
//! answer and every count follows from these values alone:
//!
//! - **Never twice.** Whether a call charges is decided by the sum that its one atomic increment returns (see
//!   [`Behaviour::charges`]): one call, and no other, is told the number that charges. There is no second value that
//!   would have to be written along with it, so there is no moment between the two at which a kill could lose or double
//!   anything. Whether that call's client hears of it does not matter: the next call says the same.
//! - **Counted right.** The number of charges is computed from the counters, not counted a second time.
//! - **Never stuck.** A kill leaves a claim without a call, which the next call continues, or a call without an answer,
//!   after which the next call is one later: one refusal of "503 twice" less to come, or the answer to a charge that
//!   happened.
//! - **One request a key.** The claim is created by adding 0, which harms nothing however often it is done, and then
//!   swapped from 0 to a fingerprint, which succeeds once. Whether a swap succeeded is always read back, because Redis
//!   never says so. A claim once made never changes.
//!
//! A counter is never written in another way than by increments, and a claim has as many bytes as a counter, because an
//! increment of anything else breaks Spin's SQLite store until a restart.
//!
//! Counting lists the whole store. That is slow where much else is in it, and charging is not: this is a sandbox.

use crate::behaviour::Behaviour;
use crate::charge::{ChargeRequest, digest};
use serde::Serialize;
use std::fmt;

/// The store could not do what it was asked to. Whether it did is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

/// A key-value store, as far as the ledger needs one.
pub trait Store {
    /// The value of a key.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;
    /// Adds to a counter, atomically, and answers the sum.
    fn increment(&self, key: &str, delta: i64) -> Result<i64, StoreError>;
    /// Writes `new` if the key holds `old`, atomically. Whether it did is for the caller to read.
    fn swap(&self, key: &str, old: &[u8], new: &[u8]) -> Result<(), StoreError>;
    /// All keys, in no particular order.
    fn keys(&self) -> Result<Vec<String>, StoreError>;
}

/// What a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// The call of this number, from 1, with its key, or else with its reference and behaviour.
    Number(u64),
    /// The key stands for another request. Nothing was counted.
    OtherRequest,
}

/// What has happened under one reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// As asked for.
    pub reference: String,
    /// How many charges were made.
    pub charges: u64,
    /// How many calls came; of those that were answered 422, none.
    pub calls: u64,
}

/// How often a claim is looked at. Each look but the first follows a write, ours or another's, and there are at most
/// two.
const LOOKS_MAX: u32 = 8;

/// Where calls without a key are counted.
const KEYLESS: &str = "keyless";

/// Counts a call, and charges if it is the one that does.
pub fn call(
    store: &impl Store,
    request: &ChargeRequest,
    key: Option<&str>,
) -> Result<Call, StoreError> {
    let key_digest = key.map(|key| digest(&[key]));
    if let Some(key) = &key_digest
        && !claim(
            store,
            &format!("sandbox/claim/{key}"),
            request.fingerprint(),
        )?
    {
        return Ok(Call::OtherRequest);
    }
    let counter = format!(
        "{}{}/{}",
        calls_of(&request.reference),
        request.behaviour().name(),
        key_digest.as_deref().unwrap_or(KEYLESS)
    );
    let sum = store.increment(&counter, 1)?;
    let number = u64::try_from(sum).map_err(|_| StoreError(format!("{counter} holds {sum}")))?;
    Ok(Call::Number(number))
}

/// Whether the claim is to this fingerprint; if it is to none yet, makes it be.
fn claim(store: &impl Store, name: &str, fingerprint: [u8; 8]) -> Result<bool, StoreError> {
    let mut failure = None;
    for _ in 0..LOOKS_MAX {
        match store.get(name)? {
            None => {
                // It fails on Redis if somebody's claim, which is no number there, has just been made; then the next
                // look shows it.
                failure = store.increment(name, 0).err();
            }
            Some(value) if is_zero(&value) => store.swap(name, &value, &fingerprint)?,
            Some(value) => return Ok(value == fingerprint),
        }
    }
    Err(failure.unwrap_or_else(|| StoreError(format!("{name} does not settle"))))
}

/// Counts what has happened under a reference.
pub fn count(store: &impl Store, reference: &str) -> Result<Count, StoreError> {
    let mut count = Count {
        reference: reference.to_owned(),
        charges: 0,
        calls: 0,
    };
    let prefix = calls_of(reference);
    for name in store.keys()? {
        let Some((behaviour, key)) = name
            .strip_prefix(&prefix)
            .and_then(|rest| rest.split_once('/'))
        else {
            continue;
        };
        let behaviour = Behaviour::named(behaviour);
        let calls = store.get(&name)?.and_then(|value| read_counter(&value));
        let (Some(behaviour), Some(calls)) = (behaviour, calls) else {
            return Err(StoreError(format!("{name} is not a counter of ours")));
        };
        count.charges += behaviour.charges(calls, key != KEYLESS);
        count.calls += calls;
    }
    Ok(count)
}

/// What the names of a reference's counters begin with.
fn calls_of(reference: &str) -> String {
    format!("sandbox/calls/{}/", digest(&[reference]))
}

/// Whether this is a counter of 0, in either of the forms that stores have.
fn is_zero(value: &[u8]) -> bool {
    value == [0; 8] || value == b"0"
}

/// Reads a counter: decimal text, or eight bytes, the lowest first. Eight digits are text: as bytes they would be more
/// calls than anybody makes.
fn read_counter(value: &[u8]) -> Option<u64> {
    if let Ok(text) = str::from_utf8(value)
        && let Ok(number) = text.parse()
    {
        return Some(number);
    }
    let bytes: [u8; 8] = value.try_into().ok()?;
    u64::try_from(i64::from_le_bytes(bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_read_in_both_forms() {
        for (value, number) in [
            (&b"0"[..], Some(0)),
            (b"12345678", Some(12_345_678)),
            (&[0; 8], Some(0)),
            (&[1, 1, 0, 0, 0, 0, 0, 0], Some(257)),
            (&[0xff; 8], None),
            (b"", None),
            (b"-1", None),
            (b"abc", None),
        ] {
            assert_eq!(read_counter(value), number, "{value:?}");
        }
    }
}
