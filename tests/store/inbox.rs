//! The inbox in every interleaving: concurrent deliveries of the same events, with crashes and faults at every point, and
//! a redelivery of all of them afterwards. Whatever happened, each event counts once (scenarios 29 and 31).

use crate::clients::{NOW_MS, laid_out};
use crate::explorer::{End, Scenario, Task, Told, explore};
use crate::invariants::Snapshot;
use crate::model::{Client, Fault, Model, Rules, World, poll, run};
use reprise::driver::entropy::Entropy;
use reprise::driver::inbox::{
    Inbox, InboxError, InboxPolicy, Projection, Received, Rejection, Totals, limits,
};
use reprise::driver::store::{Layout, Store};
use reprise::machine::{Millis, Timestamp};
use reprise::webhook::{CloudEvent, EventParts};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

const ALL_RULES: [Rules; 4] = [Rules::Sqlite, Rules::Redis, Rules::Dynamo, Rules::Plain];
const NAME: &str = "orders";

/// A policy that settles each mark with the next event, so that histories of a few events reach everything.
const EAGER: InboxPolicy = InboxPolicy {
    retention: Millis::from_secs(7 * 24 * 60 * 60),
    recent_marks: 1,
};

/// An event of 3 pieces of product 42.
pub fn order(id: &str, time_ms: u64) -> CloudEvent {
    event(
        "order.created",
        id,
        Some(time_ms),
        r#"{"product_id":42,"quantity":3}"#,
    )
}

fn event(kind: &str, id: &str, time_ms: Option<u64>, data: &str) -> CloudEvent {
    CloudEvent::new(EventParts {
        id: id.to_owned(),
        source: "/orders".to_owned(),
        kind: kind.to_owned(),
        time: time_ms.map(Timestamp::from_unix_ms),
        data: Some(data.as_bytes().to_vec()),
        ..EventParts::default()
    })
    .expect("a sound event")
}

/// The projection of this many events.
pub fn projection_of(events: u64) -> Projection {
    let totals = Totals {
        orders: events,
        quantity: 3 * events,
    };
    let products = (events > 0).then_some((42, totals));
    Projection {
        products: products.into_iter().collect(),
    }
}

/// Randomness for a client that begins now. Ids must never come twice, so it depends on what there is already.
fn entropy(client: &Client) -> Entropy {
    let mut hash = DefaultHasher::new();
    client.world.borrow().model.data.hash(&mut hash);
    let mut seed = [u8::try_from(client.id).expect("few clients"); 32];
    seed[..8].copy_from_slice(&hash.finish().to_le_bytes());
    Entropy::from_seed(seed)
}

/// Delivers on a store that answers at once, and gives the store back.
fn deliver(
    model: &Model,
    layout: Layout,
    events: &[CloudEvent],
    now_ms: u64,
) -> (Model, Vec<Result<Received, InboxError>>, Projection) {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let store = Store::with_layout(client.clone(), layout);
    let inbox = Inbox {
        store: &store,
        name: NAME,
        policy: EAGER,
    };
    let mut entropy = entropy(&client);
    let now = Timestamp::from_unix_ms(now_ms);
    let told = events
        .iter()
        .map(|event| run(inbox.receive(event, now, &mut entropy)))
        .collect();
    let projection = run(inbox.projection()).expect("a direct world does not fail");
    let mut model = client.world.borrow().model.clone();
    model.drop_client(0);
    (model, told, projection)
}

/// A client that delivers these events, one after the other until one is not taken, and tells what the last one came to.
fn receiver(layout: Layout, events: &[CloudEvent]) -> impl Fn(Client) -> Task {
    let events = events.to_vec();
    move |client| {
        let events = events.clone();
        let mut entropy = entropy(&client);
        Box::pin(async move {
            let store = Store::with_layout(client, layout);
            let inbox = Inbox {
                store: &store,
                name: NAME,
                policy: EAGER,
            };
            let now = Timestamp::from_unix_ms(NOW_MS);
            let mut told = Ok(Received::Ignored);
            for event in &events {
                told = inbox.receive(event, now, &mut entropy).await;
                if told.is_err() {
                    break;
                }
            }
            Told::Received(told)
        })
    }
}

