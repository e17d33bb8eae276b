//! The sections about the service as a whole: `[store]`, `[operators]`, `[tenant]`, `[log]` and `[cors]`.

use super::super::{ConfigError, Cors, LogLevel, Origins, Secret, StoreSettings};
use super::at::At;
use super::headers;
use crate::driver::store::limits as store_limits;
use crate::machine::{Millis, limits};
use http::HeaderValue;
use http::header::HeaderName;

const PURGE_GRACE_DEFAULT: Millis = Millis::from_secs(10 * 60);
const MAX_AGE_DEFAULT: Millis = Millis::from_secs(10 * 60);
/// Beyond a day no browser keeps the answer to a preflight.
const MAX_AGE_MAX: Millis = Millis::from_secs(24 * 60 * 60);

/// `[store]`
pub(super) fn store(at: Option<At<'_>>) -> Result<StoreSettings, Box<ConfigError>> {
    let mut settings = StoreSettings {
        bucket_bits: store_limits::DEFAULT_BUCKET_BITS,
        purge_grace_ms: PURGE_GRACE_DEFAULT.get(),
    };
    let Some(at) = at else { return Ok(settings) };
    let fields = at.fields(&["bucket_bits", "purge_grace"])?;
    settings.bucket_bits = fields.read("bucket_bits", settings.bucket_bits, |at| {
        let bits = at.integer(0..=u64::from(store_limits::MAX_BUCKET_BITS))?;
        Ok(u8::try_from(bits).expect("the range is that of the store"))
    })?;
    settings.purge_grace_ms = fields.read("purge_grace", settings.purge_grace_ms, |at| {
        let grace = at.duration(Millis::ZERO..=limits::RETENTION_MAX)?;
        Ok(grace.get())
    })?;
    Ok(settings)
}

/// `[operators]`
pub(super) fn admin_token(at: Option<At<'_>>) -> Result<Option<Secret>, Box<ConfigError>> {
    let Some(at) = at else { return Ok(None) };
    at.fields(&["token"])?.read("token", None, |at| {
        let token = at.text()?;
        // One that no header can carry would lock its owner out without a word.
        if token.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok((!token.is_empty()).then(|| Secret::new(token)))
        } else {
            Err(at.wrong("has characters other than visible ASCII ones"))
        }
    })
}

/// `[tenant]`
pub(super) fn tenant_header(at: Option<At<'_>>) -> Result<Option<HeaderName>, Box<ConfigError>> {
    let Some(at) = at else { return Ok(None) };
    at.fields(&["header"])?
        .read("header", None, |at| match at.text()? {
            "" => Ok(None),
            _ => headers::name(at).map(Some),
        })
}

/// `[log]`
pub(super) fn log_level(at: Option<At<'_>>) -> Result<LogLevel, Box<ConfigError>> {
    let default = LogLevel::Info;
    let Some(at) = at else { return Ok(default) };
    let levels = [
        LogLevel::Off,
        LogLevel::Error,
        LogLevel::Info,
        LogLevel::Debug,
    ];
    at.fields(&["level"])?.read("level", default, |at| {
        at.choice(&levels.map(|level| (level.name(), level)))
    })
}

/// `[cors]`
pub(super) fn cors(at: Option<At<'_>>) -> Result<Option<Cors>, Box<ConfigError>> {
    let Some(at) = at else { return Ok(None) };
    let fields = at.fields(&["allowed_origins", "max_age"])?;
    let max_age = fields.read("max_age", MAX_AGE_DEFAULT, |at| {
        at.duration(Millis::ZERO..=MAX_AGE_MAX)
    })?;
    let origins = origins(&fields.need("allowed_origins")?)?;
    Ok(origins.map(|origins| Cors {
        origins,
        max_age_s: max_age.as_secs_rounded_up(),
    }))
}

/// The origins of a list; `None` for none. An empty string is none: a variable may leave one out.
fn origins(at: &At<'_>) -> Result<Option<Origins>, Box<ConfigError>> {
    let mut origins = Vec::new();
    let mut is_any = false;
    for item in at.items()? {
        match item.text()? {
            "" => {}
            "*" => is_any = true,
            text if is_origin(text) => {
                let origin = HeaderValue::from_str(text).expect("an origin is visible ASCII");
                origins.push(origin);
            }
            _ => {
                return Err(item.wrong(
                    "is not an origin as browsers send it: scheme and host in lower case, the port unless it is the \
                     scheme's own, and nothing behind; or * alone",
                ));
            }
        }
    }
    match (is_any, origins.is_empty()) {
        (true, true) => Ok(Some(Origins::Any)),
        (true, false) => Err(at.wrong("has * beside others")),
        (false, true) => Ok(None),
        (false, false) => Ok(Some(Origins::Listed(origins))),
    }
}

/// Whether browsers would write an origin this way (RFC 6454, section 6.2). The scheme may be any: browsers' extensions
/// have their own.
fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else {
        return false;
    };
    let (host, port) = match authority.rsplit_once(':') {
        // The colons of an IPv6 address are within brackets.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (authority, None),
    };
    let is_lower =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-._[]:".contains(&byte);
    let is_own_port = matches!(
        (scheme, port),
        ("http", Some("80")) | ("https", Some("443"))
    );
    let is_port = port.is_none_or(|port| {
        port.parse::<u16>()
            .is_ok_and(|number| number.to_string() == port)
    });
    let is_host = |text: &str| !text.is_empty() && text.bytes().all(is_lower);
    let is_scheme = is_host(scheme) && !scheme.contains([':', '[', ']', '_']);
    is_scheme && is_host(host) && is_port && !is_own_port
}

#[cfg(test)]
mod tests {
    use super::is_origin;

    #[test]
    fn an_origin_is_what_browsers_send() {
        for (text, expected) in [
            ("https://shop.example", true),
            ("http://localhost:8080", true),
            ("http://[::1]:8080", true),
            ("http://[::1]", true),
            ("chrome-extension://abcdefgh", true),
            ("https://shop.example:443", false),
            ("http://shop.example:80", false),
            ("https://shop.example:080", false),
            ("https://shop.example:", false),
            ("https://shop.example/", false),
            ("https://Shop.example", false),
            ("https://*.example", false),
            ("https://", false),
            ("shop.example", false),
            ("null", false),
            ("https://a b", false),
            ("https://user@shop.example", false),
        ] {
            assert_eq!(is_origin(text), expected, "{text}");
        }
    }
}
