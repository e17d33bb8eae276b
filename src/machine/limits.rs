//! Every bound of the machine, each with its why.
//!
//! What a record may grow to is bounded here, part by part, so that its stored form always fits one value of the
//! smallest store that is supported. A stored record was within the limits of its day: lowering one of the size
//! limits makes older records unreadable and therefore needs a new version of the stored form.

use core::fmt;

use super::time::Millis;

/// Attempts in one cycle. Beyond this a retry policy is an outage of its own.
pub const ATTEMPTS_PER_CYCLE_MAX: u32 = 100;

/// Cycles of one operation. Each cycle after the first stands for a crash, so a loop of crashes ends here at the latest.
pub const CYCLES_MAX: u32 = 100;

/// The shortest wait before a retry. A retry is scheduled for a later instant than now, or a loop could spin.
pub const RETRY_DELAY_MIN: Millis = Millis::new(1);

/// The longest wait before a retry, our own or the upstream's. Longer than a day is a decision for a person.
pub const RETRY_DELAY_MAX: Millis = Millis::from_secs(24 * 60 * 60);

/// The longest lease. A crash blocks its operation for one lease, and a record that lacks its lease gets this one.
pub const LEASE_MAX: Millis = Millis::from_secs(15 * 60);

/// The longest time an operation may take as a whole, waits included.
pub const TOTAL_DEADLINE_MAX: Millis = Millis::from_secs(30 * 24 * 60 * 60);

/// The longest retention of a finished record: a bit over a year, the longest settlement periods that were met.
pub const RETENTION_MAX: Millis = Millis::from_secs(400 * 24 * 60 * 60);

/// How far ahead of our clock another instance's clock is believed. A stamp further ahead was a broken clock.
pub const CLOCK_LEAD_MAX: Millis = Millis::from_secs(10 * 60);

/// Tokens that a retry budget holds, as in gRPC's retry throttling. Twenty bits count their thousandths.
pub const BUDGET_TOKENS_MAX: u32 = 1_000;

/// Attempts that the history remembers; older ones survive as the count alone.
pub const HISTORY_ENTRIES_MAX: usize = 16;

/// Bytes of an error's detail. It is for a person's eyes, and the history keeps several.
pub const ERROR_DETAIL_BYTES_MAX: usize = 256;

/// Bytes of a name: an operation's, an event's kind or a sink's.
pub const NAME_BYTES_MAX: usize = 128;

/// Bytes of a request's method. The longest registered one has 17.
pub const METHOD_BYTES_MAX: usize = 32;

/// Bytes of a request's target, path and query together.
pub const TARGET_BYTES_MAX: usize = 4 * 1_024;

/// Bytes of a request's body. It is kept as it came, for the key's check and for later attempts.
pub const INPUT_BODY_BYTES_MAX: usize = 256 * 1_024;

/// Bytes of a response's body. A longer one is remembered as done without its body.
pub const RESPONSE_BODY_BYTES_MAX: usize = 256 * 1_024;

/// Header lines that are kept of one message.
pub const HEADERS_MAX: usize = 32;

/// Bytes of all kept header names and values of one message together.
pub const HEADERS_BYTES_MAX: usize = 8 * 1_024;

/// Events that one transition may add to the outbox.
pub const EVENTS_PER_TRANSITION_MAX: usize = 4;

/// Events in one outbox, so that a record stays one value of the store.
pub const OUTBOX_EVENTS_MAX: usize = 16;

/// Bytes of an event's data. It is a notice; what it is about can be read at its source.
pub const EVENT_DATA_BYTES_MAX: usize = 4 * 1_024;

/// Bytes of a record's stored form. The portable floor of Spin's key-value stores is 1 MB for a value; the store
/// keeps a head of its own beside the record.
pub const RECORD_BYTES_MAX: usize = 1_000_000 - 1_024;

/// The stored form of bytes is at most half longer than they are, plus a constant; see the `blob` module.
const fn stored_blob_bytes(bytes: usize) -> usize {
    bytes + bytes / 2 + 128
}

/// Text whose only control characters are tabs at most doubles in JSON, when it is all quotes and backslashes.
const fn stored_text_bytes(bytes: usize) -> usize {
    2 * bytes + 64
}

/// Upper bound of a record's stored form, from the bounds of its parts; 256 bytes cover each part's own numbers.
const RECORD_BYTES_BOUND: usize = {
    let message = stored_text_bytes(HEADERS_BYTES_MAX) + HEADERS_MAX * 8;
    let input = stored_blob_bytes(INPUT_BODY_BYTES_MAX)
        + stored_text_bytes(TARGET_BYTES_MAX)
        + stored_text_bytes(METHOD_BYTES_MAX)
        + message;
    let result = stored_blob_bytes(RESPONSE_BODY_BYTES_MAX) + message;
    let error = stored_text_bytes(ERROR_DETAIL_BYTES_MAX) + 256;
    let event = stored_blob_bytes(EVENT_DATA_BYTES_MAX)
        + 2 * stored_text_bytes(NAME_BYTES_MAX)
        + error
        + 256;
    let rest = 4 * 1_024;
    input + result + (HISTORY_ENTRIES_MAX + 1) * error + OUTBOX_EVENTS_MAX * event + rest
};
const _: () = assert!(
    RECORD_BYTES_BOUND <= RECORD_BYTES_MAX,
    "a full record must fit one stored value"
);

/// Something from outside is larger than a limit allows, or is not of the kind that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// There is too much of it.
    TooLarge {
        /// What was too large.
        what: &'static str,
        /// How large it was, in the limit's unit.
        found: usize,
        /// The limit.
        max: usize,
    },
    /// It is empty or holds characters that are not kept.
    Malformed {
        /// What was malformed.
        what: &'static str,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { what, found, max } => {
                write!(f, "{what} is too large: {found}, at most {max}")
            }
            Self::Malformed { what } => {
                write!(f, "{what} is empty or has characters that are not allowed")
            }
        }
    }
}

impl core::error::Error for LimitError {}

/// Passes when `found` is within `max`.
pub(super) const fn within(what: &'static str, found: usize, max: usize) -> Result<(), LimitError> {
    if found > max {
        Err(LimitError::TooLarge { what, found, max })
    } else {
        Ok(())
    }
}
