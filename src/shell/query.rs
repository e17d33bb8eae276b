//! Queries: the parameters behind a path, and what operators select by them.
//!
//! A query is read as forms write it: `name=value` pairs between `&`, with `%` escapes and `+` for a space. A parameter that
//! the path does not know, or that comes twice, is an error: a filter that is silently ignored would show what was not
//! asked for.

use super::idempotency_key::{self, IdempotencyKey};
use super::problem::Problem;
use super::tenant;
use crate::driver::store::Place;
use crate::machine::{Digest, Record, State, Timestamp};
use crate::webhook::parse_rfc_3339;
use sha2::{Digest as _, Sha256};

/// Operations on one page, if the request does not say: about a screenful.
pub(super) const LIMIT_DEFAULT: usize = 50;
/// Operations on one page at most. Each takes half a kilobyte, so a page stays within a hundred.
pub(super) const LIMIT_MAX: usize = 200;

/// The parameters of a query that were not taken yet.
#[derive(Debug)]
pub(super) struct Query(Vec<(&'static str, Vec<u8>)>);

impl Query {
    /// Reads a query whose parameters are among these.
    pub(super) fn parse(query: Option<&str>, known: &[&'static str]) -> Result<Self, Problem> {
        let mut parameters: Vec<(&'static str, Vec<u8>)> = Vec::new();
        let pairs = query.unwrap_or_default().split('&');
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = known.iter().find(|known| **known == name);
            let name = name.ok_or(Problem::InvalidQuery(
                "it has a parameter that this path does not know",
            ))?;
            if parameters.iter().any(|(other, _)| other == name) {
                return Err(Problem::InvalidQuery("a parameter comes twice"));
            }
            parameters.push((name, decoded(value)?));
        }
        Ok(Self(parameters))
    }

    /// The bytes of a parameter.
    fn bytes(&mut self, name: &str) -> Option<Vec<u8>> {
        let at = self.0.iter().position(|(other, _)| *other == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// The text of a parameter.
    fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let text = self.bytes(name).map(String::from_utf8).transpose();
        text.map_err(|_| Problem::InvalidQuery("a parameter is not UTF-8"))
    }

    /// A parameter that `read` makes something of; `otherwise` says what it has to be.
    fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Option<T>,
        otherwise: &'static str,
    ) -> Result<Option<T>, Problem> {
        let text = self.text(name)?;
        let read = text.map(|text| read(&text).ok_or(Problem::InvalidQuery(otherwise)));
        read.transpose()
    }

    /// Where a page begins.
    pub(super) fn place(&mut self) -> Result<Place, Problem> {
        let place = self.read(
            "from",
            |text| text.parse().ok(),
            "from is what a page gave as next",
        )?;
        Ok(place.unwrap_or_default())
    }

    fn key(&mut self) -> Result<Option<IdempotencyKey>, Problem> {
        let key = self.text("key")?;
        let key = key.map(|key| idempotency_key::read(&key).map_err(Problem::InvalidQuery));
        key.transpose()
    }

    /// The tenants that are named: by value, by hash or, to no purpose, both.
    fn tenants(&mut self) -> Result<Vec<Digest>, Problem> {
        let by_value = self.bytes("tenant");
        let by_value = by_value
            .map(|value| tenant::digest(Some(&value[..]).filter(|value| !value.is_empty())));
        let by_hash = self.read(
            "tenant_hash",
            |text| text.parse().ok(),
            "tenant_hash has 64 lower-case hexadecimal digits",
        )?;
        Ok(by_value.into_iter().chain(by_hash).collect())
    }
}

/// Decodes a value of a form.
fn decoded(value: &str) -> Result<Vec<u8>, Problem> {
    const BROKEN: Problem = Problem::InvalidQuery("an escape has two hexadecimal digits");
    let mut bytes = value.bytes();
    let mut decoded = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (Some(high), Some(low)) = (digit(), digit()) else {
                    return Err(BROKEN);
                };
                u8::try_from(high << 4 | low).map_err(|_| BROKEN)?
            }
            byte => byte,
        });
    }
    Ok(decoded)
}

