//! Orders: a product and a quantity.

use crate::content::Content;
use crate::content::json::Json;

/// The largest product id: the largest whole number that every reader of JSON carries exactly (RFC 7493).
pub const PRODUCT_ID_MAX: u64 = (1 << 53) - 1;

/// What is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The product, from 1.
    pub product_id: u64,
    /// How many of it, from 1.
    pub quantity: u64,
}

impl Order {
    /// Reads the JSON of an order. The error says what is wrong, for the client.
    pub fn read(content: &Content<'_>, quantity_max: u64) -> Result<Self, String> {
        let form = content.json().map_err(|error| error.problem.clone())?;
        let [product_id, quantity] = form.members(["product_id", "quantity"])?;
        Ok(Self {
            product_id: count("product_id", product_id, PRODUCT_ID_MAX)?,
            quantity: count("quantity", quantity, quantity_max)?,
        })
    }
}

/// A whole number from 1 to `max`, however it is spelled: JSON has one kind of number, so 2.0 is 2.
fn count(name: &str, number: &Json, max: u64) -> Result<u64, String> {
    whole(number)
        .filter(|count| (1..=max).contains(count))
        .ok_or_else(|| format!("{name} is not a whole number from 1 to {max}"))
}

fn whole(number: &Json) -> Option<u64> {
    let number = match number {
        Json::Whole(number) => return u64::try_from(*number).ok(),
        Json::Number(number) => *number,
        Json::Null | Json::Boolean(_) | Json::Text(_) | Json::List(_) | Json::Object(_) => {
            return None;
        }
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is looked at first, and within it a whole number is exact"
    )]
    (number.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&number))
        .then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_two_whole_numbers_in_their_ranges() {
        let table: &[(&str, Option<(u64, u64)>)] = &[
            (r#"{"product_id":42,"quantity":1}"#, Some((42, 1))),
            (
                r#"{"quantity":1000,"product_id":9007199254740991}"#,
                Some((PRODUCT_ID_MAX, 1_000)),
            ),
            (r#"{"product_id":42.0,"quantity":1e2}"#, Some((42, 100))),
            (r#"{"product_id":0,"quantity":1}"#, None),
            (r#"{"product_id":-1,"quantity":1}"#, None),
            (r#"{"product_id":1,"quantity":0}"#, None),
            (r#"{"product_id":1,"quantity":1001}"#, None),
            (r#"{"product_id":1.5,"quantity":1}"#, None),
            (r#"{"product_id":9007199254740992,"quantity":1}"#, None),
            (r#"{"product_id":1e300,"quantity":1}"#, None),
            (r#"{"product_id":"1","quantity":1}"#, None),
            (r#"{"product_id":1,"quantity":true}"#, None),
            (r#"{"product_id":1,"quantity":null}"#, None),
            (r#"{"product_id":1}"#, None),
            (r#"{"product_id":1,"quantity":1,"price":1}"#, None),
            (r#"{"product_id":1,"product_id":2,"quantity":1}"#, None),
            ("{}", None),
            ("", None),
        ];
        for (body, expected) in table {
            let order = Order::read(&Content::new(body.as_bytes()), 1_000);
            let order = order.ok().map(|order| (order.product_id, order.quantity));
            assert_eq!(order, *expected, "{body}");
        }
    }

    #[test]
    fn the_error_names_the_field_and_its_range() {
        let eleven = Content::new(br#"{"product_id":1,"quantity":11}"#);
        let error = Order::read(&eleven, 10).expect_err("too many");
        assert_eq!(error, "quantity is not a whole number from 1 to 10");
    }
}
