//! The payment API of this test's own, with a ledger that survives every kill, because nobody kills the test.
//!
//! `/honest` knows a repeated call by its key and charges it once, as a payment API should. `/once` charges each time that
//! it is called, as those do for which `on_lost_attempt = "fail"` is there. Both fail in every way that they can, before
//! and after they have charged; `/once` only in ways that do not lie about it.

use crate::dice::Dice;
use reprise_e2e::{Seen, Sent};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the API is up or down at a stretch.
const FLAP: Duration = Duration::from_secs(2);
/// Longer than any attempt may take.
const LATE: Duration = Duration::from_millis(1_500);

#[derive(Debug)]
pub(crate) struct Ledger {
    dice: Dice,
    start: Instant,
    is_healthy: AtomicBool,
    entries: Mutex<BTreeMap<String, Entry>>,
}

/// What happened to one reference, which each operation has its own of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) calls: u64,
    pub(crate) charges: u64,
    /// The keys that calls came with.
    pub(crate) keys: BTreeSet<String>,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Charged,
    Refused(u16),
    ChargedAndSlow,
    ChargedAndLate,
    ChargedAndCut,
    /// Nothing is answered, nothing was done.
    Silent,
    /// Charged, and told otherwise.
    ChargedAndDenied,
}

impl Ledger {
    pub(crate) fn new(dice: Dice) -> Self {
        Self {
            dice,
            start: Instant::now(),
            is_healthy: AtomicBool::new(false),
            entries: Mutex::default(),
        }
    }

    /// Ends all failures.
    pub(crate) fn heal(&self) {
        self.is_healthy.store(true, SeqCst);
    }

    /// All entries until now.
    pub(crate) fn entries(&self) -> BTreeMap<String, Entry> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.clone()
    }

    /// Answers a call.
    pub(crate) fn answer(&self, seen: &Seen) -> Sent {
        let body: Value =
            serde_json::from_slice(&seen.body).expect("the request's body is passed on");
        let reference = body["reference"].as_str().expect("a reference").to_owned();
        let key = seen.header("idempotency-key").expect("a key").to_owned();
        let is_honest = seen.target == "/honest";
        let (fate, charge) = {
            let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = entries.entry(reference.clone()).or_default();
            entry.calls += 1;
            let fate = self.fate(&reference, entry.calls, is_honest);
            let is_known = !entry.keys.insert(key);
            let is_charged = match fate {
                Fate::Refused(_) | Fate::Silent => false,
                Fate::Charged
                | Fate::ChargedAndSlow
                | Fate::ChargedAndLate
                | Fate::ChargedAndCut
                | Fate::ChargedAndDenied => true,
            };
            if is_charged && (entry.charges == 0 || !is_known || !is_honest) {
                entry.charges += 1;
            }
            (fate, entry.charges)
        };
        let body = format!(r#"{{"reference":"{reference}","charge":{charge}}}"#);
        let json = ("content-type", "application/json");
        let charged = || Sent::new(201, &[json], body.as_bytes());
        match fate {
            Fate::Charged => charged(),
            Fate::ChargedAndSlow => charged().after(Duration::from_millis(200)),
            Fate::ChargedAndLate => charged().after(LATE),
            Fate::ChargedAndCut => charged().cut(5),
            Fate::ChargedAndDenied => Sent::new(500, &[], b"charged, but who knows"),
            Fate::Refused(429) => Sent::new(429, &[("retry-after", "1")], b""),
            Fate::Refused(status) => Sent::new(status, &[], b""),
            Fate::Silent => Sent {
                delay: Duration::ZERO,
                bytes: Vec::new(),
            },
        }
    }

    fn fate(&self, reference: &str, call: u64, is_honest: bool) -> Fate {
        if self.is_healthy.load(SeqCst) {
            return Fate::Charged;
        }
        let stretch = self.start.elapsed().as_millis() / FLAP.as_millis();
        if self.dice.happens(("the upstream is down", stretch), 25) {
            return Fate::Refused(503);
        }
        match self.dice.roll(("a call", reference, call), 100) {
            0..12 => Fate::Refused(503),
            12..18 => Fate::Refused(429),
            18..26 => Fate::ChargedAndSlow,
            26..32 => Fate::ChargedAndLate,
            32..40 => Fate::ChargedAndCut,
            40..44 => Fate::Silent,
            44..52 if is_honest => Fate::ChargedAndDenied,
            _ => Fate::Charged,
        }
    }
}