/// Which operations are meant. What is not set matches every one.
#[derive(Debug, Default)]
pub(super) struct Filter {
    pub(super) operation: Option<String>,
    state: Option<&'static str>,
    since: Option<Timestamp>,
    pub(super) tenants: Vec<Digest>,
    pub(super) key: Option<IdempotencyKey>,
}

impl Filter {
    /// Whether an operation is meant.
    pub(super) fn matches(&self, record: &Record) -> bool {
        let identity = record.identity();
        let key = self.key.as_ref().map(key_hash);
        let operation = identity.operation.as_str();
        self.operation.as_ref().is_none_or(|name| name == operation)
            && self
                .state
                .is_none_or(|state| state == record.state().name())
            && self
                .since
                .is_none_or(|since| record.origin().created_at >= since)
            && self.tenants.iter().all(|tenant| *tenant == identity.tenant)
            && key.is_none_or(|key| identity.key == Some(key))
    }
}

/// What is kept of a client's key.
pub(super) fn key_hash(key: &IdempotencyKey) -> Digest {
    Digest::new(Sha256::digest(key.as_str()).into())
}

/// A page of operations that is asked for.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) filter: Filter,
    pub(super) limit: usize,
    pub(super) from: Place,
    /// The query without its place, for the next page.
    pub(super) rest: String,
}

impl Selection {
    pub(super) fn parse(query: Option<&str>) -> Result<Self, Problem> {
        const KNOWN: [&str; 8] = [
            "operation",
            "state",
            "since",
            "tenant",
            "tenant_hash",
            "key",
            "limit",
            "from",
        ];
        let mut asked = Query::parse(query, &KNOWN)?;
        let limit = asked.read(
            "limit",
            |text| {
                text.parse()
                    .ok()
                    .filter(|limit| (1..=LIMIT_MAX).contains(limit))
            },
            "limit is a number from 1 to 200",
        )?;
        let state = |text: &str| State::NAMES.into_iter().find(|name| *name == text);
        let filter = Filter {
            operation: asked.text("operation")?,
            state: asked.read(
                "state",
                state,
                "state is one of queued, running, waiting, done, failed, cancelled",
            )?,
            since: asked.read(
                "since",
                parse_rfc_3339,
                "since is a time of RFC 3339, from 1970 on",
            )?,
            tenants: asked.tenants()?,
            key: asked.key()?,
        };
        let pairs = query.unwrap_or_default().split('&');
        let mut rest = String::new();
        for pair in pairs.filter(|pair| !pair.is_empty() && !pair.starts_with("from=")) {
            rest.push_str(pair);
            rest.push('&');
        }
        Ok(Self {
            filter,
            limit: limit.unwrap_or(LIMIT_DEFAULT),
            from: asked.place()?,
            rest,
        })
    }
}

/// A key whose operation is asked for.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) operation: String,
    pub(super) key: IdempotencyKey,
    /// The tenant, unless two were named that are not the same.
    pub(super) tenant: Option<Digest>,
}

