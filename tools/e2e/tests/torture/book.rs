//! What the clients have asked for, and everything that they were told.

use reprise_e2e::Answer;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// The operations that clients ask for: routes of the configuration.
pub(crate) const ORDERS: &str = "/orders";
pub(crate) const SANDBOX: &str = "/charge";
pub(crate) const HONEST: &str = "/honest";
pub(crate) const ONCE: &str = "/once";

/// An operation as a client asks for it, whatever comes of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ask {
    pub(crate) path: &'static str,
    pub(crate) key: String,
    pub(crate) body: String,
}

/// What was said of one operation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// The ids of its record. There may be one.
    pub(crate) ids: BTreeSet<String>,
    /// The results, status and body. There may be one.
    pub(crate) results: BTreeSet<(u16, String)>,
    pub(crate) answers: u64,
}

/// All that was asked, and what was said of it.
#[derive(Debug, Default)]
pub(crate) struct Book(Mutex<BTreeMap<Ask, Told>>);

impl Book {
    /// Notes that this is asked for. It has to come before the question.
    pub(crate) fn ask(&self, ask: &Ask) {
        self.with(|book| {
            book.entry(ask.clone()).or_default();
        });
    }

    /// Notes an answer. One that no client may be given ends the test.
    pub(crate) fn note(&self, ask: &Ask, answer: &Answer) {
        let id = id_of(ask, answer);
        let result = match answer.status {
            201 => true,
            402 if ask.path == SANDBOX => true,
            502 if ask.path == ONCE => {
                assert_eq!(answer.problem(), "operation-failed", "{ask:?}");
                true
            }
            202 => {
                assert!(
                    answer.header("retry-after").is_some(),
                    "{ask:?}: {answer:?}"
                );
                false
            }
            409 => {
                assert_eq!(answer.problem(), "operation-in-progress", "{ask:?}");
                false
            }
            503 => {
                assert_eq!(answer.problem(), "store-unavailable", "{ask:?}");
                return;
            }
            _ => panic!("{ask:?}: {answer:?}"),
        };
        let id = id.unwrap_or_else(|| panic!("{ask:?}: it names no record: {answer:?}"));
        self.with(|book| {
            let told = book.get_mut(ask).expect("it was asked for");
            told.answers += 1;
            told.ids.insert(id);
            if result {
                told.results.insert((answer.status, answer.body.clone()));
            }
            assert!(
                told.ids.len() == 1 && told.results.len() <= 1,
                "{ask:?}: {told:?}"
            );
        });
    }

    /// Everything until now.
    pub(crate) fn all(&self) -> BTreeMap<Ask, Told> {
        self.with(|book| book.clone())
    }

    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<Ask, Told>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The id of the record that an answer names.
fn id_of(ask: &Ask, answer: &Answer) -> Option<String> {
    ["operation-location", "location"]
        .into_iter()
        .find_map(|name| {
            let id = answer
                .header(name)?
                .strip_prefix(ask.path)?
                .strip_prefix('/')?;
            Some(id.to_owned())
        })
}
