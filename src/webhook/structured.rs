//! Structured mode: the whole event as one JSON document, which is the body.
//!
//! Data that is JSON stands in the document as it is; any other is base64. In what others send, data that is not
//! JSON may also be a JSON string.

use base64ct::{Base64, Encoding as _};
use http::header::CONTENT_TYPE;

use super::cloudevent::{
    CloudEvent, EventError, EventParts, SPEC_VERSION, is_json, is_traceparent,
};
use super::message::{BindingError, Message};
use super::rfc3339;
use crate::json::raw::{self, Object};

/// The media type of an event in JSON.
pub(super) const MEDIA_TYPE: &str = "application/cloudevents+json";

pub(super) fn build(event: &CloudEvent) -> Message {
    let parts = event.parts();
    let mut document = Object::default();
    document.add("specversion", &SPEC_VERSION);
    document.add("id", &parts.id);
    document.add("source", &parts.source);
    document.add("type", &parts.kind);
    let time = parts.time.map(rfc3339::format);
    for (name, text) in [
        ("subject", &parts.subject),
        ("time", &time),
        ("datacontenttype", &parts.datacontenttype),
        ("traceparent", &parts.traceparent),
    ] {
        if let Some(text) = text {
            document.add(name, text);
        }
    }
    match &parts.data {
        Some(json) if event.has_json() => document.add_raw("data", json.trim_ascii()),
        Some(bytes) => document.add("data_base64", &Base64::encode_string(bytes)),
        None => {}
    }
    Message {
        headers: vec![(CONTENT_TYPE, MEDIA_TYPE.to_owned())],
        body: document.end(),
    }
}

/// Reads the document. Members that are not named here are extensions, which are dropped; `null` stands for "not there".
pub(super) fn parse(body: &[u8]) -> Result<CloudEvent, BindingError> {
    let mut members = raw::members(body).map_err(problem)?;
    if take_text(&mut members, "specversion")?.as_deref() != Some(SPEC_VERSION) {
        return Err(BindingError::Version);
    }
    let time = match take_text(&mut members, "time")? {
        Some(time) => Some(rfc3339::parse(&time).ok_or(EventError::Malformed("time"))?),
        None => None,
    };
    // An extension may be of any type, and a broken trace says nothing about the event itself.
    let traceparent = take(&mut members, "traceparent")?.and_then(|json| raw::text_of(json).ok());
    let datacontenttype = take_text(&mut members, "datacontenttype")?;
    let is_json = is_json(datacontenttype.as_deref());
    // `null` is data too: the member counts as there whatever its value is.
    let data = take(&mut members, "data")?;
    let data = data_of(is_json, data, take_text(&mut members, "data_base64")?)?;
    Ok(CloudEvent::new(EventParts {
        id: take_text(&mut members, "id")?.unwrap_or_default(),
        source: take_text(&mut members, "source")?.unwrap_or_default(),
        kind: take_text(&mut members, "type")?.unwrap_or_default(),
        subject: take_text(&mut members, "subject")?,
        time,
        datacontenttype,
        traceparent: traceparent.filter(|text| is_traceparent(text)),
        data,
    })?)
}

/// The member of this name as it is written, if there is one.
fn take<'a>(
    members: &mut Vec<(String, &'a str)>,
    name: &str,
) -> Result<Option<&'a str>, BindingError> {
    let Some(index) = members.iter().position(|(member, _)| member == name) else {
        return Ok(None);
    };
    let (_, json) = members.remove(index);
    if members.iter().any(|(member, _)| member == name) {
        return Err(problem(format!("the member {name} comes twice")));
    }
    Ok(Some(json))
}

/// The member of this name, which is a string or `null`, if there is one.
fn take_text(
    members: &mut Vec<(String, &str)>,
    name: &str,
) -> Result<Option<String>, BindingError> {
    match take(members, name)? {
        None | Some("null") => Ok(None),
        Some(json) => raw::text_of(json)
            .map(Some)
            .map_err(|error| problem(format!("{name}: {error}"))),
    }
}

/// The data as bytes. JSON keeps its spelling.
fn data_of(
    is_json: bool,
    data: Option<&str>,
    data_base64: Option<String>,
) -> Result<Option<Vec<u8>>, BindingError> {
    match (data, data_base64) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(problem("it has both data and data_base64".to_owned())),
        (None, Some(base64)) => match Base64::decode_vec(&base64) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(problem(format!("data_base64: {error}"))),
        },
        (Some(json), None) if !is_json && json.starts_with('"') => {
            let text = raw::text_of(json).map_err(problem)?;
            Ok(Some(text.into_bytes()))
        }
        (Some(json), None) => Ok(Some(json.as_bytes().to_vec())),
    }
}

const fn problem(problem: String) -> BindingError {
    BindingError::Body { problem }
}
