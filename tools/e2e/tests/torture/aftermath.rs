//! The aftermath: everything is healthy again, nobody asks again, and only ticks come.

use crate::book::{Ask, Book, HONEST, ONCE, ORDERS, SANDBOX, Told};
use crate::store::Contents;
use crate::world::{World, tick};
use reprise::machine::{DeliveryState, Record, State};
use reprise_e2e::Client;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any lease, any wait and the wheel's shortest slot together: what is quiet for so long stays so.
const QUIET: Duration = Duration::from_secs(6);
/// How long all that is left over may take: a long run on a slow disk leaves thousands of writes.
const SETTLED: Duration = Duration::from_mins(10);

/// Orders and their quantities, by product.
type Totals = BTreeMap<u64, (u64, u64)>;

/// Ticks until a whole round of the walk, and some time, has found nothing to do.
pub(crate) fn settle(client: &Client) {
    let start = Instant::now();
    let (mut quiet_since, mut quiet_buckets) = (Instant::now(), 0);
    loop {
        let report = tick(client).expect("nobody kills this host");
        assert_eq!(report.failed, 0, "{report:?}");
        quiet_buckets += report.buckets;
        if report.work > 0 {
            (quiet_since, quiet_buckets) = (Instant::now(), 0);
        }
        if quiet_buckets >= report.buckets_total && quiet_since.elapsed() >= QUIET {
            return;
        }
        assert!(start.elapsed() < SETTLED, "it does not settle: {report:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Whoever was told of an operation can rely on it: it has ended, and so has everything that follows from it.
pub(crate) fn check_what_was_told(world: &World, book: &Book) -> Contents {
    let contents = world.dump().contents();
    let timers = &contents.timers;
    let now = reprise_e2e::now();
    assert!(timers.is_empty(), "left over at {now:?}: {timers:?}");
    assert!(contents.unsettled.is_empty(), "{:?}", contents.unsettled);
    for (ask, told) in book.all() {
        for id in &told.ids {
            let record = contents.records.get(id);
            let record = record.unwrap_or_else(|| panic!("{ask:?}: {id} is gone"));
            check_end(&ask, record);
        }
    }
    for record in contents.records.values() {
        for delivery in record.outbox().deliveries() {
            let is_delivered = matches!(delivery.state, DeliveryState::Delivered { .. });
            assert!(is_delivered, "{record:?}");
        }
    }
    let orders = contents.records.values().filter_map(order_of);
    assert_eq!(projection(&world.client()), totals(orders));
    contents
}

fn check_end(ask: &Ask, record: &Record) {
    let is_sound = match record.state() {
        State::Done { .. } => true,
        State::Failed { .. } => ask.path == ONCE,
        State::Queued { .. }
        | State::Running(_)
        | State::Waiting { .. }
        | State::Cancelled { .. } => false,
    };
    assert!(is_sound, "{ask:?}: {record:?}");
}

/// What an order says that it is, if the record is one.
fn order_of(record: &Record) -> Option<(u64, u64)> {
    let is_order = record.identity().operation.as_str() == &ORDERS[1..];
    is_order.then(|| order(record.origin().input.body().as_bytes()))
}

/// Product and quantity.
fn order(body: &[u8]) -> (u64, u64) {
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let number = |name: &str| body[name].as_u64().expect("a number");
    (number("product_id"), number("quantity"))
}

fn totals(orders: impl Iterator<Item = (u64, u64)>) -> Totals {
    let mut totals = Totals::new();
    for (product, quantity) in orders {
        let total = totals.entry(product).or_default();
        *total = (total.0 + 1, total.1 + quantity);
    }
    totals
}

fn projection(client: &Client) -> Totals {
    let document = client.get("/inbox/orders/projection").json();
    let products = document["products"].as_object().expect("an object");
    let number = |value: &Value| value.as_u64().expect("a number");
    products
        .iter()
        .map(|(product, total)| {
            let product = product.parse().expect("a product's number");
            (
                product,
                (number(&total["orders"]), number(&total["quantity"])),
            )
        })
        .collect()
}

/// Everybody comes back, also those who never heard a word, and learns what came of it.
pub(crate) fn ask_for_everything_again(world: &World, book: &Book) {
    let all: Vec<Ask> = book.all().into_keys().collect();
    in_parallel(&all, |ask| repeat(&world.client(), book, ask));
    // What has only come into being now may need another attempt.
    settle(&world.client());
    in_parallel(&all, |ask| repeat(&world.client(), book, ask));
    for (ask, told) in book.all() {
        assert_eq!(
            (told.ids.len(), told.results.len()),
            (1, 1),
            "{ask:?}: {told:?}"
        );
    }
}

fn repeat(client: &Client, book: &Book, ask: &Ask) {
    book.note(ask, &client.post(ask.path, Some(&ask.key), &ask.body));
}

/// Each operation has one record, and happened once.
pub(crate) fn check_everything(world: &World, book: &Book) {
    let contents = check_what_was_told(world, book);
    let all = book.all();
    assert_eq!(contents.records.len(), all.len(), "one record for each key");
    let orders = all.keys().filter(|ask| ask.path == ORDERS);
    let orders = orders.map(|ask| order(ask.body.as_bytes()));
    assert_eq!(projection(&world.client()), totals(orders));
    check_charges(world, &all, &contents);
    check_sandbox(world, all.keys().filter(|ask| ask.path == SANDBOX));
    check_deliveries(world, all.keys().filter(|ask| ask.path == ORDERS).count());
}

/// The ledger outside of all this is right: what was charged was charged once.
fn check_charges(world: &World, all: &BTreeMap<Ask, Told>, contents: &Contents) {
    let entries = world.ledger.entries();
    for (ask, told) in all
        .iter()
        .filter(|(ask, _)| [HONEST, ONCE].contains(&ask.path))
    {
        let id = told.ids.first().expect("it was told of");
        let record = &contents.records[id];
        let entry = entries.get(&ask.key).cloned().unwrap_or_default();
        let is_done = matches!(record.state(), State::Done { .. });
        let context = || format!("{ask:?}: {entry:?}, {record:?}");
        // A failed one may have been charged, and nobody knows; that is what its policy says.
        let is_right = entry.charges == 1 || (!is_done && entry.charges == 0);
        assert!(is_right, "{}", context());
        assert!(entry.keys.len() <= 1, "{}", context());
        assert!(
            entry.calls <= u64::from(record.progress().attempts),
            "{}",
            context()
        );
    }
}

/// The sandbox counts for itself, in the store that the kills went through.
fn check_sandbox<'a>(world: &World, asks: impl Iterator<Item = &'a Ask>) {
    let asks: Vec<Ask> = asks.cloned().collect();
    in_parallel(&asks, |ask| {
        let path = format!("/payment-sandbox/charges?reference={}", ask.key);
        let charges = world.client().get(&path).json()["charges"].clone();
        let is_declined = ask.body.contains("40200");
        assert_eq!(charges, u64::from(!is_declined), "{ask:?}");
    });
}

/// Each event has one id, one body and one effect, and a signature of its own for each time.
fn check_deliveries(world: &World, orders: usize) {
    let arrivals = world.receiver.arrivals();
    assert_eq!(arrivals.len(), orders, "one event for each order");
    for (id, arrivals) in arrivals {
        let first = &arrivals[0];
        let applied = arrivals.iter().filter_map(|arrival| arrival.said.as_ref());
        let applied = applied.filter(|(_, body)| body.contains("applied")).count();
        assert!(applied <= 1, "{id}: {arrivals:?}");
        for arrival in &arrivals {
            assert_eq!(arrival.body, first.body, "{id}");
            let is_first_s = arrival.signature == first.signature;
            assert_eq!(
                is_first_s,
                arrival.timestamp == first.timestamp,
                "{id}: {arrivals:?}"
            );
        }
    }
}

fn in_parallel(asks: &[Ask], act: impl Fn(&Ask) + Sync) {
    let next = Mutex::new(asks.iter());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let ask = next.lock().expect("nobody panics with it").next();
                    let Some(ask) = ask else { break };
                    act(ask);
                }
            });
        }
    });
}
