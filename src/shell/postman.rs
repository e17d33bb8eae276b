//! The postman: takes the events of records to the sinks that the configuration names.
//!
//! A delivery is one signed request. Its id and its body are the same on every attempt; its time and signature are its
//! own.

use super::outgoing::{CallLimits, Outgoing};
use super::trace::{self, TRACEPARENT, TRACESTATE};
use super::{forward, sinks};
use crate::config::{Config, Sink as SinkSettings};
use crate::driver::kv::Kv;
use crate::driver::store::Store;
use crate::driver::{Delivered, Sink};
use crate::machine::{
    AttemptError, Delivery, DeliveryOutcome, DeliveryStart, ErrorKind, Record, Timestamp,
};
use crate::webhook::{CloudEvent, Message, is_disabled_by, outcome_of, seal};
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderValue};
use http::{Method, Request};

/// Who delivers events.
pub(super) struct Postman<'a, K, O> {
    pub(super) store: &'a Store<K>,
    pub(super) config: &'a Config,
    pub(super) outgoing: &'a O,
    pub(super) clock: fn() -> Timestamp,
}

impl<K: Kv, O: Outgoing> Sink for Postman<'_, K, O> {
    async fn deliver(
        &self,
        record: &Record,
        delivery: &Delivery,
        start: &DeliveryStart,
    ) -> Delivered {
        let Some(sink) = self.config.sinks.get(delivery.event.sink()) else {
            // An operator may replay it once the sink is back.
            return self.undeliverable("the configuration has no sink of this name");
        };
        // A store that cannot say so now is no reason to hold an event back.
        if let Ok(false) = sinks::is_enabled(self.store, &sink.name).await {
            return self.undeliverable("the receiver wants no more events: it answered 410");
        }
        let now = (self.clock)();
        let event = CloudEvent::of_delivery(record, delivery, &self.config.delivery.source);
        let sealed = event.map(|event| seal(&event, sink.mode, &sink.secrets, now));
        let Ok(Ok(message)) = sealed else {
            return self.undeliverable("the event has no form as a webhook");
        };
        let limits = CallLimits {
            until: start.until.at,
            // A receiver has the event by its status; one that then hangs on is not to be sent it again.
            response_bytes_max: None,
        };
        let mut request = request(sink, message);
        trace_on(record, start, request.headers_mut());
        let called = self.outgoing.call(request, limits).await;
        if let Ok(answered) = &called.end
            && is_disabled_by(answered.status.as_u16())
        {
            // Should this fail, the next event learns it anew.
            let _ = sinks::disable(self.store, &sink.name, record.identity().id, start).await;
        }
        let outcome = match called.end {
            Ok(answered) => {
                outcome_of(answered.status.as_u16(), &answered.headers, called.ended_at)
            }
            Err(error) => DeliveryOutcome::Retryable {
                error: error.of_attempt("the receiver did not answer in time"),
                hint: None,
            },
        };
        Delivered {
            outcome,
            ended_at: called.ended_at,
        }
    }
}

impl<K, O> Postman<'_, K, O> {
    fn undeliverable(&self, why: &str) -> Delivered {
        Delivered {
            outcome: DeliveryOutcome::Rejected {
                error: AttemptError::new(ErrorKind::Handler, why),
            },
            ended_at: (self.clock)(),
        }
    }
}

/// Has a delivery belong to its record's trace.
fn trace_on(record: &Record, start: &DeliveryStart, headers: &mut HeaderMap) {
    let span = trace::of_record(record).of_delivery(record.identity().id, start.seq, start.attempt);
    headers.insert(TRACEPARENT, span);
    let mut kept = forward::lines(record.origin().input.headers());
    if let Some((name, state)) = kept.find(|(name, _)| *name == TRACESTATE) {
        headers.insert(name, state);
    }
}

fn request(sink: &SinkSettings, message: Message) -> Request<Vec<u8>> {
    let length = HeaderValue::from(message.body.len());
    let mut request = Request::new(message.body);
    *request.method_mut() = Method::POST;
    request.uri_mut().clone_from(&sink.url);
    for (name, value) in message.headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            request.headers_mut().append(name, value);
        }
    }
    request.headers_mut().insert(CONTENT_LENGTH, length);
    request
}
