//! Structured mode: the whole event as one JSON document, which is the body.
//!
//! Data that is JSON stands in the document as it is; any other is base64. In what others send, data that is not
//! JSON may also be a JSON string.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::CONTENT_TYPE;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::cloudevent::{
    CloudEvent, EventError, EventParts, SPEC_VERSION, is_json, is_traceparent,
};
use super::message::{BindingError, Message};
use super::rfc3339;

/// The media type of an event in JSON.
pub(super) const MEDIA_TYPE: &str = "application/cloudevents+json";

/// The document. Members that are not named here are extensions, which are dropped; `null` stands for "not there".
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Document<'a> {
    specversion: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    source: Option<Cow<'a, str>>,
    r#type: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    datacontenttype: Option<Cow<'a, str>>,
    // An extension may be of any type, and a broken trace says nothing about the event itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<serde_json::Value>,
    // `null` is data too: the member counts as there whatever its value is.
    #[serde(
        borrow,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<Cow<'a, str>>,
}

pub(super) fn build(event: &CloudEvent) -> Message {
    let parts = event.parts();
    let json = parts.data.as_deref().filter(|_| event.has_json());
    let other = parts.data.as_deref().filter(|_| !event.has_json());
    let document = Document {
        specversion: Some(SPEC_VERSION.into()),
        id: Some((&*parts.id).into()),
        source: Some((&*parts.source).into()),
        r#type: Some((&*parts.kind).into()),
        subject: parts.subject.as_deref().map(Into::into),
        time: parts.time.map(|time| rfc3339::format(time).into()),
        datacontenttype: parts.datacontenttype.as_deref().map(Into::into),
        traceparent: parts.traceparent.clone().map(Into::into),
        data: json.map(|json| {
            serde_json::from_slice(json).expect("JSON data was read when the event was made")
        }),
        data_base64: other.map(|bytes| STANDARD.encode(bytes).into()),
    };
    Message {
        headers: vec![(CONTENT_TYPE, MEDIA_TYPE.to_owned())],
        body: serde_json::to_vec(&document).expect("a document has no map keys that JSON lacks"),
    }
}

pub(super) fn parse(body: &[u8]) -> Result<CloudEvent, BindingError> {
    // The deserialiser would also take an array, as the members in their order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(BindingError::Body {
            problem: "it is not a JSON object".to_owned(),
        });
    }
    let document: Document<'_> = serde_json::from_slice(body).map_err(problem)?;
    if document.specversion.as_deref() != Some(SPEC_VERSION) {
        return Err(BindingError::Version);
    }
    let time = match &document.time {
        Some(time) => Some(rfc3339::parse(time).ok_or(EventError::Malformed("time"))?),
        None => None,
    };
    let traceparent = document.traceparent.as_ref();
    let traceparent = traceparent.and_then(serde_json::Value::as_str);
    let traceparent = traceparent.filter(|text| is_traceparent(text));
    let text = |text: Option<Cow<'_, str>>| text.unwrap_or_default().into_owned();
    let traceparent = traceparent.map(str::to_owned);
    let data = data(&document)?;
    Ok(CloudEvent::new(EventParts {
        id: text(document.id),
        source: text(document.source),
        kind: text(document.r#type),
        subject: document.subject.map(Cow::into_owned),
        time,
        datacontenttype: document.datacontenttype.map(Cow::into_owned),
        traceparent,
        data,
    })?)
}

/// The data as bytes. JSON keeps its spelling.
fn data(document: &Document<'_>) -> Result<Option<Vec<u8>>, BindingError> {
    let is_json = is_json(document.datacontenttype.as_deref());
    match (document.data, document.data_base64.as_deref()) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(BindingError::Body {
            problem: "it has both data and data_base64".to_owned(),
        }),
        (None, Some(base64)) => match STANDARD.decode(base64) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(BindingError::Body {
                problem: format!("data_base64: {error}"),
            }),
        },
        (Some(json), None) if !is_json && json.get().starts_with('"') => {
            let text: String = serde_json::from_str(json.get()).map_err(problem)?;
            Ok(Some(text.into_bytes()))
        }
        (Some(json), None) => Ok(Some(json.get().as_bytes().to_vec())),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature that map_err takes"
)]
fn problem(error: serde_json::Error) -> BindingError {
    BindingError::Body {
        problem: error.to_string(),
    }
}

fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
