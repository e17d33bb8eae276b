//! Broken files: the settings of an operation.

use super::Case;

/// Further lines of a sound local operation, from line 5.
pub(crate) const OF_TASKS: &[Case] = &[
    (
        "method = 'GET'",
        Some(5),
        "operations.tasks.method",
        "is not one of POST, PUT, PATCH",
    ),
    (
        "quantity_max = 5",
        Some(5),
        "operations.tasks.quantity_max",
        "the handler order alone",
    ),
    (
        "upstream = 'a'",
        Some(5),
        "operations.tasks.upstream",
        "the handler forward alone",
    ),
    (
        "forward_headers = []",
        Some(5),
        "operations.tasks.forward_headers",
        "forward alone",
    ),
    (
        "key = 'none'",
        Some(5),
        "operations.tasks.key",
        "is not one of required, optional",
    ),
    (
        "on_mismatch = 400",
        Some(5),
        "operations.tasks.on_mismatch",
        "is neither 409 nor 422",
    ),
    (
        "while_unfinished = 'wait'",
        Some(5),
        "operations.tasks.while_unfinished",
        "conflict, record",
    ),
    (
        "when_finished = 'both'",
        Some(5),
        "operations.tasks.when_finished",
        "original, record",
    ),
    (
        "fingerprint = 'json'",
        Some(5),
        "operations.tasks.fingerprint",
        "neither raw nor",
    ),
    (
        "fingerprint = []",
        Some(5),
        "operations.tasks.fingerprint",
        "is an empty list",
    ),
    (
        "fingerprint = [\n'/a',\n'b']",
        Some(7),
        "operations.tasks.fingerprint[1]",
        "begins with a slash",
    ),
    (
        "max_attempts = 101",
        Some(5),
        "operations.tasks.max_attempts",
        "from 1 to 100",
    ),
    (
        "max_cycles = 0",
        Some(5),
        "operations.tasks.max_cycles",
        "from 1 to 100",
    ),
    (
        "backoff = 'constant'",
        Some(5),
        "operations.tasks.backoff",
        "is not a table",
    ),
    (
        "[operations.backoff]\ndelay = '1s'",
        Some(5),
        "operations.tasks.backoff.kind",
        "is missing",
    ),
    (
        "backoff = { kind = 'constant', delay = '1s', cap = '1m' }",
        Some(5),
        "operations.tasks.backoff.cap",
        "is not known; here may be kind, delay",
    ),
    (
        "[operations.backoff]\nkind = 'exponential'\nbase = '2m'\ncap = '1m'",
        Some(8),
        "operations.tasks.backoff.cap",
        "is below backoff.base",
    ),
    (
        "[operations.backoff]\nkind = 'full_jitter'\nbase = '0s'\ncap = '1m'",
        Some(7),
        "operations.tasks.backoff.base",
        "is zero, and so would be every wait",
    ),
    (
        "[operations.backoff]\nkind = 'full_jitter'\nbase = '1s'\ncap = '1m'\nfloor = '2m'",
        Some(9),
        "operations.tasks.backoff.floor",
        "is above backoff.cap",
    ),
    (
        "backoff = { kind = 'constant', delay = '25h' }",
        Some(5),
        "operations.tasks.backoff.delay",
        "1d",
    ),
    (
        "attempt_timeout = '0s'",
        Some(5),
        "operations.tasks.attempt_timeout",
        "is not from 1ms to 15m",
    ),
    (
        "lease = '5s'",
        Some(5),
        "operations.tasks.lease",
        "is not longer than attempt_timeout",
    ),
    (
        "attempt_timeout = '15m'",
        Some(1),
        "operations.tasks.lease",
        "longer than attempt_timeout, so",
    ),
    (
        "total_deadline = 'never'",
        Some(5),
        "operations.tasks.total_deadline",
        "is not a duration",
    ),
    (
        "total_deadline = '31d'",
        Some(5),
        "operations.tasks.total_deadline",
        "is not from 1ms to 30d",
    ),
    (
        "on_lost_attempt = 'ask'",
        Some(5),
        "operations.tasks.on_lost_attempt",
        "retry, fail",
    ),
    (
        "retention = '0s'",
        Some(5),
        "operations.tasks.retention",
        "is not from 1ms to 400d",
    ),
    (
        "retention = '{{ four }}'",
        Some(5),
        "operations.tasks.retention",
        "is not a duration",
    ),
    (
        "max_request_bytes = 262145",
        Some(5),
        "operations.tasks.max_request_bytes",
        "to 262144",
    ),
    (
        "max_request_bytes = 0",
        Some(5),
        "operations.tasks.max_request_bytes",
        "from 1",
    ),
    (
        "start_delay = '1s'",
        Some(5),
        "operations.tasks.start_delay",
        "is not known",
    ),
    (
        "events = [{ on = 'end', type = 'a', sink = 'b' }]",
        Some(5),
        "operations.tasks.events[0].on",
        "is not one of done, failed, cancelled",
    ),
    (
        "events = [{ on = 'done', type = 'a', sink = 'b' }]",
        Some(5),
        "operations.tasks.events[0].sink",
        "no sink of this file",
    ),
    (
        "events = [{ on = 'done', type = 'a b', sink = 'b' }]",
        Some(5),
        "operations.tasks.events[0].type",
        "visible ASCII",
    ),
    (
        "[sinks.b]\nurl = 'http://b.example'\nsecrets = ['whsec_cmVwcmlzZS1kZXZlbG9wbWVudC1vbmx5LXNlY3JldCEh']\n[[operations]]\nname = 'o'\nroute = '/o'\n\
         handler = 'order'\nevents = [\n\
         { on = 'failed', type = 'a', sink = 'b' },\n{ on = 'failed', type = 'a', sink = 'b' },\n\
         { on = 'failed', type = 'a', sink = 'b' },\n{ on = 'failed', type = 'a', sink = 'b' },\n\
         { on = 'done', type = 'a', sink = 'b' },\n{ on = 'failed', type = 'a', sink = 'b' },\n]",
        Some(18),
        "operations.o.events[5]",
        "at most 4 for one end",
    ),
    (
        "[[operations]]\nname = 'tasks'\nroute = '/other'\nhandler = 'analyze'",
        Some(6),
        "operations.tasks.name",
        "another operation",
    ),
    (
        "[[operations]]\nname = 'b'\nroute = '/tasks'\nhandler = 'analyze'",
        Some(7),
        "operations.b.route",
        "matches requests that operations.tasks matches too",
    ),
];
