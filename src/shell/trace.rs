//! W3C Trace Context: which trace a request belongs to, and how it goes on at the upstream and at the receivers of events.
//!
//! A client's `traceparent` is kept with the record, so that an attempt which a later request runs still belongs to the
//! trace of the first, and so does a delivery. A request without one starts a trace of its own, named after the record and
//! not sampled. The log names the trace, too.

use crate::machine::{Record, TraceId};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use uuid::Uuid;

/// Names the trace and the caller's place in it.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What vendors add to it.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The trace that a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// Its id, never all zero.
    pub id: TraceId,
    /// The flags, of which the lowest bit says that the caller records.
    pub flags: u8,
}

impl Trace {
    /// The trace of a client's request; `None` when it names none, or names it wrongly, which the standard treats alike.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(TRACEPARENT).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return None;
        };
        Self::parse(line.to_str().ok()?)
    }

    /// Reads `version-trace-parent-flags` (section 3.2 of the standard). Later versions may add fields behind those of
    /// version 00.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(5, '-');
        let version = hex_byte(fields.next()?)?;
        let id = fields.next()?.parse::<TraceId>().ok()?;
        let parent = fields.next()?;
        let flags = hex_byte(fields.next()?)?;
        let is_parent = parent.len() == 16
            && parent.bytes().all(is_hex)
            && parent.bytes().any(|byte| byte != b'0');
        let is_known = version != 0xff && (version != 0 || fields.next().is_none());
        let is_id = id.as_bytes().iter().any(|byte| *byte != 0);
        (is_parent && is_known && is_id).then_some(Self { id, flags })
    }

    /// The trace of an operation whose client named none.
    #[must_use]
    pub const fn started_by(record: Uuid) -> Self {
        Self {
            id: TraceId::new(*record.as_bytes()),
            flags: 0,
        }
    }

    /// The `traceparent` of one attempt, which is a span of its own.
    #[must_use]
    pub fn of_attempt(&self, record: Uuid, attempt: u32) -> HeaderValue {
        self.of_span(record, &[attempt])
    }

    /// The `traceparent` of one attempt at the delivery of an event, which is a span of its own.
    #[must_use]
    pub fn of_delivery(&self, record: Uuid, seq: u32, attempt: u32) -> HeaderValue {
        self.of_span(record, &[seq, attempt])
    }

    fn of_span(&self, record: Uuid, numbers: &[u32]) -> HeaderValue {
        /// The flags that the standard has; the others are to be sent as 0.
        const FLAGS: u8 = 0b11;
        let mut hash = Sha256::new();
        hash.update(record.as_bytes());
        for number in numbers {
            hash.update(number.to_le_bytes());
        }
        let mut span = String::with_capacity(16);
        for byte in &hash.finalize()[..8] {
            write!(span, "{byte:02x}").expect("a string takes every text");
        }
        let line = format!("00-{}-{span}-{:02x}", self.id, self.flags & FLAGS);
        HeaderValue::try_from(line).expect("hexadecimal digits and dashes are visible ASCII")
    }
}

/// The trace that a record belongs to.
#[must_use]
pub fn of_record(record: &Record) -> Trace {
    let lines = record.origin().input.headers().lines().iter();
    let mut lines = lines.filter(|(name, _)| TRACEPARENT == name.as_str());
    let sent = lines.next().and_then(|(_, line)| Trace::parse(line));
    sent.unwrap_or(Trace::started_by(record.identity().id))
}

