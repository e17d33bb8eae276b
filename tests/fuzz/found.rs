//! What fuzzing has found, each with the value that is right.

use http::{HeaderMap, HeaderValue};
use reprise::config::{Draft, Route};
use reprise::driver::entropy::Entropy;
use reprise::driver::store::{
    Buckets, Change, Identity, NEVER, NewRecord, PageLimits, Place, PurgeLimits, Store, StoreError,
    Walk,
};
use reprise::driver::walk;
use reprise::machine::Timestamp;
use reprise::shell::trace;
use uuid::Uuid;

use crate::model::{Client, Model, Rules, World, run};

const NOW_MS: u64 = 1_800_000_000_000;
/// Where a node has its link to the next one, and its revision.
const LINK_AT: usize = 8;
const REVISION_AT: usize = 16;

/// A store with one bucket that holds so many records, and the ids of these, the newest first.
fn store(records: u8) -> (Store<Client>, Client, Vec<Uuid>) {
    let world = World::direct(Model::new(Rules::Sqlite, 1));
    let client = Client { world, id: 0 };
    let mut entropy = Entropy::from_seed([1; 32]);
    let store = run(Store::open(client.clone(), 0, &mut entropy)).expect("a new store");
    let mut ids = Vec::new();
    for number in 0..records {
        let id = entropy.next_uuid(NOW_MS);
        let new = NewRecord {
            id,
            identity: Identity::from([number; 32]),
            expires_at_ms: NEVER,
            payload: vec![number],
        };
        run(store.create(&new, NOW_MS, &mut entropy)).expect("it is created");
        ids.insert(0, id);
    }
    (store, client, ids)
}

fn node_key(id: Uuid) -> String {
    let (_, low) = id.as_u64_pair();
    format!("n/{:016x}", low & ((1 << 62) - 1))
}

