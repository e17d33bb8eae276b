//! Chains that are too long, and chains that are broken: refused in time, and never a trap for others.

use crate::clients::{NOW_MS, creator, laid_out, with_record};
use crate::explorer::Told;
use crate::model::{Client, Model, Rules, World, run};
use reprise::driver::store::{Buckets, Layout, PurgeLimits, Purged, Store, StoreError, limits};
use std::fmt::Write as _;

/// A store whose one bucket has a chain of so many records, all of which expire at this time. They are copies of a
/// record that was created, each under a key of its own.
fn chain(length: u64, expires_at_ms: u64) -> (Model, Layout) {
    let (model, layout) = laid_out(Rules::Sqlite, 1, 0);
    let (mut model, _) = with_record(&model, layout, 0, expires_at_ms);
    let (_, bytes) = model.data.pop_first().expect("the record is the first key");
    // A node's pointer is its number, and so is the link to it.
    let mut next = 0_u64;
    for number in 1..=length {
        let mut bytes = bytes.clone();
        bytes[8..16].copy_from_slice(&next.to_le_bytes());
        bytes[64..72].copy_from_slice(&number.to_be_bytes());
        bytes[72..80].copy_from_slice(&number.to_be_bytes());
        let mut key = "n/".to_owned();
        write!(key, "{number:016x}").expect("a string takes all");
        model.data.insert(key, bytes);
        next = number;
    }
    model
        .data
        .insert("w/b/00000".to_owned(), length.to_le_bytes().to_vec());
    (model, layout)
}

fn create(model: &Model, layout: Layout) -> Told {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    run(creator(layout, 7)(client))
}

fn purge(model: &Model, layout: Layout) -> (Result<Purged, StoreError>, Model) {
    let client = Client {
        world: World::direct(model.clone()),
        id: 0,
    };
    let limits = PurgeLimits {
        nodes: usize::MAX,
        grace_ms: 0,
    };
    let buckets = Buckets { first: 0, count: 1 };
    let purged = run(Store::with_layout(client.clone(), layout).purge(buckets, limits, NOW_MS));
    let model = client.world.borrow().model.clone();
    (purged, model)
}

#[test]
fn no_creation_makes_a_chain_that_nobody_can_read() {
    let longest = limits::MAX_CHAIN_TO_CREATE as u64;
    let (model, layout) = chain(longest - 1, NOW_MS + 1);
    assert!(matches!(create(&model, layout), Told::Created(_)));
    let (model, layout) = chain(longest, NOW_MS + 1);
    assert_eq!(create(&model, layout), Told::Failed(StoreError::Crowded));
}

#[test]
fn a_chain_that_nobody_can_read_is_purged_once_it_has_expired() {
    let length = limits::MAX_CHAIN as u64 + 10;
    let (model, layout) = chain(length, NOW_MS);
    assert!(matches!(
        create(&model, layout),
        Told::Failed(StoreError::Corrupt { .. })
    ));
    let (purged, model) = purge(&model, layout);
    assert_eq!(
        purged.map(|purged| purged.deleted),
        Ok(limits::MAX_CHAIN + 10)
    );
    assert!(matches!(create(&model, layout), Told::Created(_)));
}

#[test]
fn a_lost_node_is_told_from_contention_and_stops_nobody_else() {
    let (mut model, layout) = chain(3, NOW_MS + 1);
    model.data.remove("n/0000000000000002");
    let told = create(&model, layout);
    let Told::Failed(StoreError::Corrupt { key, .. }) = told else {
        panic!("{told:?}")
    };
    assert_eq!(key, "n/0000000000000002");
    let (purged, _) = purge(&model, layout);
    let failed = Purged {
        buckets: 1,
        failed: 1,
        ..Purged::default()
    };
    assert_eq!(purged, Ok(failed), "the purge goes on with the next bucket");
}
