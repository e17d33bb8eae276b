//! The sections about other services: `[upstreams]`, `[sinks]` and `[inboxes]`.

use super::super::{ConfigError, Inbox, Sink, Upstream};
use super::at::At;
use super::{headers, policy};
use crate::machine::Name;
use crate::sorted::Sorted;
use crate::webhook::{self, Mode, Receiver, Secret, SecretError, Secrets};
use http::Uri;
use http::header::{HeaderName, HeaderValue};
use http::uri::Scheme;

/// The header that carries an upstream's key unless the file says otherwise, as the IETF draft names it.
const KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// `[upstreams]`
pub(super) fn upstreams(at: Option<&At<'_>>) -> Result<Sorted<Name, Upstream>, Box<ConfigError>> {
    each(at, upstream)
}

/// `[sinks]`
pub(super) fn sinks(at: Option<&At<'_>>) -> Result<Sorted<Name, Sink>, Box<ConfigError>> {
    each(at, sink)
}

/// `[inboxes]`
pub(super) fn inboxes(at: Option<&At<'_>>) -> Result<Sorted<Name, Inbox>, Box<ConfigError>> {
    each(at, inbox)
}

fn each<T>(
    at: Option<&At<'_>>,
    read: fn(Name, &At<'_>) -> Result<T, Box<ConfigError>>,
) -> Result<Sorted<Name, T>, Box<ConfigError>> {
    let mut services = Sorted::new();
    for (name, at) in at.map_or(Ok(Vec::new()), At::named)? {
        services.insert(name.clone(), read(name, &at)?);
    }
    Ok(services)
}

fn upstream(name: Name, at: &At<'_>) -> Result<Upstream, Box<ConfigError>> {
    let fields = at.fields(&["url", "headers", "key_header", "retry_budget"])?;
    let at_url = fields.need("url")?;
    let url = url(&at_url)?.into_parts();
    let (Some(scheme), Some(authority)) = (url.scheme, url.authority) else {
        return Err(at_url.wrong(NO_URL));
    };
    let path = url.path_and_query;
    let path = path.as_ref().map_or("", |path| path.as_str());
    if path.contains('?') {
        return Err(at_url.wrong("has a query; an operation's own is added to the path"));
    }
    let key_header = fields.read("key_header", KEY_HEADER, headers::own_name)?;
    let headers = fields.read("headers", Vec::new(), |at| own_headers(at, &key_header))?;
    let retry_budget = fields.read("retry_budget", None, |at| policy::budget(at).map(Some))?;
    Ok(Upstream {
        name,
        scheme,
        authority,
        path_prefix: path.trim_end_matches('/').to_owned(),
        headers,
        key_header,
        retry_budget,
    })
}

/// Headers with their values, without those whose value is empty: a variable may leave one out.
fn own_headers(
    at: &At<'_>,
    key_header: &HeaderName,
) -> Result<Vec<(HeaderName, HeaderValue)>, Box<ConfigError>> {
    let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::new();
    for (name, at) in at.members()? {
        let name = headers::own_name_of(name, &at)?;
        if name == *key_header {
            return Err(at.wrong("is the header that carries the key"));
        }
        if headers.iter().any(|(other, _)| *other == name) {
            return Err(at.wrong("comes twice, in another spelling"));
        }
        let mut value = HeaderValue::from_str(at.text()?)
            .map_err(|_| at.wrong("has characters that a header cannot carry"))?;
        value.set_sensitive(true);
        if !value.is_empty() {
            headers.push((name, value));
        }
    }
    Ok(headers)
}

fn sink(name: Name, at: &At<'_>) -> Result<Sink, Box<ConfigError>> {
    let fields = at.fields(&["url", "secrets", "mode"])?;
    Ok(Sink {
        name,
        url: url(&fields.need("url")?)?,
        secrets: secrets(&fields.need("secrets")?)?,
        mode: fields.read("mode", Mode::Structured, |at| {
            at.choice(&[("structured", Mode::Structured), ("binary", Mode::Binary)])
        })?,
    })
}

fn inbox(name: Name, at: &At<'_>) -> Result<Inbox, Box<ConfigError>> {
    let fields = at.fields(&["secrets", "source"])?;
    let secrets = secrets(&fields.need("secrets")?)?;
    let source = fields.read("source", None, |at| policy::source(at).map(Some))?;
    let receiver = Receiver { secrets, source };
    Ok(Inbox { name, receiver })
}

/// Secrets as Standard Webhooks writes them. Empty ones do not count: beside a new secret the old one is there only for a
/// while, and then a variable leaves it out.
fn secrets(at: &At<'_>) -> Result<Secrets, Box<ConfigError>> {
    let mut secrets: Vec<Secret> = Vec::new();
    for item in at.items()? {
        match item.text()? {
            "" => {}
            text => secrets.push(
                text.parse()
                    .map_err(|error: SecretError| item.wrong(error.to_string()))?,
            ),
        }
    }
    Secrets::new(secrets).ok_or_else(|| {
        let max = webhook::limits::SECRETS_MAX;
        at.wrong(format!("holds no secret, or more than {max}"))
    })
}

const NO_URL: &str = "is not an absolute http or https URL";

/// An absolute URL, without anything that a request to it would drop or give away.
fn url(at: &At<'_>) -> Result<Uri, Box<ConfigError>> {
    let text = at.filled_text()?;
    if text.contains('#') {
        return Err(at.wrong("has a fragment, which no request carries"));
    }
    let no_url = || at.wrong(NO_URL);
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(no_url());
    }
    let url: Uri = text.parse().map_err(|_| no_url())?;
    let is_http = url
        .scheme()
        .is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
    let authority = url.authority().ok_or_else(no_url)?;
    if authority.as_str().contains('@') {
        return Err(at.wrong("has user information; a header carries what proves who calls"));
    }
    if !is_http || authority.host().is_empty() {
        return Err(no_url());
    }
    Ok(url)
}