/// Writes a number into a stored node.
fn write(client: &Client, id: Uuid, at: usize, number: u64) {
    let mut world = client.world.borrow_mut();
    let node = world.model.data.get_mut(&node_key(id)).expect("the node");
    node[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

fn link_to(id: Uuid) -> u64 {
    let (_, low) = id.as_u64_pair();
    low & ((1 << 62) - 1)
}

/// A purge read a chain that leads back into itself for a million steps, and pages of it had no end.
#[test]
fn a_chain_that_is_a_circle_ends_soon() {
    for (records, back_to) in [(1, 0), (2, 0), (3, 1), (20, 7), (40, 0)] {
        let (store, client, ids) = store(records);
        let last = *ids.last().expect("there is one");
        write(&client, last, LINK_AT, link_to(ids[back_to]));
        let all = Buckets { first: 0, count: 1 };
        let limits = PurgeLimits {
            nodes: 1_000,
            grace_ms: 0,
        };
        let mut visits = 0;
        let purged = run(store.purge_and_visit(all, limits, NOW_MS, &mut |_| visits += 1));
        assert_eq!(purged.expect("the store answers").failed, 1);
        assert!(visits <= 4 * usize::from(records), "{visits} of {records}");
        let pages = PageLimits {
            reads: 1_000,
            words: 1,
        };
        let page = run(store.page(Place::default(), pages, NOW_MS, &mut |_| Walk::On));
        let page = page.expect("the store answers");
        assert_eq!((page.next, page.failed), (None, 1));
        let found = run(store.find(&Identity::from([99; 32]), NOW_MS));
        assert!(
            matches!(found, Err(StoreError::Corrupt { .. })),
            "{found:?}"
        );
    }
}

/// A change added one to the largest revision there is.
#[test]
fn a_node_of_the_largest_revision_is_refused() {
    let (store, client, ids) = store(1);
    let node = run(store.load(ids[0], NOW_MS))
        .expect("the store answers")
        .expect("it is there");
    write(&client, ids[0], REVISION_AT, u64::MAX - 1);
    let before = run(store.load(ids[0], NOW_MS))
        .expect("the store answers")
        .expect("it is there");
    assert_eq!((node.revision(), before.revision()), (0, u64::MAX - 1));
    write(&client, ids[0], REVISION_AT, u64::MAX);
    let read = run(store.load(ids[0], NOW_MS));
    assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
    let change = Change {
        payload: Vec::new(),
        expires_at_ms: NEVER,
    };
    let mut entropy = Entropy::from_seed([2; 32]);
    let changed = run(store.update(&node, change, NOW_MS, &mut entropy));
    assert!(
        matches!(changed, Err(StoreError::Corrupt { .. })),
        "{changed:?}"
    );
}

/// Each name of a stored map made room for itself among all others: ten seconds for a value of a megabyte.
#[test]
fn stored_counts_that_are_out_of_order_are_forgotten() {
    let (store, client, _) = store(0);
    let now = Timestamp::from_unix_ms(NOW_MS);
    let mut entropy = Entropy::from_seed([3; 32]);
    let counts = |counts: &str| {
        format!(
            r#"{{"v":1,"next":0,"moved_at":1,"counted":0,"census":{{"operations":{{}},"dead_letters":{{}},"due_lag_ms":0,"relay_lag_ms":0}},"last":null,"counts":{counts}}}"#
        )
    };
    run(walk::stand(&store, now, &mut entropy)).expect("the store answers");
    let key = {
        let world = client.world.borrow();
        let mut keys = world.model.data.keys().filter(|key| key.starts_with("n/"));
        keys.next().expect("the document's node").clone()
    };
    let head = client.world.borrow().model.data[&key][..112].to_vec();
    for (stored, expected) in [
        (r#"{"a":1,"b":2}"#, vec![("a", 1), ("b", 2)]),
        (r#"{"b":2,"a":1}"#, vec![]),
        (r#"{"a":1,"a":1}"#, vec![]),
    ] {
        let value = [&head[..], counts(stored).as_bytes()].concat();
        client
            .world
            .borrow_mut()
            .model
            .data
            .insert(key.clone(), value);
        let walk = run(walk::stand(&store, now, &mut entropy))
            .expect("the store answers")
            .into_walk();
        assert_eq!(
            walk.counts().iter().collect::<Vec<_>>(),
            expected,
            "{stored}"
        );
    }
}

/// Sixty kilobytes of short entries took seconds: the length of all was added up anew for each one that was left out.
#[test]
fn a_trace_state_of_many_entries_is_cut_at_once() {
    let many = ",a".repeat(1_000_000);
    let mut headers = HeaderMap::new();
    headers.insert(
        "tracestate",
        HeaderValue::from_str(&many).expect("a header value"),
    );
    assert_eq!(trace::state_of(&headers), Some(["a"; 256].join(",")));
}

/// Dots that are encoded twice went to the upstream as a parameter's value.
#[test]
fn dots_are_no_parameter_however_often_they_are_encoded() {
    let route = Route::parse("/accounts/{account}/payments").expect("a route");
    for (account, is_value) in [
        ("%252e%252e", false),
        ("%25252e.", false),
        (".%25%32%65", false),
        ("a%252f..%255cb", false),
        ("%252541", true),
        ("100%25", true),
    ] {
        let path = format!("/accounts/{account}/payments");
        assert_eq!(route.find(&path).is_some(), is_value, "{path}");
    }
}

/// The error about two routes that match the same requests quoted one of them, and so the value of a variable.
#[test]
fn an_error_about_a_route_shows_no_variable() {
    let operation = |name: &str, more: &str| {
        format!("[[operations]]\nname = '{name}'\nroute = '/{{{{ hidden }}}}'\n{more}\n")
    };
    let analyze = "handler = 'analyze'";
    let text = operation("a", analyze) + &operation("b", analyze);
    let draft = Draft::parse(&text).expect("TOML");
    let error = draft
        .settle(|_| Some("secret".to_owned()))
        .expect_err("they overlap");
    assert_eq!(
        error.to_string(),
        "reprise.toml, line 7, operations.b.route: matches requests that operations.a matches too"
    );
}
