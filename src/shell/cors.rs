//! Cross-origin requests: the CORS protocol of the Fetch standard, for web pages that call from other origins.

use crate::config::{Config, Cors, HeaderList, Origins};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, LINK, LOCATION, ORIGIN,
    RETRY_AFTER, VARY,
};

/// What a page needs to know of a reply, beyond what browsers show anyway.
const EXPOSED: [HeaderName; 6] = [
    LOCATION,
    RETRY_AFTER,
    ETAG,
    LINK,
    super::operations::REPLAYED,
    super::operations::OPERATION_LOCATION,
];

/// What a page may send, beyond what browsers let through anyway.
const ALLOWED: [HeaderName; 5] = [
    AUTHORIZATION,
    CONTENT_TYPE,
    super::idempotency_key::HEADER,
    super::trace::TRACEPARENT,
    super::trace::TRACESTATE,
];

/// Whether a request asks what it may do, before it does it.
pub(super) fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Adds to a reply what a browser wants to see. `methods` are those of the route when the request is a preflight.
pub(super) fn allow(
    config: &Config,
    request: &HeaderMap,
    methods: Option<&str>,
    reply: &mut HeaderMap,
) {
    let Some(cors) = &config.cors else {
        return;
    };
    if cors.origins != Origins::Any {
        // What a cache keeps of this reply is for this origin alone.
        reply.append(VARY, HeaderValue::from_name(ORIGIN));
    }
    let Some(origin) = allowed_origin(cors, request) else {
        return;
    };
    reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let value = |list: &HeaderList| {
        let names: Vec<&str> = list.names().iter().map(String::as_str).collect();
        HeaderValue::try_from(names.join(", ")).expect("header names are visible ASCII")
    };
    match methods {
        Some(methods) => {
            let mut list = HeaderList::new(ALLOWED);
            if let Some(name) = &config.tenant_header {
                list.add(name.as_str());
            }
            for operation in &config.operations {
                add_all(&mut list, &operation.forward_headers);
            }
            reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, value(&list));
            let methods = HeaderValue::try_from(methods).expect("methods are visible ASCII");
            reply.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
            reply.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(cors.max_age_s));
        }
        None => {
            let mut list = HeaderList::new(EXPOSED);
            for operation in &config.operations {
                add_all(&mut list, &operation.replay_headers);
            }
            reply.insert(ACCESS_CONTROL_EXPOSE_HEADERS, value(&list));
        }
    }
}

fn add_all(list: &mut HeaderList, others: &HeaderList) {
    for name in others.names() {
        list.add(name);
    }
}

fn allowed_origin(cors: &Cors, request: &HeaderMap) -> Option<HeaderValue> {
    let origin = request.get(ORIGIN)?;
    match &cors.origins {
        Origins::Any => Some(HeaderValue::from_static("*")),
        Origins::Listed(origins) => origins.contains(origin).then(|| origin.clone()),
    }
}
