//! Names of headers, and what of headers may not be had.

use super::super::headers::{HOP_BY_HOP, NEVER_FORWARDED, NEVER_REPLAYED};
use super::super::{ConfigError, HeaderList};
use super::at::At;
use crate::machine::limits;
use http::header::{self, HeaderName};

/// The headers of a trace, which is passed on whatever the file says.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Request headers that are kept and forwarded unless the file says otherwise.
pub(super) const FORWARDED: [HeaderName; 3] = [
    header::CONTENT_TYPE,
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
];

/// Response headers that are kept and replayed unless the file says otherwise.
pub(super) const REPLAYED: [HeaderName; 6] = [
    header::CONTENT_TYPE,
    header::CONTENT_LANGUAGE,
    header::LOCATION,
    header::ETAG,
    header::LAST_MODIFIED,
    header::LINK,
];

/// A body is kept byte for byte, so what it is encoded with is kept whatever the list says.
const ALWAYS_REPLAYED: HeaderName = header::CONTENT_ENCODING;

/// Reads the name of a header.
pub(super) fn name(at: &At<'_>) -> Result<HeaderName, Box<ConfigError>> {
    name_of(at.text()?, at)
}

fn name_of(name: &str, at: &At<'_>) -> Result<HeaderName, Box<ConfigError>> {
    HeaderName::try_from(name).map_err(|_| at.wrong("is not the name of a header"))
}

/// Reads the name of a header that we set in requests to another service.
pub(super) fn own_name(at: &At<'_>) -> Result<HeaderName, Box<ConfigError>> {
    own_name_of(at.text()?, at)
}

/// The same for the name of the field at hand.
pub(super) fn own_name_of(name: &str, at: &At<'_>) -> Result<HeaderName, Box<ConfigError>> {
    let name = name_of(name, at)?;
    refuse_of_connection(at, &name)?;
    // Authorization and cookies are what an upstream's owner may well want to send; the rest frames the message.
    let frames = [
        header::HOST,
        header::CONTENT_LENGTH,
        header::EXPECT,
        header::ACCEPT_ENCODING,
    ];
    if frames.contains(&name) {
        return Err(at.wrong("is a header that frames a message and is made anew for each"));
    }
    if name == TRACEPARENT || name == TRACESTATE {
        return Err(
            at.wrong("is a header of the trace, in which every attempt has a place of its own")
        );
    }
    Ok(name)
}

/// Reads the list of the request headers that are forwarded.
pub(super) fn forwarded(at: &At<'_>) -> Result<HeaderList, Box<ConfigError>> {
    let names = names(at, limits::HEADERS_MAX, |item, name| {
        if NEVER_FORWARDED.contains(name) {
            return Err(item.wrong(
                "is a header that is never forwarded: it proves who a client is, or frames a message",
            ));
        }
        Ok(())
    })?;
    Ok(HeaderList::new(names))
}

/// Reads the list of the response headers that are replayed.
pub(super) fn replayed(at: &At<'_>) -> Result<HeaderList, Box<ConfigError>> {
    let names = names(at, limits::HEADERS_MAX - 1, |item, name| {
        if NEVER_REPLAYED.contains(name) {
            return Err(item.wrong(
                "is a header that is never replayed: it concerns one client or one moment, or is our own",
            ));
        }
        Ok(())
    })?;
    Ok(replayed_with(names))
}

/// A list of response headers, with what every such list has.
pub(super) fn replayed_with(mut names: Vec<HeaderName>) -> HeaderList {
    names.push(ALWAYS_REPLAYED);
    HeaderList::new(names)
}

fn names(
    at: &At<'_>,
    max: usize,
    check: fn(&At<'_>, &HeaderName) -> Result<(), Box<ConfigError>>,
) -> Result<Vec<HeaderName>, Box<ConfigError>> {
    let items = at.items()?;
    if items.len() > max {
        return Err(at.wrong(format!("has more than {max} names")));
    }
    let mut names = Vec::new();
    for item in &items {
        let name = name(item)?;
        refuse_of_connection(item, &name)?;
        check(item, &name)?;
        names.push(name);
    }
    Ok(names)
}

fn refuse_of_connection(at: &At<'_>, name: &HeaderName) -> Result<(), Box<ConfigError>> {
    if HOP_BY_HOP.contains(name) {
        Err(at.wrong("is a header of one connection, which no message passes on"))
    } else {
        Ok(())
    }
}
