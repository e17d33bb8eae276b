//! The operations that we do ourselves: their input is checked before it is taken, and their result is made of it.

use super::record_view::location;
use crate::config::Handler;
use crate::content::Content;
use crate::content::json::Json;
use crate::handler::analyze;
use crate::handler::order::Order;
use crate::machine::{Blob, Headers, Input, OperationResult, Record, ResultBody};
use crate::webhook::rfc_3339;
use http::StatusCode;
use http::header::{CONTENT_TYPE, LOCATION};
use serde::Serialize;
use uuid::Uuid;

/// The result of an order: the order as it was taken.
#[derive(Serialize)]
struct TakenOrder {
    id: Uuid,
    product_id: u64,
    quantity: u64,
    created_at: String,
}

/// Checks the body of a request. The error says what is wrong, for the client.
pub(super) fn check(handler: &Handler, content: &Content<'_>) -> Result<(), String> {
    match handler {
        Handler::Analyze => {
            analyze::trimmed(task(content)?).map_err(|_| "the text is blank".to_owned())?;
            Ok(())
        }
        Handler::Order { quantity_max } => Order::read(content, *quantity_max).map(|_| ()),
        Handler::Forward(_) => Ok(()),
    }
}

/// The analysis of a record's text.
pub(super) fn analyze(record: &Record) -> Result<OperationResult, String> {
    let content = Content::new(record.origin().input.body().as_bytes());
    let analysis = analyze::analyze(task(&content)?).map_err(|_| "the text is blank".to_owned())?;
    Ok(created(record, &analysis))
}

/// A record's order, taken.
pub(super) fn order(record: &Record, quantity_max: u64) -> Result<OperationResult, String> {
    let content = Content::new(record.origin().input.body().as_bytes());
    let Order {
        product_id,
        quantity,
    } = Order::read(&content, quantity_max)?;
    let order = TakenOrder {
        id: record.identity().id,
        product_id,
        quantity,
        created_at: rfc_3339(record.origin().created_at).ok_or("its time is none")?,
    };
    Ok(created(record, &order))
}

/// The body of a result that was kept.
pub(super) const fn body(result: &OperationResult) -> Option<&Blob> {
    match &result.body {
        ResultBody::Kept(body) => Some(body),
        ResultBody::TooLarge { .. } => None,
    }
}

fn created(record: &Record, result: &impl Serialize) -> OperationResult {
    let mut body = serde_json::to_vec(result).expect("our own results have a JSON form");
    body.push(b'\n');
    let line = |name: http::HeaderName, value: String| (name.as_str().to_owned(), value);
    let headers = vec![
        line(CONTENT_TYPE, "application/json".to_owned()),
        line(LOCATION, location(record)),
    ];
    OperationResult {
        status: StatusCode::CREATED.as_u16(),
        headers: Headers::new(headers).expect("two short lines are within the limits"),
        body: ResultBody::Kept(Blob::new(body)),
    }
}

/// The text to be analysed, which the body of a request for it has as its one member.
fn task<'a>(content: &'a Content<'_>) -> Result<&'a str, String> {
    let task = content.json().map_err(|error| error.problem.clone())?;
    match task.members(["text"])? {
        [Json::Text(text)] => Ok(text),
        [_] => Err("text is not a string".to_owned()),
    }
}

/// The path under which a record's input came, without its query.
pub(super) fn path_of(input: &Input) -> &str {
    let target = input.target();
    target.split_once('?').map_or(target, |(path, _)| path)
}