/// The vendors' part of a client's trace, in one line (section 3.3 of the standard). What is beyond the size that the
/// standard wants passed on is left out, entry by entry: first the long ones, then those at the end.
#[must_use]
pub fn state_of(headers: &HeaderMap) -> Option<String> {
    const BYTES_MAX: usize = 512;
    const ENTRY_BYTES_MAX: usize = 128;
    let mut entries = Vec::new();
    for line in headers.get_all(TRACESTATE) {
        let line = line.to_str().ok()?;
        entries.extend(line.split(',').map(str::trim_ascii));
    }
    entries.retain(|entry| !entry.is_empty());
    // Each with its comma. A length that is taken anew for each entry that goes would cost the square of what a client sends.
    let bytes = |entry: &&str| entry.len() + 1;
    if entries.iter().map(bytes).sum::<usize>() > BYTES_MAX + 1 {
        entries.retain(|entry| entry.len() <= ENTRY_BYTES_MAX);
    }
    let mut left = BYTES_MAX + 1;
    let mut fits = |entry: &&str| match left.checked_sub(bytes(entry)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let fitting = entries.iter().take_while(|entry| fits(entry)).count();
    entries.truncate(fitting);
    (!entries.is_empty()).then(|| entries.join(","))
}

fn hex_byte(text: &str) -> Option<u8> {
    (text.len() == 2 && text.bytes().all(is_hex))
        .then(|| u8::from_str_radix(text, 16).ok())
        .flatten()
}

/// The standard has lower-case digits only.
const fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn parse(line: &str) -> Option<(String, u8)> {
        let mut headers = HeaderMap::new();
        headers.append(
            TRACEPARENT,
            HeaderValue::from_str(line).expect("a header value"),
        );
        Trace::of(&headers).map(|trace| (trace.id.to_string(), trace.flags))
    }

    #[test]
    fn a_trace_is_read_as_the_standard_writes_it() {
        let known = |flags| Some((ID.to_owned(), flags));
        let table: &[(&str, Option<(String, u8)>)] = &[
            (
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                known(1),
            ),
            (
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
                known(0),
            ),
            (
                "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-ever",
                known(1),
            ),
            (
                "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
                None,
            ),
            (
                "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                None,
            ),
            (
                "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                None,
            ),
            (
                "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                None,
            ),
            (
                "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                None,
            ),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", None),
            (
                "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
                None,
            ),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(parse(line), *expected, "{line}");
        }
    }

    #[test]
    fn the_vendors_part_is_passed_on_where_a_record_can_keep_it() {
        let longest = "k".repeat(512);
        let too_long = "k".repeat(513);
        let [half, rest] = [256, 255].map(|length| "k".repeat(length));
        let both = format!("{half},{rest}");
        let [long, short] = [129, 128].map(|length| "k".repeat(length));
        let many = ["a"; 256].join(",");
        let four = [&*short; 4].join(",");
        let three = [&*short; 3].join(",");
        let table: &[(&[&str], Option<&str>)] = &[
            (&["a=1, b=2"], Some("a=1,b=2")),
            (&[&longest], Some(&longest)),
            (&[&too_long], None),
            (&["a=1,\tb=2,"], Some("a=1,b=2")),
            (&["a=1", "b=2"], Some("a=1,b=2")),
            (&[&half, &rest], Some(&both)),
            (&[&long, &four, "a=1"], Some(&three)),
            (&[&too_long, "a=1"], Some("a=1")),
            (&[&*",a".repeat(100_000)], Some(&many)),
            (&["", " , "], None),
            (&[], None),
        ];
        for (lines, expected) in table {
            let mut headers = HeaderMap::new();
            for line in *lines {
                let line = HeaderValue::from_str(line).expect("a header value");
                headers.append(TRACESTATE, line);
            }
            assert_eq!(state_of(&headers).as_deref(), *expected, "{lines:?}");
        }
    }

    #[test]
    fn each_attempt_is_a_span_of_the_same_trace() {
        let record = Uuid::from_u128(7);
        let trace = Trace::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
            .expect("a trace");
        let spans = [1, 2].map(|attempt| trace.of_attempt(record, attempt));
        assert_ne!(spans[0], spans[1]);
        for span in spans {
            let again = Trace::parse(span.to_str().expect("visible ASCII"));
            assert_eq!(again, Some(trace));
        }
        assert_ne!(
            trace.of_delivery(record, 1, 1),
            trace.of_delivery(record, 1, 2)
        );
        let unknown = Trace {
            flags: 0xff,
            ..trace
        }
        .of_attempt(record, 1);
        assert!(unknown.to_str().expect("visible ASCII").ends_with("-03"));
        let own = Trace::started_by(record).of_attempt(record, 1);
        assert!(own.to_str().expect("visible ASCII").ends_with("-00"));
    }
}
