//! Binary mode: attributes as `ce-…` headers, data as the body, its media type as `content-type`.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};

use super::attribute;
use super::cloudevent::{CloudEvent, EventError, EventParts, SPEC_VERSION, is_traceparent};
use super::message::{BindingError, Message, one};
use super::rfc3339;

const SPEC_VERSION_HEADER: HeaderName = HeaderName::from_static("ce-specversion");
const ID: HeaderName = HeaderName::from_static("ce-id");
const SOURCE: HeaderName = HeaderName::from_static("ce-source");
const TYPE: HeaderName = HeaderName::from_static("ce-type");
const SUBJECT: HeaderName = HeaderName::from_static("ce-subject");
const TIME: HeaderName = HeaderName::from_static("ce-time");
const TRACEPARENT: HeaderName = HeaderName::from_static("ce-traceparent");

pub(super) fn build(event: &CloudEvent) -> Message {
    let parts = event.parts();
    let time = parts.time.map(rfc3339::format);
    let attributes = [
        (SPEC_VERSION_HEADER, Some(SPEC_VERSION)),
        (ID, Some(&*parts.id)),
        (SOURCE, Some(&*parts.source)),
        (TYPE, Some(&*parts.kind)),
        (SUBJECT, parts.subject.as_deref()),
        (TIME, time.as_deref()),
        (TRACEPARENT, parts.traceparent.as_deref()),
    ];
    let attributes = attributes
        .into_iter()
        .filter_map(|(name, value)| Some((name, attribute::encode(value?))));
    // A media type is a header's value already, and is not encoded.
    let media_type = parts.datacontenttype.clone();
    let media_type = media_type.map(|media_type| (CONTENT_TYPE, media_type));
    Message {
        headers: media_type.into_iter().chain(attributes).collect(),
        body: parts.data.clone().unwrap_or_default(),
    }
}

pub(super) fn parse(headers: &HeaderMap, body: &[u8]) -> Result<CloudEvent, BindingError> {
    if text(headers, &SPEC_VERSION_HEADER)?.as_deref() != Some(SPEC_VERSION) {
        return Err(BindingError::Version);
    }
    let time = match text(headers, &TIME)? {
        Some(time) => Some(rfc3339::parse(&time).ok_or(EventError::Malformed("time"))?),
        None => None,
    };
    let datacontenttype = match one(headers, &CONTENT_TYPE)? {
        Some(value) => Some(
            String::from_utf8(value.to_vec())
                .map_err(|_| EventError::Malformed("datacontenttype"))?,
        ),
        None => None,
    };
    // A broken trace says nothing about the event itself.
    let traceparent = text(headers, &TRACEPARENT).unwrap_or_default();
    Ok(CloudEvent::new(EventParts {
        id: text(headers, &ID)?.unwrap_or_default(),
        source: text(headers, &SOURCE)?.unwrap_or_default(),
        kind: text(headers, &TYPE)?.unwrap_or_default(),
        subject: text(headers, &SUBJECT)?,
        time,
        datacontenttype,
        traceparent: traceparent.filter(|text| is_traceparent(text)),
        data: (!body.is_empty()).then(|| body.to_vec()),
    })?)
}

/// An attribute's value.
fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, BindingError> {
    let Some(value) = one(headers, name)? else {
        return Ok(None);
    };
    match attribute::decode(value) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(BindingError::Header(name.clone(), error)),
    }
}
