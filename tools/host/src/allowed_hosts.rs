//! Where a component may send requests to: its `allowed_outbound_hosts`.
//!
//! An entry is `scheme://host[:port]`, each part a literal or `*`; the host may also be `*.domain`, `self` (the own
//! application) or `<component>.spin.internal` (another component of it), the port a range `8000..9000`. Ranges of
//! addresses and lists in braces are refused at start.

use std::ops::Range;

use anyhow::{Context as _, Result, bail, ensure};
use http::Uri;

/// The domain of the application's own components.
const INTERNAL_DOMAIN: &str = "spin.internal";

/// The host by which a guest reaches its own application where its HTTP client insists on a host.
const SELF_ALIAS: &str = "self.alt";

/// What one component may reach.
#[derive(Clone, Debug, Default)]
pub struct AllowedHosts(Vec<Entry>);

#[derive(Clone, Debug)]
struct Entry {
    /// None: any.
    scheme: Option<String>,
    host: HostPattern,
    port: PortPattern,
}

#[derive(Clone, Debug)]
enum HostPattern {
    Any,
    /// Ends with this, which starts with a dot.
    Suffix(String),
    ToSelf,
    Exactly(url::Host),
}

#[derive(Clone, Debug)]
enum PortPattern {
    Any,
    Within(Range<u32>),
}

/// What a request's address means to the host.
#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    /// The own application, at its listening address.
    OwnApplication,
    /// A component of the own application, without a connection.
    Component(String),
    /// Somewhere else.
    Outside,
}

impl AllowedHosts {
    /// Reads a component's entries, in which templates have already been replaced.
    ///
    /// An entry that a variable left empty (`""`, `"http://"`, `"https://"`) allows nothing. `components` are the ids
    /// that `*.spin.internal` stands for.
    pub fn parse(entries: &[String], components: &[&str]) -> Result<Self> {
        let mut parsed = Vec::new();
        for entry in entries {
            if !["", "http://", "https://"].contains(&entry.as_str()) {
                let entry = Entry::parse(entry).with_context(|| format!("{entry:?}"))?;
                entry.check_components(components)?;
                parsed.push(entry);
            }
        }
        Ok(Self(parsed))
    }

    /// Whether a request may go to this address.
    pub fn allow(&self, uri: &Uri) -> bool {
        if Destination::of(uri) == Destination::OwnApplication {
            // Whatever scheme the guest wrote: the host's own is used.
            return self.0.iter().any(|entry| {
                entry.host.is_self()
                    && ["http", "https"]
                        .iter()
                        .any(|scheme| entry.takes_scheme(scheme))
            });
        }
        let Ok(url) = url::Url::parse(&uri.to_string()) else {
            return false;
        };
        let Some(host) = url.host() else { return false };
        let Some(port) = url.port_or_known_default() else {
            return false;
        };
        self.0.iter().any(|entry| {
            entry.takes_scheme(url.scheme())
                && entry.host.takes(&host.to_owned())
                && entry.port.takes(port)
        })
    }
}

impl Destination {
    /// Reads the host of an address; one without a host is the own application.
    pub fn of(uri: &Uri) -> Self {
        let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
            return Self::OwnApplication;
        };
        if host == SELF_ALIAS {
            return Self::OwnApplication;
        }
        match host.split_once('.') {
            Some((component, INTERNAL_DOMAIN)) => Self::Component(component.to_owned()),
            _ => Self::Outside,
        }
    }
}

/// Whether this is the value of a `Host` header of a request from another component.
#[must_use]
pub fn is_internal_host(host: &str) -> bool {
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    host.split_once('.')
        .is_some_and(|(_, domain)| domain == INTERNAL_DOMAIN)
}

