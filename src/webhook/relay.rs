//! The sender's side: the event that a record's outbox holds, and what a receiver's answer means for its delivery.

use http::HeaderMap;
use http::header::RETRY_AFTER;

use super::cloudevent::{CloudEvent, EventError, EventParts};
use crate::machine::{
    AttemptError, Delivery, DeliveryOutcome, ErrorKind, Record, Timestamp, parse_retry_after,
};

impl CloudEvent {
    /// The event of a delivery, the same on every attempt. `source` names the service that sends it.
    ///
    /// Its subject is the record's id. The trace is the one that the record belongs to; the span is the event's own, so
    /// that a receiver's work hangs below it.
    pub fn of_delivery(
        record: &Record,
        delivery: &Delivery,
        source: &str,
    ) -> Result<Self, EventError> {
        let id = record.identity().id;
        let trace = record.origin().trace;
        Self::new(EventParts {
            id: delivery.event_id(id),
            source: source.to_owned(),
            kind: delivery.event.kind().as_str().to_owned(),
            subject: Some(id.to_string()),
            time: Some(delivery.occurred_at),
            datacontenttype: Some("application/json".to_owned()),
            traceparent: trace.map(|trace| {
                // Of a record's random bits, one span for each of its events; never the invalid one of zeros alone.
                let span = (id.as_u64_pair().1 ^ u64::from(delivery.seq)).max(1);
                format!("00-{trace}-{span:016x}-01")
            }),
            data: Some(delivery.event.data().as_bytes().to_vec()),
        })
    }
}

/// What a receiver's answer means.
///
/// A receiver that has read the event and says that it will never take it (400, 413, 415, 422), or that it takes none any
/// more (410), has rejected it. Whatever else is not a success may pass: a receiver that is being deployed answers 404,
/// and one whose secret is being changed 401. A redirect is not followed: the sink is where the settings say.
pub fn outcome_of(status: u16, headers: &HeaderMap, now: Timestamp) -> DeliveryOutcome {
    let error = || {
        let detail = format!("the receiver answered {status}");
        AttemptError::new(ErrorKind::Status(status), &detail)
    };
    match status {
        200..=299 => DeliveryOutcome::Accepted,
        400 | 410 | 413 | 415 | 422 => DeliveryOutcome::Rejected { error: error() },
        _ => {
            let hint = headers
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok());
            DeliveryOutcome::Retryable {
                error: error(),
                hint: hint.and_then(|value| parse_retry_after(value, now)),
            }
        }
    }
}

/// Whether a receiver says by this status that it takes no events any more, of whatever kind.
pub const fn is_disabled_by(status: u16) -> bool {
    status == 410
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Millis;
    use http::HeaderValue;

    #[test]
    fn each_status_means_this() {
        let now = Timestamp::from_unix_ms(1_800_000_000_000);
        let headers: HeaderMap = [(RETRY_AFTER, HeaderValue::from_static("7"))]
            .into_iter()
            .collect();
        for status in 200..300 {
            assert_eq!(outcome_of(status, &headers, now), DeliveryOutcome::Accepted);
        }
        for status in [400, 410, 413, 415, 422] {
            let outcome = outcome_of(status, &headers, now);
            assert!(
                matches!(&outcome, DeliveryOutcome::Rejected { error } if error.kind() == ErrorKind::Status(status)),
                "{status}: {outcome:?}"
            );
        }
        for status in [
            101, 301, 307, 401, 403, 404, 408, 409, 425, 429, 500, 502, 503, 504,
        ] {
            let hints = [
                (&headers, Some(Millis::from_secs(7))),
                (&HeaderMap::new(), None),
            ];
            for (headers, expected) in hints {
                let outcome = outcome_of(status, headers, now);
                assert!(
                    matches!(&outcome, DeliveryOutcome::Retryable { hint, .. } if *hint == expected),
                    "{status}: {outcome:?}"
                );
            }
        }
        let disabling: Vec<u16> = (100..600)
            .filter(|status| is_disabled_by(*status))
            .collect();
        assert_eq!(disabling, [410]);
    }
}
