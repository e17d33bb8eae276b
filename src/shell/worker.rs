//! The worker: does the work of an operation, or has an upstream do it.

use super::app::Open;
use super::outgoing::{CallLimits, Outgoing};
use super::{forward, local};
use crate::config::{Handler, Operation, Upstream as UpstreamSettings};
use crate::driver::{Attempted, Upstream};
use crate::machine::{
    AttemptError, AttemptStart, Blob, ErrorKind, EventDraft, EventDrafts, OperationResult, Outcome,
    Record, Timestamp,
};
use serde::Serialize;
use std::cell::Cell;
use uuid::Uuid;

/// Who works for one operation within one request.
pub(super) struct Worker<'a, O> {
    operation: &'a Operation,
    upstream: Option<&'a UpstreamSettings>,
    outgoing: &'a O,
    now: Timestamp,
    clock: fn() -> Timestamp,
    worked_on: Cell<Option<Uuid>>,
}

/// What an event says of an operation whose result is too large, or too foreign, to be said itself.
#[derive(Serialize)]
struct Notice<'a> {
    id: Uuid,
    operation: &'a str,
    status: u16,
}

impl<'a, O> Worker<'a, O> {
    /// A worker that takes the time of its own work to be `now`.
    pub(super) fn new<K>(
        open: &'a Open<'_, K, O>,
        operation: &'a Operation,
        now: Timestamp,
    ) -> Self {
        let upstream = match &operation.handler {
            Handler::Forward(forward) => open.config.upstreams.get(&forward.upstream),
            Handler::Analyze | Handler::Order { .. } => None,
        };
        Self {
            operation,
            upstream,
            outgoing: &open.outgoing,
            now,
            clock: open.clock,
            worked_on: Cell::new(None),
        }
    }

    /// Whether the last attempt of this worker was one of this record: then what came of it is no replay. Work that was
    /// done for a record which another request was faster to create is nobody's.
    pub(super) fn has_worked_on(&self, record: &Record) -> bool {
        self.worked_on.get() == Some(record.identity().id)
    }

    /// What the retry budget is shared by: everything that calls the same upstream.
    pub(super) fn budget_name(&self) -> &'a str {
        let name = self
            .upstream
            .map_or(&self.operation.name, |upstream| &upstream.name);
        name.as_str()
    }

    /// Work that is a function of the record takes no time that a deadline could see.
    fn at_once(&self, outcome: Outcome) -> Attempted {
        Attempted {
            outcome,
            ended_at: self.now,
        }
    }

    /// Has no effect but its result.
    fn compute(
        &self,
        record: &Record,
        compute: impl FnOnce(&Record) -> Result<OperationResult, String>,
    ) -> Attempted {
        let outcome = match compute(record) {
            Ok(result) => Outcome::Succeeded {
                events: self.events(record, &result),
                result,
            },
            Err(problem) => terminal(&problem),
        };
        self.at_once(outcome)
    }

    /// The events that tell of a success. A refusal is a result too, but none that the world waits for.
    fn events(&self, record: &Record, result: &OperationResult) -> EventDrafts {
        if result.status >= 400 {
            return EventDrafts::default();
        }
        let identity = record.identity();
        let notice = || {
            let notice = Notice {
                id: identity.id,
                operation: identity.operation.as_str(),
                status: result.status,
            };
            Blob::new(serde_json::to_vec(&notice).expect("a notice has a JSON form"))
        };
        let data = match self.operation.handler {
            Handler::Order { .. } => local::body(result).cloned().unwrap_or_else(notice),
            Handler::Analyze | Handler::Forward(_) => notice(),
        };
        let drafts = self.operation.events_on_done.iter().map(|rule| {
            EventDraft::new(rule.kind.clone(), rule.sink.clone(), data.clone())
                .expect("the data is a few fields")
        });
        EventDrafts::new(drafts.collect())
            .expect("a configuration has no more events than a transition may add")
    }
}

impl<O: Outgoing> Upstream for Worker<'_, O> {
    async fn attempt(&self, record: &Record, start: &AttemptStart) -> Attempted {
        self.worked_on.set(Some(record.identity().id));
        let forward = match &self.operation.handler {
            Handler::Analyze => return self.compute(record, local::analyze),
            Handler::Order { quantity_max } => {
                return self.compute(record, |record| local::order(record, *quantity_max));
            }
            Handler::Forward(forward) => forward,
        };
        let upstream = self
            .upstream
            .expect("a configuration names no upstream that it lacks");
        let request = match forward::request(record, start, self.operation, forward, upstream) {
            Ok(request) => request,
            Err(problem) => return self.at_once(terminal(problem)),
        };
        let now = (self.clock)();
        if start.until.at.is_reached(now) {
            // A store that was slow to take the claim has used the time up. The lease ends not much later, so somebody
            // else may be at work already: nothing is called, and so nothing is called twice.
            let problem = "no time was left to call the upstream";
            return Attempted {
                outcome: Outcome::Retryable {
                    error: AttemptError::new(ErrorKind::Unreachable, problem),
                    hint: None,
                },
                ended_at: now,
            };
        }
        let limits = CallLimits {
            until: start.until.at,
            response_bytes_max: Some(self.operation.response_bytes_max),
        };
        let called = self.outgoing.call(request, limits).await;
        Attempted {
            ended_at: called.ended_at,
            outcome: forward::outcome(called, self.operation, forward, |result| {
                self.events(record, result)
            }),
        }
    }

    fn is_pure(&self) -> bool {
        match self.operation.handler {
            Handler::Analyze | Handler::Order { .. } => true,
            Handler::Forward(_) => false,
        }
    }
}

fn terminal(problem: &str) -> Outcome {
    Outcome::Terminal {
        error: AttemptError::new(ErrorKind::Handler, problem),
    }
}
