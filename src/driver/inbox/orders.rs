//! The read model: how many orders there were of each product, and of which quantity.

use crate::sorted::Sorted;

use serde::Serialize;

use super::error::Rejection;
use crate::json::raw;
use crate::webhook::CloudEvent;

/// The type of the events that count. All others are acknowledged, and mean nothing here.
pub const ORDER_CREATED: &str = "order.created";

/// What was ordered of one product. Both numbers stop at their largest value, where they are wrong and say so by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// How many orders there were.
    pub orders: u64,
    /// The sum of their quantities.
    pub quantity: u64,
}

impl Totals {
    /// Both sums.
    #[must_use]
    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            orders: self.orders.saturating_add(other.orders),
            quantity: self.quantity.saturating_add(other.quantity),
        }
    }
}

/// The read model as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Projection {
    /// By product id.
    pub products: Sorted<u64, Totals>,
}

impl Projection {
    pub(super) fn add(&mut self, products: &Sorted<u64, Totals>) {
        for (product_id, totals) in products.iter() {
            let sum = self
                .products
                .get_or_insert_with(*product_id, Totals::default);
            *sum = sum.plus(*totals);
        }
    }
}

/// What the model takes from an event. Members that are not named here are the sender's own business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) product_id: u64,
    pub(super) quantity: u64,
}

impl Order {
    /// The order of an event; `None` when the event is of another type.
    pub(super) fn of(event: &CloudEvent) -> Result<Option<Self>, Rejection> {
        let malformed = |problem: &str| Rejection::Malformed {
            problem: problem.to_owned(),
        };
        if event.parts().kind != ORDER_CREATED {
            return Ok(None);
        }
        let data = event.parts().data.as_deref();
        let data = data.ok_or_else(|| malformed("it has no data"))?;
        if !event.has_json() || data.trim_ascii_start().first() != Some(&b'{') {
            return Err(malformed("its data is not a JSON object"));
        }
        let members = raw::members(data).map_err(|problem| malformed(&problem))?;
        let number = |name: &str| {
            let mut found = members.iter().filter(|(member, _)| member == name);
            let problem = match (found.next(), found.next()) {
                (Some((_, value)), None) => match value.parse() {
                    Ok(number) => return Ok(number),
                    Err(_) => "not a whole number",
                },
                (Some(_), Some(_)) => "there twice",
                (None, _) => "missing",
            };
            Err(malformed(&format!("{name}: {problem}")))
        };
        Ok(Some(Self {
            product_id: number("product_id")?,
            quantity: number("quantity")?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Projection, Rejection, Sorted, Totals};
    use crate::webhook::{CloudEvent, EventParts};

    fn read(
        kind: &str,
        media_type: Option<&str>,
        data: Option<&str>,
    ) -> Result<Option<Order>, Rejection> {
        let event = CloudEvent::new(EventParts {
            id: "1".to_owned(),
            source: "/orders".to_owned(),
            kind: kind.to_owned(),
            datacontenttype: media_type.map(str::to_owned),
            data: data.map(|data| data.as_bytes().to_vec()),
            ..EventParts::default()
        });
        Order::of(&event.expect("a sound event"))
    }

    #[test]
    fn an_order_is_read_from_its_data() {
        let largest = u64::MAX;
        let table = [
            (r#"{"product_id":42,"quantity":1}"#.to_owned(), (42, 1)),
            (
                r#" {"quantity":0,"order_id":"x","product_id":0}"#.to_owned(),
                (0, 0),
            ),
            (
                format!(r#"{{"product_id":{largest},"quantity":{largest}}}"#),
                (largest, largest),
            ),
        ];
        for (data, (product_id, quantity)) in table {
            let order = Order {
                product_id,
                quantity,
            };
            assert_eq!(
                read("order.created", None, Some(&data)),
                Ok(Some(order)),
                "{data}"
            );
        }
    }

    #[test]
    fn other_types_mean_nothing_whatever_their_data_is() {
        for kind in ["order.cancelled", "order.created.v2", "Order.Created"] {
            assert_eq!(read(kind, None, Some("7")), Ok(None), "{kind}");
            assert_eq!(read(kind, None, None), Ok(None), "{kind}");
        }
    }

    #[test]
    fn what_is_not_an_order_is_refused() {
        let json = Some("application/json");
        let table = [
            (json, None),
            (json, Some("null")),
            (json, Some("[42,1]")),
            (json, Some("{}")),
            (json, Some(r#"{"product_id":42}"#)),
            (json, Some(r#"{"product_id":42,"quantity":-1}"#)),
            (json, Some(r#"{"product_id":42,"quantity":1.5}"#)),
            (json, Some(r#"{"product_id":42,"quantity":"1"}"#)),
            (
                json,
                Some(r#"{"product_id":42,"quantity":18446744073709551616}"#),
            ),
            (
                json,
                Some(r#"{"product_id":42,"product_id":43,"quantity":1}"#),
            ),
            (
                Some("text/plain"),
                Some(r#"{"product_id":42,"quantity":1}"#),
            ),
        ];
        for (media_type, data) in table {
            let order = read("order.created", media_type, data);
            assert!(
                matches!(order, Err(Rejection::Malformed { .. })),
                "{data:?}: {order:?}"
            );
        }
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let totals = |orders, quantity| Totals { orders, quantity };
        let sum = totals(u64::MAX, u64::MAX - 1).plus(totals(1, 2));
        assert_eq!(sum, totals(u64::MAX, u64::MAX));
        let mut projection = Projection::default();
        for _ in 0..2 {
            projection.add(&Sorted::from_iter([(1, totals(1, 2)), (3, totals(4, 5))]));
        }
        let expected = Sorted::from_iter([(1, totals(2, 4)), (3, totals(8, 10))]);
        assert_eq!(projection.products, expected);
        let json = serde_json::to_string(&projection).expect("a projection has a JSON form");
        assert_eq!(
            json,
            r#"{"products":{"1":{"orders":2,"quantity":4},"3":{"orders":8,"quantity":10}}}"#
        );
    }
}
