//! Records in their stored form, written once, and how each of them came about.

use reprise::machine::{
    DeliveryEvent, DeliveryOutcome, Millis, OperationEvent, OutboxEvent, Record,
};

use crate::support::{
    World, delivery, draft, error, origin, policy_with, retryable, retryable_after, submitted,
    success_with, terminal,
};

/// A record in each version of the stored form, and how it came about.
#[derive(Debug)]
pub(crate) struct Golden {
    pub(crate) name: &'static str,
    pub(crate) v1: &'static str,
    pub(crate) v2: &'static str,
    pub(crate) record: fn() -> Record,
}

macro_rules! golden {
    ($($record:ident),+ $(,)?) => {
        &[$(Golden {
            name: stringify!($record),
            v1: include_str!(concat!("golden/v1/", stringify!($record), ".json")),
            v2: include_str!(concat!("golden/v2/", stringify!($record), ".json")),
            record: $record,
        }),+]
    };
}

/// Stored records that were written once and must be read for good. When the form gets a new version, these stay and
/// that version's own are added.
pub(crate) const GOLDEN: &[Golden] = golden![
    queued, running, waiting, done, failed, cancelled, binary, outbox
];

fn queued() -> Record {
    let mut world = World::new(&policy_with(|settings| {
        settings.start_delay_ms = Millis::new(1_500);
    }));
    world.tell(submitted());
    world.record
}

fn running() -> Record {
    World::running(&policy_with(|settings| {
        settings.total_deadline_ms = Some(Millis::new(60_000));
    }))
    .record
}

fn waiting() -> Record {
    let mut world = World::running(&policy_with(|_| {}));
    world.set_clock(40).finish(retryable("busy"));
    world.until_due().tell(OperationEvent::Woken);
    world.finish(retryable_after(20_000));
    world.record
}

fn done() -> Record {
    World::done(&policy_with(|_| {}), &[]).record
}

fn failed() -> Record {
    let mut world = World::running(&policy_with(|_| {}));
    world.until_due().tell(OperationEvent::Woken);
    world.finish(terminal("no such card"));
    world.record
}

fn cancelled() -> Record {
    let mut world = World::running(&policy_with(|_| {}));
    world.tell(OperationEvent::CancelAsked);
    world.record
}

/// A body that is no text, and a client without a key.
fn binary() -> Record {
    let mut origin = origin(&[0xff, 0x00, 0x80]);
    origin.identity.key = None;
    origin.trace = None;
    Record::new(origin, &policy_with(|_| {}))
}

/// Each state of a delivery, in the order pending, delivering, delivered, dead, dropped.
fn outbox() -> Record {
    let policy = policy_with(|settings| settings.events_on_failed = vec![draft("order.failed")]);
    let mut world = World::running(&policy);
    world.finish(terminal("no stock"));
    world.tell(OperationEvent::RetryAsked);
    world.finish(success_with(&[
        "order.created",
        "stock.reserved",
        "mail.sent",
        "invoice.due",
    ]));
    for _ in 0..5 {
        world.tell(OutboxEvent::Woken);
    }
    world.finish_delivery(
        0,
        DeliveryOutcome::Retryable {
            error: error("busy"),
            hint: None,
        },
    );
    world.finish_delivery(2, DeliveryOutcome::Accepted);
    world.finish_delivery(
        3,
        DeliveryOutcome::Rejected {
            error: error("poisoned"),
        },
    );
    world.finish_delivery(
        4,
        DeliveryOutcome::Rejected {
            error: error("poisoned"),
        },
    );
    world.tell(delivery(4, DeliveryEvent::DropAsked));
    world.record
}
