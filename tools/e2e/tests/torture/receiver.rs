//! The receiver of events: it stands before the inbox, and fails half of the time, before the inbox has the event or after.

use crate::dice::Dice;
use reprise_e2e::{Client, Seen, Sent};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

pub(crate) struct Receiver {
    dice: Dice,
    inbox: Client,
    is_healthy: AtomicBool,
    arrivals: Mutex<BTreeMap<String, Vec<Arrival>>>,
}

/// One delivery of an event, as it was signed, and what the inbox said of it, if it was asked and heard.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) timestamp: u64,
    pub(crate) signature: String,
    pub(crate) body: Vec<u8>,
    pub(crate) said: Option<(u16, String)>,
}

impl Receiver {
    /// A receiver before the inbox of whichever host this client reaches.
    pub(crate) fn new(dice: Dice, inbox: Client) -> Self {
        Self {
            dice,
            inbox,
            is_healthy: AtomicBool::new(false),
            arrivals: Mutex::default(),
        }
    }

    /// Ends all failures.
    pub(crate) fn heal(&self) {
        self.is_healthy.store(true, SeqCst);
    }

    /// The deliveries of each event, by its id.
    pub(crate) fn arrivals(&self) -> BTreeMap<String, Vec<Arrival>> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.clone()
    }

    /// Answers a delivery, of which so many came before.
    pub(crate) fn answer(&self, before: usize, seen: &Seen) -> Sent {
        let is_healthy = self.is_healthy.load(SeqCst);
        let fails = !is_healthy && self.dice.happens(("a delivery fails", before), 50);
        let is_passed_on = !fails || self.dice.happens(("it fails late", before), 50);
        let answer = is_passed_on.then(|| self.pass_on(seen)).flatten();
        self.note(seen, answer.clone());
        match answer {
            // Nobody has the event, or nobody says so.
            None => Sent::new(503, &[], b""),
            Some(_) if fails => Sent::new(500, &[], b""),
            Some((status, body)) => Sent::new(status, &[], body.as_bytes()),
        }
    }

    fn pass_on(&self, seen: &Seen) -> Option<(u16, String)> {
        let headers: Vec<(&str, &str)> = seen
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| *name == "content-type" || name.starts_with("webhook-"))
            .collect();
        let answer = self
            .inbox
            .send("POST", "/inbox/orders", &headers, &seen.body);
        let answer = answer.ok()?;
        Some((answer.status, answer.body))
    }

    fn note(&self, seen: &Seen, said: Option<(u16, String)>) {
        let header = |name| {
            seen.header(name)
                .unwrap_or_else(|| panic!("{name}: {seen:?}"))
        };
        let arrival = Arrival {
            timestamp: header("webhook-timestamp").parse().expect("seconds"),
            signature: header("webhook-signature").to_owned(),
            body: seen.body.clone(),
            said,
        };
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let id = header("webhook-id").to_owned();
        arrivals.entry(id).or_default().push(arrival);
    }
}
