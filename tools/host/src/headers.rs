//! What a request looks like to a guest: its address made absolute, and Spin's headers added.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use http::header::{CONNECTION, HOST};
use http::uri::{Authority, Scheme};
use http::{HeaderName, HeaderValue, Request, Uri};

use crate::allowed_hosts::is_internal_host;
use crate::routes::Match;

/// Removes what means something only on the connection it came from.
pub fn strip<B>(request: &mut Request<B>) {
    let headers = request.headers_mut();
    headers.remove(CONNECTION);
    if headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .is_some_and(is_internal_host)
    {
        headers.remove(HOST);
    }
}

/// Makes a request's address absolute. Fails if the request does not say which host it is for, or says it in two ways.
pub fn make_absolute<B>(request: &mut Request<B>) -> Result<()> {
    let named = match request.headers().get(HOST) {
        Some(host) => {
            Some(Authority::try_from(host.as_bytes()).context("the Host header is not a host")?)
        }
        None => None,
    };
    let mut parts = request.uri().clone().into_parts();
    if let (Some(named), Some(addressed)) = (&named, &parts.authority) {
        ensure!(
            named == addressed,
            "the Host header names another host than the request line"
        );
    }
    let authority = named
        .or(parts.authority)
        .context("there is no Host header")?;
    parts.authority = Some(authority);
    parts.scheme = Some(Scheme::HTTP);
    *request.uri_mut() = Uri::from_parts(parts)?;
    Ok(())
}

/// Adds what Spin tells about a request that goes to the component of `found`. Fails on a header that is not UTF-8.
pub fn add<B>(request: &mut Request<B>, found: &Match, client: SocketAddr) -> Result<()> {
    for (name, value) in request.headers() {
        ensure!(
            std::str::from_utf8(value.as_bytes()).is_ok(),
            "header {name} is not UTF-8"
        );
    }
    for (name, value) in spin_headers(request, found, client) {
        // Appended, not set: as in Spin, a client can send a header of the same name, and it comes first.
        let value = HeaderValue::from_str(&value).with_context(|| format!("header {name}"))?;
        request.headers_mut().append(name, value);
    }
    Ok(())
}

fn spin_headers<B>(
    request: &Request<B>,
    found: &Match,
    client: SocketAddr,
) -> Vec<(HeaderName, String)> {
    let host = request
        .headers()
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or("localhost");
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    let known = [
        ("spin-path-info", found.rest.clone()),
        ("spin-full-url", format!("http://{host}{path}")),
        ("spin-matched-route", found.matched_route()),
        ("spin-base-path", "/".to_owned()),
        ("spin-raw-component-route", found.route.clone()),
        ("spin-component-route", found.prefix().to_owned()),
        ("spin-client-addr", client.to_string()),
    ];
    let named = found.named.iter().filter_map(|(name, value)| {
        let header = format!(
            "spin-path-match-{}",
            name.replace('_', "-").to_ascii_lowercase()
        );
        Some((HeaderName::try_from(header).ok()?, value.clone()))
    });
    known
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), value))
        .chain(named)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Routes;

    fn completed(route: &str, uri: &str, headers: &[(&str, &[u8])]) -> Result<Request<()>> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(())?;
        let routes = Routes::new([(route.to_owned(), "main".to_owned())])?;
        let found = routes.find(request.uri().path()).context("no route")?;
        strip(&mut request);
        make_absolute(&mut request)?;
        add(&mut request, &found, "10.0.0.1:1234".parse()?)?;
        Ok(request)
    }

    #[test]
    fn a_guest_sees_where_the_request_came_from_and_what_it_matched() {
        let headers: &[(&str, &[u8])] = &[
            ("host", b"example.com:3000"),
            ("connection", b"close"),
            ("x", b"y"),
        ];
        let request = completed("/tasks/:id/...", "/tasks/7/events/?a=b", headers).unwrap();
        assert_eq!(request.uri(), "http://example.com:3000/tasks/7/events/?a=b");
        let headers = request.headers();
        for (name, value) in [
            ("host", "example.com:3000"),
            ("x", "y"),
            ("spin-path-info", "/events/"),
            (
                "spin-full-url",
                "http://example.com:3000/tasks/7/events/?a=b",
            ),
            ("spin-matched-route", "/tasks/:id/..."),
            ("spin-base-path", "/"),
            ("spin-raw-component-route", "/tasks/:id/..."),
            ("spin-component-route", "/tasks/:id"),
            ("spin-client-addr", "10.0.0.1:1234"),
            ("spin-path-match-id", "7"),
        ] {
            assert_eq!(headers[name], value, "{name}");
        }
        assert_eq!(headers.len(), 10, "{headers:?}");
    }

    #[test]
    fn a_request_must_say_which_host_it_is_for() {
        for (uri, headers, problem) in [
            ("/", &[][..], "there is no Host header"),
            (
                "http://a/",
                &[("host", &b"b"[..])][..],
                "names another host",
            ),
            ("/", &[("host", &b"a b"[..])][..], "is not a host"),
            (
                "/",
                &[("host", &b"a"[..]), ("x", &b"\xff"[..])][..],
                "header x is not UTF-8",
            ),
        ] {
            let error = format!("{:#}", completed("/...", uri, headers).unwrap_err());
            assert!(error.contains(problem), "{error}");
        }
        assert_eq!(
            completed("/...", "http://a/x", &[]).unwrap().uri(),
            "http://a/x"
        );
        assert_eq!(
            completed("/...", "http://a/x", &[("host", b"a")])
                .unwrap()
                .uri(),
            "http://a/x"
        );
    }

    #[test]
    fn the_host_header_of_an_internal_request_is_not_shown() {
        let request = completed(
            "/...",
            "http://b.spin.internal/x",
            &[("host", b"b.spin.internal")],
        )
        .unwrap();
        assert!(!request.headers().contains_key(HOST));
        assert_eq!(request.headers()["spin-full-url"], "http://localhost/x");
    }

    #[test]
    fn a_header_from_the_client_is_kept_before_ours() {
        let request = completed(
            "/...",
            "/x",
            &[("host", b"a"), ("spin-path-info", b"/forged")],
        )
        .unwrap();
        let values: Vec<_> = request.headers().get_all("spin-path-info").iter().collect();
        assert_eq!(values, ["/forged", "/x"]);
    }
}
