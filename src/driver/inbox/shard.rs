//! A shard: totals by product, and the marks of the events that were added last. Stored as JSON.

use serde::{Serialize, Serializer};

use super::error::InboxError;
use super::limits;
use super::orders::{Order, Totals};
use crate::driver::store::Identity;
use crate::json::cursor::{self, Misfit, Unread, from_object};
use crate::machine::{Digest, Timestamp};
use crate::sorted::Sorted;

const VERSION: u64 = 1;

/// The content of one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shard {
    products: Sorted<u64, Totals>,
    /// Oldest first.
    marks: Vec<Mark>,
}

/// The mark of an event whose effect is in the totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Mark {
    event: Digest,
    /// Until when the event is remembered, here or in its record.
    expires_at: Timestamp,
}

/// The stored form.
#[derive(Serialize)]
struct Stored<'a> {
    v: u64,
    #[serde(serialize_with = "pairs")]
    products: &'a Sorted<u64, Totals>,
    marks: &'a [Mark],
}

/// Totals are stored as pairs, for brevity: a shard is written again with each event.
fn pairs<S: Serializer>(products: &Sorted<u64, Totals>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        products
            .iter()
            .map(|(id, totals)| (id, (totals.orders, totals.quantity))),
    )
}

from_object!(Mark { event, expires_at });

impl Mark {
    pub(super) const fn new(identity: Identity, expires_at: Timestamp) -> Self {
        Self {
            event: Digest::new(*identity.as_bytes()),
            expires_at,
        }
    }

    pub(super) fn identity(&self) -> Identity {
        Identity::from(*self.event.as_bytes())
    }

    pub(super) const fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

impl Shard {
    pub(super) const fn products(&self) -> &Sorted<u64, Totals> {
        &self.products
    }

    pub(super) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    pub(super) fn has_mark(&self, identity: &Identity) -> bool {
        self.marks.iter().any(|mark| mark.identity() == *identity)
    }

    /// The shard with one more order, marked, and without the marks of the events that are settled.
    pub(super) fn after(
        &self,
        order: Order,
        mark: Mark,
        settled: &[Identity],
    ) -> Result<Self, InboxError> {
        let mut next = self.clone();
        let totals = next
            .products
            .get_or_insert_with(order.product_id, Totals::default);
        *totals = totals.plus(Totals {
            orders: 1,
            quantity: order.quantity,
        });
        next.marks
            .retain(|mark| !settled.contains(&mark.identity()));
        next.marks.push(mark);
        if next.products.len() > limits::PRODUCTS_PER_SHARD_MAX {
            return Err(InboxError::Full);
        }
        if next.marks.len() > limits::MARKS_MAX {
            // Those who come by meanwhile settle some.
            return Err(InboxError::Contended);
        }
        Ok(next)
    }

    /// The bytes to store.
    pub(super) fn encode(&self) -> Vec<u8> {
        let stored = Stored {
            v: VERSION,
            products: &self.products,
            marks: &self.marks,
        };
        serde_json::to_vec(&stored).expect("a shard has a JSON form")
    }

    /// Reads stored bytes, whatever they are.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, InboxError> {
        let read = cursor::versioned(bytes, VERSION..=VERSION, |members| {
            let stored: Sorted<u64, Vec<u64>> = members.take("products")?;
            let mut products = Sorted::new();
            for (id, pair) in stored {
                let [orders, quantity] = pair[..] else {
                    return Err(Misfit::new("not a pair of totals"));
                };
                products.insert(id, Totals { orders, quantity });
            }
            Ok(Self {
                products,
                marks: members.take("marks")?,
            })
        });
        read.map_err(|unread| {
            InboxError::Corrupt(match unread {
                Unread::OtherVersion(_) => "a shard is of another version",
                Unread::Malformed(_) => "a shard is not the JSON that this version writes",
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(id: &str) -> Mark {
        let identity = Identity::of_event("orders", "/orders", id);
        Mark::new(identity, Timestamp::from_unix_ms(7))
    }

    fn order(product_id: u64) -> Order {
        Order {
            product_id,
            quantity: 3,
        }
    }

    #[test]
    fn the_stored_form_is_this_one() {
        let shard = Shard::default().after(order(42), mark("e-1"), &[]);
        let shard = shard.expect("it has room");
        let event = Digest::new(*mark("e-1").identity().as_bytes());
        let expected = format!(
            r#"{{"v":1,"products":{{"42":[1,3]}},"marks":[{{"event":"{event}","expires_at":7}}]}}"#
        );
        assert_eq!(String::from_utf8_lossy(&shard.encode()), expected);
        assert_eq!(Shard::decode(expected.as_bytes()), Ok(shard));
        for bytes in [
            "",
            "{}",
            r#"{"v":2,"products":{},"marks":[]}"#,
            r#"{"v":1,"products":{},"marks":[],"more":1}"#,
            r#"{"v":1,"products":{"a":[1,1]},"marks":[]}"#,
            r#"{"v":1,"products":{},"marks":[{"event":"00","expires_at":7}]}"#,
        ] {
            let shard = Shard::decode(bytes.as_bytes());
            let Err(InboxError::Corrupt(why)) = shard else {
                panic!("{bytes} was read");
            };
            assert_eq!(why.contains("another version"), bytes.contains("\"v\":2"));
        }
    }

    #[test]
    fn an_event_is_added_marked_and_settled_ones_are_left_out() {
        let settled = [mark("e-1").identity()];
        let shard = Shard::default();
        let shard = shard.after(order(42), mark("e-1"), &[]).expect("room");
        let shard = shard.after(order(42), mark("e-2"), &[]).expect("room");
        let shard = shard.after(order(7), mark("e-3"), &settled).expect("room");
        assert_eq!(shard.marks(), [mark("e-2"), mark("e-3")]);
        assert!(!shard.has_mark(&mark("e-1").identity()));
        assert!(shard.has_mark(&mark("e-3").identity()));
        let totals = |orders, quantity| Totals { orders, quantity };
        assert_eq!(
            *shard.products(),
            Sorted::from_iter([(7, totals(1, 3)), (42, totals(2, 6))])
        );
    }

    #[test]
    fn the_largest_shard_fits_one_value() {
        let largest = u64::MAX;
        let products = (0..limits::PRODUCTS_PER_SHARD_MAX as u64).map(|at| {
            let orders = largest;
            (
                largest - at,
                Totals {
                    orders,
                    quantity: largest,
                },
            )
        });
        let shard = Shard {
            products: products.collect(),
            marks: vec![
                Mark {
                    expires_at: Timestamp::from_unix_ms(largest),
                    ..mark("")
                };
                limits::MARKS_MAX
            ],
        };
        let bytes = shard.encode().len();
        assert!(
            bytes < crate::driver::store::limits::MAX_VALUE_BYTES - 1_000,
            "{bytes} bytes"
        );
        let none: [Identity; 0] = [];
        assert_eq!(
            shard.after(order(1), mark("e-1"), &none),
            Err(InboxError::Full)
        );
        assert_eq!(
            shard.after(order(largest), mark("e-1"), &none),
            Err(InboxError::Contended)
        );
    }
}