impl Entry {
    fn parse(text: &str) -> Result<Self> {
        let (scheme, rest) = text
            .trim()
            .split_once("://")
            .context("needs the form scheme://host[:port], for instance https://example.com")?;
        ensure!(
            !text.contains(['{', '}']),
            "lists in braces are not supported"
        );
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        ensure!(
            !rest.contains('/'),
            "paths and address ranges are not supported"
        );
        let (host, port) = match rest.rsplit_once(':') {
            // The last colon of an IPv6 address without a port is part of it.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (rest, None),
        };
        let scheme = match scheme {
            "*" => None,
            name if !name.is_empty() && name.chars().all(char::is_alphabetic) => {
                Some(name.to_owned())
            }
            name => bail!("scheme {name:?} has other characters than letters"),
        };
        let port = match port.filter(|port| !port.is_empty()) {
            Some(port) => PortPattern::parse(port)?,
            None => PortPattern::default_of(scheme.as_deref())?,
        };
        Ok(Self {
            host: HostPattern::parse(host)?,
            scheme,
            port,
        })
    }

    fn takes_scheme(&self, scheme: &str) -> bool {
        self.scheme.as_deref().is_none_or(|own| own == scheme)
    }

    /// A request to a component that does not exist would be a trap at the first call; better a word at start.
    fn check_components(&self, components: &[&str]) -> Result<()> {
        if let HostPattern::Exactly(url::Host::Domain(domain)) = &self.host
            && let Some((component, INTERNAL_DOMAIN)) = domain.split_once('.')
        {
            ensure!(
                components.contains(&component),
                "no component {component:?} takes HTTP requests"
            );
        }
        Ok(())
    }
}

impl HostPattern {
    fn parse(host: &str) -> Result<Self> {
        if host == "*" {
            return Ok(Self::Any);
        }
        if host == "self" || host == SELF_ALIAS {
            return Ok(Self::ToSelf);
        }
        if let Some(domain) = host.strip_prefix("*.") {
            let parsed = url::Host::parse(domain).with_context(|| format!("host {host:?}"))?;
            ensure!(
                matches!(parsed, url::Host::Domain(_)),
                "host {host:?}: only a domain has subdomains"
            );
            return Ok(Self::Suffix(format!(".{parsed}")));
        }
        ensure!(
            !host.contains('*'),
            "host {host:?}: a star stands alone or for a subdomain"
        );
        Ok(Self::Exactly(
            url::Host::parse(host).with_context(|| format!("host {host:?}"))?,
        ))
    }

    fn takes(&self, host: &url::Host) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Suffix(suffix), url::Host::Domain(domain)) => domain.ends_with(suffix),
            (Self::Exactly(own), _) => own == host,
            // `self` is not the name of a host; requests to it are told apart before.
            (Self::Suffix(_) | Self::ToSelf, _) => false,
        }
    }

    fn is_self(&self) -> bool {
        matches!(self, Self::Any | Self::ToSelf)
    }
}

impl PortPattern {
    fn parse(port: &str) -> Result<Self> {
        let number = |text: &str| {
            text.parse::<u16>()
                .with_context(|| format!("port {port:?} is not a number"))
        };
        if port == "*" {
            return Ok(Self::Any);
        }
        if let Some((start, end)) = port.split_once("..") {
            return Ok(Self::Within(
                u32::from(number(start)?)..u32::from(number(end)?),
            ));
        }
        let port = u32::from(number(port)?);
        Ok(Self::Within(port..port + 1))
    }

    fn default_of(scheme: Option<&str>) -> Result<Self> {
        match scheme {
            Some("http") => Self::parse("80"),
            Some("https") => Self::parse("443"),
            _ => bail!("needs a port: the scheme has no default one"),
        }
    }

