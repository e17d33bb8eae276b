//! The control: the protocol that everybody writes first must be caught, or the explorer proves nothing.

use crate::explorer::{End, Scenario, Task, Told, explore};
use crate::model::{Client, Model, Rules};
use reprise::driver::kv::Kv;
use reprise::driver::store::StoreError;
use uuid::Uuid;

const KEY: &str = "key";

/// Reads the key, and when it is absent swaps the own id in. Whoever's swap succeeds believes to have created.
fn naive(client: Client) -> Task {
    Box::pin(async move {
        let own = Uuid::from_u128(client.id as u128 + 1);
        let claim = async {
            let cas = client.cas(KEY).await?;
            let there = client.current(&cas).await?;
            if let Some(id) = there.and_then(|bytes| Uuid::from_slice(&bytes).ok()) {
                return Ok(Told::Exists(id));
            }
            Ok::<_, StoreError>(match client.swap(cas, own.as_bytes()).await {
                Ok(()) => Told::Created(own),
                Err(_) => match client
                    .get(KEY)
                    .await?
                    .and_then(|bytes| Uuid::from_slice(&bytes).ok())
                {
                    Some(id) => Told::Exists(id),
                    None => Told::Gone,
                },
            })
        };
        claim.await.unwrap_or_else(Told::Failed)
    })
}

fn one_created(end: &End) -> Result<(), String> {
    let created = end
        .told
        .iter()
        .flatten()
        .filter(|told| matches!(told, Told::Created(_)))
        .count();
    if created <= 1 {
        Ok(())
    } else {
        Err(format!("{created} clients created"))
    }
}

fn explore_naive(rules: Rules) -> Option<String> {
    let start = Model::new(rules, 2);
    let clients: &[&dyn Fn(Client) -> Task] = &[&naive, &naive];
    let scenario = Scenario {
        name: "naive",
        start,
        clients,
        crashes: 0,
        faults: 0,
        check: &one_created,
    };
    explore(&scenario).violation
}

#[test]
fn the_naive_protocol_is_caught_on_sqlite() {
    let violation = explore_naive(Rules::Sqlite).expect("S1 lets both claimants win");
    assert!(violation.starts_with("2 clients created"), "{violation}");
}

#[test]
fn the_naive_protocol_is_right_on_a_store_that_keeps_its_promise() {
    assert_eq!(explore_naive(Rules::Plain), None);
}
