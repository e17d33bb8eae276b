//! Lists of headers that may be kept. What is not on a list is dropped.

use http::header::{self, HeaderName};

/// Header names that may pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderList(Vec<String>);

impl HeaderList {
    /// A list of these names.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = HeaderName>) -> Self {
        let mut list = Self::default();
        for name in names {
            list.add(name.as_str());
        }
        list
    }

    /// Lets one more name pass.
    pub fn add(&mut self, name: &str) {
        if let Err(index) = self.find(name) {
            self.0.insert(index, name.to_owned());
        }
    }

    /// Whether a header of this name passes.
    #[must_use]
    pub fn has(&self, name: &HeaderName) -> bool {
        self.find(name.as_str()).is_ok()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|other| other.as_str().cmp(name))
    }

    /// The names, in lower case and sorted.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

/// Headers of one connection (RFC 9110, section 7.6.1, and those that came before it): no message passes them on.
pub const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Request headers that can be on no list: what proves who a client is would be stored with the record, and what frames
/// a message is made anew for each.
pub const NEVER_FORWARDED: [HeaderName; 7] = [
    header::AUTHORIZATION,
    header::PROXY_AUTHORIZATION,
    header::COOKIE,
    header::HOST,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::ACCEPT_ENCODING,
];

/// Response headers that can be on no list: they concern one client, one moment or one connection, or are those in which
/// our own replies say what they are. An upstream may be another Reprise.
pub const NEVER_REPLAYED: [HeaderName; 8] = [
    HeaderName::from_static("idempotent-replayed"),
    HeaderName::from_static("operation-location"),
    header::CACHE_CONTROL,
    header::SET_COOKIE,
    header::WWW_AUTHENTICATE,
    header::DATE,
    header::CONTENT_LENGTH,
    header::RETRY_AFTER,
];
