//! Tenants: whose keys these are. No tenant can replay or read another one's operations.
//!
//! The tenant is the value of a header that the settings name, for instance one that a gateway sets after it has
//! authenticated the client; or else the Authorization header. Only its hash is kept.

use crate::machine::Digest;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

/// Reads the tenant of a request. The error says what is wrong, for the client.
pub fn of(headers: &HeaderMap, tenant_header: Option<&HeaderName>) -> Result<Digest, String> {
    let (name, required) = tenant_header.map_or((&AUTHORIZATION, false), |name| (name, true));
    let mut values = headers.get_all(name).iter();
    let value = match (values.next(), values.next()) {
        (Some(value), None) => Some(value.as_bytes()).filter(|value| !value.is_empty()),
        (None, _) => None,
        (Some(_), Some(_)) => return Err(format!("the header {name} comes twice")),
    };
    if required && value.is_none() {
        return Err(format!(
            "the header {name}, which names the tenant, is missing"
        ));
    }
    Ok(digest(value))
}

/// The tenant of this name, or the one of those who name none.
#[must_use]
pub fn digest(name: Option<&[u8]>) -> Digest {
    // Where nobody names himself, every request would hash the same.
    static NAMELESS: LazyLock<Digest> = LazyLock::new(|| hashed(None));
    name.map_or_else(|| *NAMELESS, |name| hashed(Some(name)))
}

fn hashed(name: Option<&[u8]>) -> Digest {
    let mut hash = Sha256::new();
    // A client that names itself with nothing is not one that does not name itself.
    hash.update([u8::from(name.is_some())]);
    hash.update(name.unwrap_or_default());
    Digest::new(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn without_a_setting_the_authorization_is_the_tenant() {
        let of = |lines| of(&headers(lines), None);
        let (anonymous, alice) = (of(&[]), of(&[("authorization", "Bearer a")]));
        assert_ne!(anonymous, alice);
        assert_ne!(alice, of(&[("authorization", "Bearer b")]));
        assert_eq!(
            alice,
            of(&[("authorization", "Bearer a"), ("x-tenant", "t")])
        );
        assert!(of(&[("authorization", "a"), ("authorization", "a")]).is_err());
    }

    #[test]
    fn a_header_that_the_settings_name_is_the_tenant_and_must_be_there() {
        let name = HeaderName::from_static("x-tenant");
        let of = |lines| of(&headers(lines), Some(&name));
        let one = of(&[("x-tenant", "1")]);
        assert_eq!(one, of(&[("x-tenant", "1"), ("authorization", "Bearer a")]));
        assert_ne!(one, of(&[("x-tenant", "2")]));
        for lines in [
            &[][..],
            &[("x-tenant", "")],
            &[("x-tenant", "1"), ("x-tenant", "1")],
        ] {
            assert!(of(lines).is_err(), "{lines:?}");
        }
    }
}