    fn takes(&self, port: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Within(range) => range.contains(&u32::from(port)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(entries: &[&str], uri: &str) -> bool {
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        AllowedHosts::parse(&entries, &["other"])
            .unwrap()
            .allow(&uri.parse().unwrap())
    }

    #[test]
    fn entries_allow_what_they_say_and_nothing_else() {
        for (entry, yes, no) in [
            (
                "https://example.com",
                "https://example.com/x",
                "https://example.com:8443/",
            ),
            (
                "https://example.com",
                "https://example.com:443/",
                "http://example.com/",
            ),
            (
                "https://example.com/",
                "https://EXAMPLE.com/",
                "https://www.example.com/",
            ),
            (
                "http://127.0.0.1:8080",
                "http://127.0.0.1:8080/",
                "http://127.0.0.1:8081/",
            ),
            (
                "http://localhost:8000..8002",
                "http://localhost:8001/",
                "http://localhost:8002/",
            ),
            (
                "http://[::1]:8080",
                "http://[::1]:8080/",
                "http://[::2]:8080/",
            ),
            ("http://[::1]", "http://[::1]/", "http://[::1]:81/"),
            (
                "https://*.example.com",
                "https://a.b.example.com/",
                "https://example.com/",
            ),
            (
                "*://example.com:*",
                "http://example.com:1/",
                "http://example.org:1/",
            ),
            ("http://*", "http://anything/", "http://anything:81/"),
            (
                "http://other.spin.internal",
                "http://other.spin.internal/x",
                "http://main.spin.internal/x",
            ),
            (
                "http://*.spin.internal",
                "http://main.spin.internal/x",
                "http://spin.internal/x",
            ),
        ] {
            assert!(allowed(&[entry], yes), "{entry} should allow {yes}");
            assert!(!allowed(&[entry], no), "{entry} should not allow {no}");
        }
    }

    #[test]
    fn self_is_the_own_application_and_not_a_host_name() {
        for entry in [
            "http://self",
            "https://self",
            "http://self.alt",
            "http://*",
            "*://*:*",
        ] {
            assert!(allowed(&[entry], "http://self.alt/tasks"), "{entry}");
            assert!(allowed(&[entry], "/tasks"), "{entry}");
        }
        assert!(!allowed(&["http://self"], "http://self/"));
        assert!(!allowed(&["http://localhost:3000"], "http://self.alt/"));
    }

    #[test]
    fn no_entry_allows_nothing_and_an_empty_one_too() {
        assert!(!allowed(&[], "http://example.com/"));
        assert!(!allowed(
            &["", "http://", "https://"],
            "http://example.com/"
        ));
    }

    #[test]
    fn what_is_not_supported_is_an_error() {
        for (entry, message) in [
            ("example.com", "needs the form scheme://host[:port]"),
            ("*", "needs the form scheme://host[:port]"),
            ("*://example.com", "needs a port"),
            ("ftp://example.com", "needs a port"),
            ("http://{a,b}", "lists in braces"),
            ("http://10.0.0.0/8", "paths and address ranges"),
            ("http://example.com/path", "paths and address ranges"),
            ("http://a.*.com", "a star stands alone or for a subdomain"),
            ("http://*.127.0.0.1", "only a domain has subdomains"),
            ("http://example.com:x", "port \"x\" is not a number"),
            ("h2c2://example.com", "other characters than letters"),
            (
                "http://missing.spin.internal",
                "no component \"missing\" takes HTTP requests",
            ),
        ] {
            let error = AllowedHosts::parse(&[entry.to_owned()], &["other"]).unwrap_err();
            let error = format!("{error:#}");
            assert!(
                error.contains(message),
                "{entry} gave {error:?}, not {message:?}"
            );
        }
    }

    #[test]
    fn an_address_tells_where_it_goes() {
        for (uri, destination) in [
            ("/x", Destination::OwnApplication),
            ("http://self.alt/x", Destination::OwnApplication),
            (
                "http://other.spin.internal/x",
                Destination::Component("other".to_owned()),
            ),
            ("http://a.b.spin.internal/x", Destination::Outside),
            ("http://example.com/x", Destination::Outside),
        ] {
            assert_eq!(Destination::of(&uri.parse().unwrap()), destination, "{uri}");
        }
    }

    #[test]
    fn a_host_header_can_be_internal() {
        assert!(is_internal_host("main.spin.internal"));
        assert!(is_internal_host("main.spin.internal:80"));
        assert!(!is_internal_host("spin.internal"));
        assert!(!is_internal_host("example.com"));
    }
}