impl Binding {
    pub(super) fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let mut asked = Query::parse(query, &["operation", "key", "tenant", "tenant_hash"])?;
        let missing = Problem::InvalidQuery("operation and key are needed");
        let (Some(operation), Some(key)) = (asked.text("operation")?, asked.key()?) else {
            return Err(missing);
        };
        let tenant = match asked.tenants()?[..] {
            [] => Some(tenant::digest(None)),
            [tenant] => Some(tenant),
            [one, other, ..] => Some(one).filter(|one| *one == other),
        };
        Ok(Self {
            operation,
            key,
            tenant,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_decoded_as_forms_encode_it() {
        let table: &[(&str, Option<&[u8]>)] = &[
            ("", Some(b"")),
            ("Bearer+a%2Bb", Some(b"Bearer a+b")),
            ("%d0%BA", Some("к".as_bytes())),
            ("%00%ff", Some(b"\x00\xff")),
            ("%", None),
            ("%4", None),
            ("%4g", None),
            ("%+1", None),
        ];
        for (value, expected) in table {
            assert_eq!(decoded(value).ok().as_deref(), *expected, "{value}");
        }
    }

    #[test]
    fn a_selection_is_read_with_all_that_it_names() {
        let hash = "ab".repeat(32);
        let query = format!(
            "state=failed&operation=charge&since=2026-11-29T19:53:00.103%2B00:00&tenant_hash={hash}&tenant=Bearer+t&key=%22k%22\
             &limit=7&from=12.00000000000000ff"
        );
        let selection = Selection::parse(Some(&query)).expect("a sound query");
        let filter = &selection.filter;
        assert_eq!(filter.operation.as_deref(), Some("charge"));
        assert_eq!(filter.state, Some("failed"));
        assert_eq!(
            filter.since,
            Some(Timestamp::from_unix_ms(1_795_981_980_103))
        );
        let tenants = [
            tenant::digest(Some(b"Bearer t")),
            hash.parse().expect("a digest"),
        ];
        assert_eq!(filter.tenants, tenants);
        assert_eq!(filter.key.as_ref().map(IdempotencyKey::as_str), Some("k"));
        assert_eq!(selection.limit, 7);
        assert_eq!(selection.from.to_string(), "12.00000000000000ff");
        let rest = query.strip_suffix("from=12.00000000000000ff");
        assert_eq!(Some(selection.rest.as_str()), rest);
        for (query, limit) in [
            (None, LIMIT_DEFAULT),
            (Some(""), LIMIT_DEFAULT),
            (Some("limit=200"), LIMIT_MAX),
        ] {
            let selection = Selection::parse(query).expect("a sound query");
            assert_eq!((selection.limit, selection.from), (limit, Place::default()));
        }
    }

    #[test]
    fn a_query_that_is_not_sound_is_refused_with_its_reason() {
        let table = [
            ("limit=0", "limit"),
            ("limit=201", "limit"),
            ("limit=", "limit"),
            ("limit=x", "limit"),
            ("state=Done", "state"),
            ("state=", "state"),
            ("since=yesterday", "since"),
            ("since=1969-12-31T23:59:59Z", "since"),
            ("tenant_hash=ab", "tenant_hash"),
            ("key=", "empty"),
            ("key=a+b", "visible ASCII"),
            ("key=%22a", "closing quote"),
            ("from=x", "from"),
            ("from=-1", "from"),
            ("limit=1&limit=1", "twice"),
            ("operations=charge", "does not know"),
            ("operation=%ff", "UTF-8"),
            ("operation=%f", "escape"),
        ];
        for (query, reason) in table {
            match Selection::parse(Some(query)) {
                Err(Problem::InvalidQuery(told)) => {
                    assert!(told.contains(reason), "{query}: {told}")
                }
                other => panic!("{query}: {other:?}"),
            }
        }
        for query in [
            None,
            Some("operation=charge"),
            Some("key=k"),
            Some("operation=charge&key=k&state=done"),
        ] {
            assert!(
                matches!(Binding::parse(query), Err(Problem::InvalidQuery(_))),
                "{query:?}"
            );
        }
    }

    #[test]
    fn a_key_belongs_to_the_tenant_that_is_named_or_to_the_one_without_a_name() {
        let nobody = tenant::digest(None);
        let somebody = tenant::digest(Some(b"t"));
        let table = [
            ("", Some(nobody)),
            ("&tenant=", Some(nobody)),
            ("&tenant=t", Some(somebody)),
            (&format!("&tenant_hash={somebody}"), Some(somebody)),
            (&format!("&tenant=t&tenant_hash={somebody}"), Some(somebody)),
            (&format!("&tenant=t&tenant_hash={nobody}"), None),
        ];
        for (tenants, expected) in table {
            let query = format!("operation=charge&key=k{tenants}");
            let binding = Binding::parse(Some(&query)).expect("a sound query");
            assert_eq!(binding.tenant, expected, "{query}");
        }
    }
}
