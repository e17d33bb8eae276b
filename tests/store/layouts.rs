//! Laying a store out, and refusing one that is not ours.

use crate::model::{Client, Model, Rules, World, run};
use reprise::driver::entropy::Entropy;
use reprise::driver::store::layout::Creation;
use reprise::driver::store::{Layout, LayoutError, Store, StoreError};

fn open(client: &Client, bucket_bits: u8, seed: u8) -> Result<Layout, StoreError> {
    let mut entropy = Entropy::from_seed([seed; 32]);
    run(Store::open(client.clone(), bucket_bits, &mut entropy)).map(|store| store.layout())
}

fn client_of(model: Model) -> Client {
    Client {
        world: World::direct(model),
        id: 0,
    }
}

#[test]
fn the_probe_finds_how_each_store_creates_words_and_cleans_up() {
    for (rules, creation) in [
        (Rules::Sqlite, Creation::Increment),
        (Rules::Plain, Creation::Increment),
        (Rules::Redis, Creation::Swap),
        (Rules::Dynamo, Creation::Swap),
    ] {
        let client = client_of(Model::new(rules, 1));
        let layout = open(&client, 9, 1).expect("each of these stores can be made exclusive");
        assert_eq!(layout.creation(), creation, "{rules:?}");
        assert_eq!(layout.buckets(), 512);
        let keys: Vec<String> = client.world.borrow().model.data.keys().cloned().collect();
        assert_eq!(keys, ["w/layout"], "{rules:?}: the scratch keys are gone");
    }
}

#[test]
fn the_layout_that_is_there_decides() {
    let client = client_of(Model::new(Rules::Sqlite, 1));
    let first = open(&client, 9, 1).expect("the store is new");
    assert_eq!(open(&client, 12, 2), Ok(first));
}

#[test]
fn a_store_that_is_never_exclusive_is_refused_and_stays_empty() {
    let client = client_of(Model::new(Rules::Careless, 1));
    assert_eq!(
        open(&client, 9, 1),
        Err(StoreError::Layout(LayoutError::NotExclusive))
    );
    assert!(client.world.borrow().model.data.is_empty());
}

#[test]
fn a_foreign_layout_is_refused_and_left_alone() {
    let cases: [(&[u8], LayoutError); 5] = [
        (b"RPRS\x02\x01\x0e\x00", LayoutError::Version { found: 2 }),
        (b"RPRS\x01\x07\x0e\x00", LayoutError::Foreign),
        (b"RPRS\x01\x01\xff\x00", LayoutError::Foreign),
        (b"somebody", LayoutError::Foreign),
        (b"some other program's document", LayoutError::Foreign),
    ];
    for (value, error) in cases {
        let mut model = Model::new(Rules::Sqlite, 1);
        model.data.insert("w/layout".to_owned(), value.to_vec());
        let client = client_of(model.clone());
        assert_eq!(
            open(&client, 9, 1),
            Err(StoreError::Layout(error)),
            "{value:?}"
        );
        assert_eq!(client.world.borrow().model.data, model.data);
    }
}

#[test]
fn the_layout_is_stored_as_documented() {
    for (rules, bytes) in [
        (Rules::Sqlite, b"RPRS\x01\x01\x09\x00"),
        (Rules::Redis, b"RPRS\x01\x02\x09\x00"),
    ] {
        let client = client_of(Model::new(rules, 1));
        open(&client, 9, 1).expect("the store is new");
        assert_eq!(client.world.borrow().model.data["w/layout"], bytes);
    }
}