/// Ids of events that meet in one shard, `count` of them: of events in different shards none would disturb another.
fn ids_of_one_shard(count: usize) -> Vec<String> {
    let (model, layout) = laid_out(Rules::Plain, 1, 0);
    let first = order("e-0", NOW_MS);
    let (start, ..) = deliver(&model, layout, std::slice::from_ref(&first), NOW_MS);
    let shard = |model: &Model| {
        let shards = model.data.keys().filter(|key| key.starts_with("w/d/"));
        shards.cloned().collect::<Vec<_>>()
    };
    let ids = (0..).map(|number| format!("e-{number}"));
    ids.filter(|id| {
        let (end, ..) = deliver(&model, layout, &[order(id, NOW_MS)], NOW_MS);
        shard(&end) == shard(&start)
    })
    .take(count)
    .collect()
}

/// How many clients were told that their event was applied.
fn applied(end: &End) -> usize {
    let told = end.told.iter().flatten();
    told.filter(|told| **told == Told::Received(Ok(Received::Applied)))
        .count()
}

/// Holds an end against what was sent: `before` events were there, and `events` were sent.
fn check(end: &End, layout: Layout, before: u64, events: &[CloudEvent]) -> Result<(), String> {
    if end.model.broken {
        return Err("a value that is no word was incremented (S4)".to_owned());
    }
    let whole = end.crashes == 0 && end.faults == 0;
    // A document's node is in no bucket. Beyond that, a node that nobody reaches was lost with a crash or a fault.
    let documents = end.model.data.iter();
    let documents = documents.filter(|(key, word)| key.starts_with("w/d/") && **word != [0; 8]);
    let orphans = Snapshot::of(&end.model)?.orphans() - documents.count();
    if orphans > usize::from(end.crashes + end.faults) {
        return Err(format!("{orphans} nodes that nobody reaches"));
    }
    let (model, _, projection) = deliver(&end.model, layout, &[], NOW_MS);
    let counted = projection
        .products
        .get(&42)
        .map_or(0, |totals| totals.orders);
    // What was acknowledged is durable.
    if counted < before + applied(end) as u64 {
        return Err(format!("{} acknowledged, {counted} there", applied(end)));
    }
    for told in end.told.iter().flatten() {
        match told {
            Told::Received(Ok(Received::Applied | Received::Duplicate)) => {}
            Told::Received(Err(InboxError::Store(_) | InboxError::Contended)) if !whole => {}
            other => return Err(format!("a client was told {other:?}")),
        }
    }
    // The sender does not know that, and sends all again: twice, so that each mark is settled too.
    let (model, told, projection) = deliver(&model, layout, events, NOW_MS);
    if whole && told.iter().any(|told| *told != Ok(Received::Duplicate)) {
        return Err(format!("a redelivery was told {told:?}"));
    }
    let mut ids: Vec<&str> = events.iter().map(|event| &*event.parts().id).collect();
    ids.sort_unstable();
    ids.dedup();
    let expected = projection_of(before + ids.len() as u64);
    if projection != expected {
        return Err(format!("{projection:?} instead of {expected:?}"));
    }
    let (_, told, projection) = deliver(&model, layout, events, NOW_MS);
    if told.iter().any(|told| *told != Ok(Received::Duplicate)) || projection != expected {
        return Err(format!("the second redelivery: {told:?}, {projection:?}"));
    }
    Ok(())
}

