//! What depends on an operation's handler.

use super::super::{ConfigError, Handler, HeaderList, Route, Upstream};
use super::at::Fields;
use super::{forward, headers};
use crate::machine::{BudgetPolicy, Name};
use crate::sorted::Sorted;

/// Fields that mean something to one handler alone.
const OF_FORWARD: [&str; 6] = [
    "upstream",
    "upstream_path",
    "retry_statuses",
    "max_response_bytes",
    "forward_headers",
    "replay_headers",
];
const OF_ORDER: [&str; 1] = ["quantity_max"];

const QUANTITY_DEFAULT: u64 = 1_000;
/// The largest whole number that every reader of JSON reads exactly.
const QUANTITY_MAX: u64 = (1 << 53) - 1;
/// What depends on the handler.
pub(super) struct Work {
    pub(super) handler: Handler,
    pub(super) forward_headers: HeaderList,
    pub(super) retry_budget: Option<BudgetPolicy>,
}

#[derive(Clone, Copy)]
enum HandlerKind {
    Analyze,
    Order,
    Forward,
}

/// Reads what depends on the handler, and refuses what belongs to another one.
pub(super) fn read(
    fields: &Fields<'_>,
    route: &Route,
    upstreams: &Sorted<Name, Upstream>,
) -> Result<Work, Box<ConfigError>> {
    let kind = fields.need("handler")?.choice(&[
        ("analyze", HandlerKind::Analyze),
        ("order", HandlerKind::Order),
        ("forward", HandlerKind::Forward),
    ])?;
    match kind {
        HandlerKind::Analyze | HandlerKind::Forward => refuse(fields, &OF_ORDER, "order")?,
        HandlerKind::Order => {}
    }
    match kind {
        HandlerKind::Analyze | HandlerKind::Order => refuse(fields, &OF_FORWARD, "forward")?,
        HandlerKind::Forward => {}
    }
    // What works here needs no header of the request, so none is kept.
    let local = |handler| Work {
        handler,
        forward_headers: HeaderList::default(),
        retry_budget: None,
    };
    match kind {
        HandlerKind::Analyze => Ok(local(Handler::Analyze)),
        HandlerKind::Order => {
            let quantity_max = fields.read("quantity_max", QUANTITY_DEFAULT, |at| {
                at.integer(1..=QUANTITY_MAX)
            })?;
            Ok(local(Handler::Order { quantity_max }))
        }
        HandlerKind::Forward => {
            let (forward, upstream) = forward::read(fields, route, upstreams)?;
            Ok(Work {
                handler: Handler::Forward(forward),
                forward_headers: fields.read(
                    "forward_headers",
                    HeaderList::new(headers::FORWARDED),
                    |at| forward::headers(at, upstream),
                )?,
                retry_budget: upstream.retry_budget,
            })
        }
    }
}

fn refuse(fields: &Fields<'_>, names: &[&str], handler: &str) -> Result<(), Box<ConfigError>> {
    match names.iter().find(|name| fields.find(name).is_some()) {
        Some(name) => Err(fields.wrong(
            name,
            format!("means something to the handler {handler} alone"),
        )),
        None => Ok(()),
    }
}
