//! The rows of the table: what is asked, and how each subject is asked it.

use reprise_e2e::fill::Filling;

use crate::lengths::Lengths;
use crate::subject::Subject;

/// What is asked, again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    /// A finished order's request, again.
    Replay,
    /// An order with a fresh key.
    Order,
    /// A task without a key.
    Task,
    /// A charge with a fresh key, which calls the payment sandbox.
    Charge,
    /// A look at an order.
    Get,
    /// [`Row::Order`] on a store that was never used: most buckets are used for the first time.
    OrderOnEmpty,
    /// [`Row::Order`] with the event of the reference configuration, and its delivery to the own inbox.
    OrderWithEvent,
}

/// How a row is asked of a subject. The templates are those of `load.lua`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shot {
    pub(crate) status: u16,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: &'static str,
    pub(crate) key: &'static str,
}

const CHARGE: &str = r#"{"amount":1999,"currency":"EUR","reference":"bench"}"#;
const FRESH_KEY: &str = "bench-$F$G";
const LIVE_KEY: &str = "$1";

impl Row {
    pub(crate) const ALL: [Self; 7] = [
        Self::Replay,
        Self::Get,
        Self::Task,
        Self::Order,
        Self::Charge,
        Self::OrderOnEmpty,
        Self::OrderWithEvent,
    ];

    /// The rows that are measured on one and the same server, those first that change nothing.
    pub(crate) const MAIN: [Self; 5] = [
        Self::Replay,
        Self::Get,
        Self::Task,
        Self::Order,
        Self::Charge,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Order => "order",
            Self::Task => "task",
            Self::Charge => "charge",
            Self::Get => "get",
            Self::OrderOnEmpty => "empty",
            Self::OrderWithEvent => "event",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Replay => "replay of a finished order",
            Self::Order => "new order, fresh key",
            Self::Task => "new task, no key",
            Self::Charge => "charge at the sandbox, fresh key",
            Self::Get => "GET of an order",
            Self::OrderOnEmpty => "new order, on an empty store",
            Self::OrderWithEvent => "new order with its event",
        }
    }

    /// How many requests reach a component for one of this row: a charge calls the sandbox, an event the inbox.
    pub(crate) const fn requests_within(self) -> u64 {
        match self {
            Self::Charge | Self::OrderWithEvent => 2,
            Self::Replay | Self::Order | Self::Task | Self::Get | Self::OrderOnEmpty => 1,
        }
    }

    /// How this row is asked of a subject; not at all where that has nothing of the kind.
    pub(crate) fn shot(self, subject: Subject, lengths: Lengths) -> Option<Shot> {
        let mut shot = self.asked();
        match subject {
            Subject::Reprise => {}
            Subject::Bare => {
                shot.path = match self {
                    Self::Replay => "/replay/$3/$4".to_owned(),
                    Self::Get => "/record/$4".to_owned(),
                    Self::Task => format!("/create/$F/{}", lengths.task),
                    Self::Order | Self::OrderOnEmpty => format!("/create/$F/{}", lengths.order),
                    Self::Charge => format!("/charge/$F/{}/{}", lengths.claim, lengths.charge),
                    Self::OrderWithEvent => return None,
                };
            }
            Subject::Twin => {
                if self == Self::OrderWithEvent {
                    return None;
                }
            }
            Subject::Restate => {
                match self {
                    Self::Replay | Self::Order => {}
                    // Without a key it does the same work and keeps nothing for a repeat.
                    Self::Task => shot.body = Filling::Orders.body(),
                    Self::Charge | Self::Get | Self::OrderOnEmpty | Self::OrderWithEvent => {
                        return None;
                    }
                }
                "/orders/create".clone_into(&mut shot.path);
                shot.status = 200;
            }
        }
        Some(shot)
    }

    /// How it is asked of Reprise and of its twin.
    fn asked(self) -> Shot {
        let post = |path: &str, body, key| Shot {
            status: 201,
            method: "POST",
            path: path.to_owned(),
            body,
            key,
        };
        match self {
            Self::Replay => post("/orders", Filling::Orders.body(), LIVE_KEY),
            Self::Order | Self::OrderOnEmpty | Self::OrderWithEvent => {
                post("/orders", Filling::Orders.body(), FRESH_KEY)
            }
            Self::Task => post("/tasks", Filling::Tasks.body(), ""),
            Self::Charge => post("/charge", CHARGE, FRESH_KEY),
            Self::Get => Shot {
                status: 200,
                method: "GET",
                path: "/orders/$2".to_owned(),
                body: "",
                key: "",
            },
        }
    }
}