fn cover(
    name: &str,
    budgets: &[(u8, u8)],
    start: &Model,
    clients: &[&dyn Fn(Client) -> Task],
    check: &dyn Fn(&End) -> Result<(), String>,
) {
    for (crashes, faults) in budgets {
        let report = explore(&Scenario {
            name,
            start: start.clone(),
            clients,
            crashes: *crashes,
            faults: *faults,
            check,
        });
        println!(
            "{:?}: {name}, {crashes} crash, {faults} fault: {} schedules, {} states",
            start.rules(),
            report.schedules,
            report.states
        );
        assert_eq!(report.violation, None, "{name} on {:?}", start.rules());
        assert!(report.schedules > 1, "{name} has one schedule only");
    }
}

#[test]
fn two_deliveries_of_one_event_into_a_new_inbox() {
    for rules in ALL_RULES {
        let (start, layout) = laid_out(rules, 2, 0);
        let event = order("e-0", NOW_MS);
        let receive = receiver(layout, std::slice::from_ref(&event));
        cover(
            "one event twice, new inbox",
            &[(1, 0), (0, 1), (1, 1)],
            &start,
            &[&receive, &receive],
            &|end| check(end, layout, 0, std::slice::from_ref(&event)),
        );
    }
}

#[test]
fn a_redelivery_meets_the_event_that_settles_its_mark() {
    let ids = ids_of_one_shard(2);
    for rules in ALL_RULES {
        let (start, layout) = laid_out(rules, 2, 0);
        let events = [order(&ids[0], NOW_MS), order(&ids[1], NOW_MS)];
        let (start, ..) = deliver(&start, layout, &events[..1], NOW_MS);
        let (old, new) = (
            receiver(layout, &events[..1]),
            receiver(layout, &events[1..]),
        );
        cover(
            "a redelivery and the next event",
            &[(1, 0), (0, 1), (1, 1)],
            &start,
            &[&old, &new],
            &|end| check(end, layout, 0, &events),
        );
    }
}

#[test]
fn a_slow_delivery_meets_one_whose_mark_is_settled_meanwhile() {
    // The one client is anywhere in its delivery while the other applies the same event and settles its mark.
    let ids = ids_of_one_shard(2);
    for rules in ALL_RULES {
        let (start, layout) = laid_out(rules, 2, 0);
        let events = [order(&ids[0], NOW_MS), order(&ids[1], NOW_MS)];
        let (start, ..) = deliver(&start, layout, &[], NOW_MS);
        let (slow, quick) = (receiver(layout, &events[..1]), receiver(layout, &events));
        cover(
            "an event twice and the next one",
            &[(1, 0), (0, 1), (1, 1)],
            &start,
            &[&slow, &quick],
            &|end| check(end, layout, 0, &events),
        );
    }
}

/// Reads and writes of a client on its own, and the store after it.
fn costs(start: &Model, layout: Layout, events: &[CloudEvent]) -> ((u32, u32), Model) {
    let world = World::stepped(start.clone());
    let mut task = receiver(layout, events)(Client {
        world: Rc::clone(&world),
        id: 0,
    });
    let (mut reads, mut writes) = (0, 0);
    while poll(&mut task).is_none() {
        let mut world = world.borrow_mut();
        let call = world.waiting[0].as_ref().expect("it waits for a call");
        *(if call.writes() {
            &mut writes
        } else {
            &mut reads
        }) += 1;
        world.step(0, Fault::None);
    }
    let mut model = world.borrow().model.clone();
    model.drop_client(0);
    ((reads, writes), model)
}

#[test]
fn each_event_costs_what_it_should() {
    let (start, layout) = laid_out(Rules::Sqlite, 1, 14);
    let ids = ids_of_one_shard(3);
    let events: Vec<_> = ids.iter().map(|id| order(id, NOW_MS)).collect();
    // The first event creates its shard, in three writes.
    let (cost, store) = costs(&start, layout, &events[..1]);
    assert_eq!(cost, (5, 4));
    // The second one settles the first, whose record is the first of its bucket: three writes and its own.
    let (cost, store) = costs(&store, layout, &events[1..2]);
    assert_eq!(cost, (7, 4));
    // A redelivery is known by its mark, or by its record behind that.
    assert_eq!(costs(&store, layout, &events[..1]).0, (4, 0));
    assert_eq!(costs(&store, layout, &events[1..2]).0, (2, 0));
    let patient = Inbox {
        store: &Store::with_layout(
            Client {
                world: World::direct(store.clone()),
                id: 0,
            },
            layout,
        ),
        name: NAME,
        policy: InboxPolicy::default(),
    };
    assert_eq!(run(patient.projection()), Ok(projection_of(2)));
}

