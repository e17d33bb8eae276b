//! Problem documents (RFC 9457): every error has a stable type, and says whether the same request may be sent again.

use super::record_view::error_kind;
use super::reply::{Reply, ReplyBody};
use crate::driver::DriverError;
use crate::driver::store::StoreError;
use crate::machine::{AttemptError, EndReason, LimitError};
use http::header::{ALLOW, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use serde::Serialize;

/// The media type of a problem document.
pub const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// What is wrong with a request, or with us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The body is not what the operation takes.
    InvalidBody(String),
    /// The query is not what the route takes.
    InvalidQuery(&'static str),
    /// The Idempotency-Key header is not a key.
    InvalidKey(&'static str),
    /// The operation needs a key, and the request has none.
    KeyMissing,
    /// The request does not say clearly whose it is.
    InvalidTenant(String),
    /// An event is not signed by its sender.
    EventNotTrusted(String),
    /// What was sent is no event, or not one of the kind that it says.
    InvalidEvent(String),
    /// An event that may have come before and been forgotten, or would be.
    EventNotTaken(String),
    /// An operator's route without the token.
    Unauthorized,
    /// No route has this path, or no operation this id.
    NotFound(&'static str),
    /// The route does not know this method.
    MethodNotAllowed(String),
    /// The key is bound to a request with other content. The operation says with which status.
    KeyReused(StatusCode),
    /// The key's operation has not ended.
    InProgress {
        /// When to come back, in seconds.
        retry_after_s: u64,
        /// The path of the record.
        location: String,
    },
    /// The operation has ended without a result.
    OperationFailed(Failure),
    /// The operation was called off.
    OperationCancelled,
    /// What has ended cannot be called off. How it ended.
    AlreadyEnded(&'static str),
    /// The operation cannot be started again. What it is instead.
    NotToRetry(&'static str),
    /// Only a dead letter can be replayed or dropped.
    NotDead,
    /// The target or a listed header is not one that a record keeps.
    NotKept(LimitError),
    /// The body did not come in time.
    RequestTimeout,
    /// The body is larger than the operation takes.
    BodyTooLarge {
        /// The limit, in bytes.
        max: usize,
    },
    /// The body is of a kind that the operation does not take.
    UnsupportedMediaType(&'static str),
    /// The store cannot answer now.
    StoreUnavailable(String),
    /// The store is one that we must not write to.
    StoreRefused(String),
    /// A setting makes no sense.
    Misconfigured(String),
}

/// Why an operation has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    reason: EndReason,
    attempts: u32,
    last_error: Option<AttemptError>,
}

impl Failure {
    /// Why, after which error, and after how many attempts.
    #[must_use]
    pub fn new(reason: EndReason, last_error: Option<&AttemptError>, attempts: u32) -> Self {
        Self {
            reason,
            attempts,
            last_error: last_error.cloned(),
        }
    }

    fn detail(&self) -> String {
        let reason = match self.reason {
            EndReason::NotRetryable => "an attempt failed in a way that another one cannot help",
            EndReason::AttemptsExhausted => "every attempt failed",
            EndReason::CyclesExhausted => "too many attempts were lost",
            EndReason::AttemptLost => {
                "an attempt was lost, and whether it had an effect is not known"
            }
            EndReason::DeadlinePassed => "its time was over before an attempt succeeded",
            EndReason::BudgetEmpty => "the retry budget of its upstream was empty",
        };
        let attempts = self.attempts;
        match &self.last_error {
            Some(error) => format!(
                "{reason}; {attempts} attempts, the last error: {} ({})",
                error.detail(),
                error_kind(error)
            ),
            None => format!("{reason}; {attempts} attempts"),
        }
    }
}

/// How long a client should wait before it tries a store again that was not there, in seconds.
const STORE_RETRY_AFTER_S: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    retryable: bool,
}

impl Problem {
    /// The status, the last part of the type, and the title.
    #[expect(clippy::too_many_lines, reason = "a table has one entry for each case")]
    const fn kind(&self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::InvalidBody(_) => (
                StatusCode::BAD_REQUEST,
                "invalid-body",
                "The request body is not valid",
            ),
            Self::InvalidQuery(_) => (
                StatusCode::BAD_REQUEST,
                "invalid-query",
                "The query is not valid",
            ),
            Self::InvalidKey(_) => (
                StatusCode::BAD_REQUEST,
                "invalid-idempotency-key",
                "The Idempotency-Key is not valid",
            ),
            Self::InvalidTenant(_) => (
                StatusCode::BAD_REQUEST,
                "invalid-tenant",
                "The tenant is not clear",
            ),
            Self::EventNotTrusted(_) => (
                StatusCode::UNAUTHORIZED,
                "event-not-trusted",
                "The event is not signed by its sender",
            ),
            Self::InvalidEvent(_) => (
                StatusCode::BAD_REQUEST,
                "invalid-event",
                "The event is not valid",
            ),
            Self::EventNotTaken(_) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "event-not-taken",
                "The event is not of a time that is taken",
            ),
            Self::KeyMissing => (
                StatusCode::BAD_REQUEST,
                "idempotency-key-missing",
                "The Idempotency-Key is missing",
            ),
            Self::InProgress { .. } => (
                StatusCode::CONFLICT,
                "operation-in-progress",
                "The operation is in progress",
            ),
            Self::OperationFailed(_) => (
                StatusCode::BAD_GATEWAY,
                "operation-failed",
                "The operation has failed",
            ),
            Self::OperationCancelled => (
                StatusCode::CONFLICT,
                "operation-cancelled",
                "The operation was cancelled",
            ),
            Self::AlreadyEnded(_) => (
                StatusCode::CONFLICT,
                "operation-ended",
                "The operation has ended already",
            ),
            Self::NotToRetry(_) => (
                StatusCode::CONFLICT,
                "operation-not-to-retry",
                "The operation cannot be started again",
            ),
            Self::NotDead => (
                StatusCode::CONFLICT,
                "event-not-dead",
                "The event is not a dead letter",
            ),
            Self::NotKept(LimitError::TooLarge { .. }) => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "head-too-large",
                "The target or the headers are too large",
            ),
            Self::NotKept(LimitError::Malformed { .. }) => (
                StatusCode::BAD_REQUEST,
                "invalid-head",
                "The target or a header is not valid",
            ),
            Self::Unauthorized => (
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "This needs the operator's token",
            ),
            Self::NotFound(_) => (StatusCode::NOT_FOUND, "not-found", "There is nothing here"),
            Self::MethodNotAllowed(_) => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method-not-allowed",
                "The method is not known here",
            ),
            Self::KeyReused(status) => (
                *status,
                "idempotency-key-reused",
                "The Idempotency-Key belongs to another request",
            ),
            Self::RequestTimeout => (
                StatusCode::REQUEST_TIMEOUT,
                "request-timeout",
                "The request body did not come in time",
            ),
            Self::BodyTooLarge { .. } => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "body-too-large",
                "The request body is too large",
            ),
            Self::UnsupportedMediaType(_) => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "The media type is not known here",
            ),
            Self::StoreUnavailable(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "store-unavailable",
                "The store cannot answer now",
            ),
            Self::StoreRefused(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "store-refused",
                "The store cannot be used",
            ),
            Self::Misconfigured(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "misconfigured",
                "The service is not set up right",
            ),
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::InvalidBody(detail)
            | Self::InvalidTenant(detail)
            | Self::EventNotTrusted(detail)
            | Self::InvalidEvent(detail)
            | Self::EventNotTaken(detail)
            | Self::StoreRefused(detail)
            | Self::Misconfigured(detail) => detail.clone(),
            Self::InvalidKey(detail)
            | Self::InvalidQuery(detail)
            | Self::NotFound(detail)
            | Self::UnsupportedMediaType(detail) => (*detail).to_owned(),
            Self::Unauthorized => {
                "send the token that the variable admin_token sets, as a bearer token".to_owned()
            }
            Self::MethodNotAllowed(allowed) => format!("this route knows {allowed}"),
            Self::KeyMissing => "this operation needs the header Idempotency-Key: one key for each operation, the same \
                                 on every repeat"
                .to_owned(),
            Self::InProgress { location, .. } => {
                format!("send the request again later, or look at {location}")
            }
            Self::OperationFailed(failure) => failure.detail(),
            Self::NotKept(error) => error.to_string(),
            Self::NotDead => "only an event that was given up can be replayed or dropped".to_owned(),
            Self::OperationCancelled => {
                "it will not be carried out under this key; a new operation needs a new key".to_owned()
            }
            Self::AlreadyEnded(how) | Self::NotToRetry(how) => format!("it is {how}"),
            Self::KeyReused(_) => {
                "the key was first used with other content; a new operation needs a new key"
                    .to_owned()
            }
            Self::RequestTimeout => "nothing was done; send the request again".to_owned(),
            Self::BodyTooLarge { max } => format!("at most {max} bytes are taken"),
            Self::StoreUnavailable(detail) => {
                format!(
                    "{detail}; whether the request had an effect is known once it is sent again with its key"
                )
            }
        }
    }

    /// The answer to the client.
    #[must_use]
    pub fn reply(&self) -> Reply {
        let (status, name, title) = self.kind();
        let document = Document {
            r#type: format!("urn:reprise:problem:{name}"),
            title,
            status: status.as_u16(),
            detail: &self.detail(),
            retryable: matches!(
                self,
                Self::StoreUnavailable(_) | Self::RequestTimeout | Self::InProgress { .. }
            ),
        };
        let mut reply = Response::new(ReplyBody::json(&document));
        *reply.status_mut() = status;
        let headers = reply.headers_mut();
        headers.insert(http::header::CONTENT_TYPE, MEDIA_TYPE);
        match self {
            Self::MethodNotAllowed(allowed) => {
                let allowed = HeaderValue::try_from(allowed.as_str());
                headers.insert(ALLOW, allowed.expect("methods are visible ASCII"));
            }
            Self::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::EventNotTrusted(_) => {
                // A 401 names a scheme (RFC 9110, section 11.6.1). This one is not registered: it is said what it is.
                let scheme = HeaderValue::from_static("StandardWebhooks");
                headers.insert(WWW_AUTHENTICATE, scheme);
            }
            Self::StoreUnavailable(_) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(STORE_RETRY_AFTER_S));
            }
            Self::InProgress { retry_after_s, .. } => {
                headers.insert(RETRY_AFTER, HeaderValue::from(*retry_after_s));
            }
            Self::InvalidBody(_)
            | Self::InvalidKey(_)
            | Self::InvalidQuery(_)
            | Self::KeyMissing
            | Self::InvalidTenant(_)
            | Self::InvalidEvent(_)
            | Self::EventNotTaken(_)
            | Self::NotFound(_)
            | Self::KeyReused(_)
            | Self::OperationFailed(_)
            | Self::OperationCancelled
            | Self::AlreadyEnded(_)
            | Self::NotToRetry(_)
            | Self::NotDead
            | Self::NotKept(_)
            | Self::RequestTimeout
            | Self::BodyTooLarge { .. }
            | Self::UnsupportedMediaType(_)
            | Self::StoreRefused(_)
            | Self::Misconfigured(_) => {}
        }
        reply
    }
}

impl From<DriverError> for Problem {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Store(error) => error.into(),
            DriverError::Record(_) => Self::StoreRefused(error.to_string()),
            DriverError::Contended => Self::StoreUnavailable(error.to_string()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unavailable(_) | StoreError::Contended | StoreError::Crowded => {
                Self::StoreUnavailable(error.to_string())
            }
            StoreError::Corrupt { .. } | StoreError::TooLarge { .. } | StoreError::Layout(_) => {
                Self::StoreRefused(error.to_string())
            }
        }
    }
}