#[test]
fn one_id_counts_once_whatever_comes_under_it() {
    let (start, layout) = laid_out(Rules::Sqlite, 1, 0);
    let other = event(
        "order.created",
        "e-0",
        Some(NOW_MS),
        r#"{"product_id":7,"quantity":9}"#,
    );
    let events = [order("e-0", NOW_MS), other];
    let (_, told, projection) = deliver(&start, layout, &events, NOW_MS);
    assert_eq!(told, [Ok(Received::Applied), Ok(Received::Duplicate)]);
    assert_eq!(projection, projection_of(1));
}

#[test]
fn what_means_nothing_or_cannot_be_read_leaves_nothing_behind() {
    let (start, layout) = laid_out(Rules::Sqlite, 1, 0);
    let good = r#"{"product_id":42,"quantity":3}"#;
    let events = [
        event("order.cancelled", "e-0", Some(NOW_MS), good),
        event("order.created", "e-0", None, good),
        event("order.created", "e-0", Some(NOW_MS), "{}"),
    ];
    let (end, told, projection) = deliver(&start, layout, &events, NOW_MS);
    assert_eq!(told[0], Ok(Received::Ignored));
    assert_eq!(told[1], Err(InboxError::Rejected(Rejection::NoTime)));
    assert!(matches!(
        told[2],
        Err(InboxError::Rejected(Rejection::Malformed { .. }))
    ));
    assert_eq!(
        (end.data, projection),
        (start.data.clone(), projection_of(0))
    );
    // The same id is still free for the event itself.
    let (_, told, _) = deliver(&start, layout, &[order("e-0", NOW_MS)], NOW_MS);
    assert_eq!(told, [Ok(Received::Applied)]);
}

#[test]
fn an_event_is_taken_as_long_as_its_id_is_remembered_and_refused_after() {
    let (start, layout) = laid_out(Rules::Sqlite, 1, 0);
    let retention = EAGER.retention.get();
    let margin = limits::CLOCK_MARGIN.get();
    let rejected = |rejection| Err(InboxError::Rejected(rejection));
    let table = [
        (NOW_MS - margin - 1, rejected(Rejection::TooNew)),
        (NOW_MS - margin, Ok(Received::Applied)),
        (NOW_MS + retention - margin - 1, Ok(Received::Applied)),
        (NOW_MS + retention - margin, rejected(Rejection::TooOld)),
        (u64::MAX, rejected(Rejection::TooOld)),
    ];
    for (now_ms, expected) in table {
        let (_, told, _) = deliver(&start, layout, &[order("e-0", NOW_MS)], now_ms);
        assert_eq!(told, [expected], "{now_ms}");
    }
    // Applied at the earliest time, its memory ends the earliest: it is refused by then, and known until then. The
    // second event has its mark replaced by its record.
    let ids = ids_of_one_shard(2);
    let events = [order(&ids[0], NOW_MS), order(&ids[1], NOW_MS)];
    let (end, ..) = deliver(&start, layout, &events, NOW_MS - margin);
    let last = NOW_MS - margin + retention;
    let table = [
        (last - 1, Ok(Received::Duplicate)),
        (last, rejected(Rejection::TooOld)),
    ];
    for (now_ms, expected) in table {
        let (_, told, projection) = deliver(&end, layout, &events[..1], now_ms);
        assert_eq!(
            (told, projection),
            (vec![expected], projection_of(2)),
            "{now_ms}"
        );
    }
}
