//! Broken files: operations.

use super::Case;

/// Whole files: what an operation must have.
pub(crate) const OPERATIONS: &[Case] = &[
    (
        "[[operations]]\nroute = '/a'\nhandler = 'analyze'",
        Some(1),
        "operations[0].name",
        "is missing",
    ),
    (
        "[[operations]]\nname = 'a'\nhandler = 'analyze'",
        Some(1),
        "operations.a.route",
        "is missing",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = '/a'",
        Some(1),
        "operations.a.handler",
        "is missing",
    ),
    (
        "[[operations]]\nname = 'a b'",
        Some(2),
        "operations[0].name",
        "is not a name",
    ),
    (
        "[[operations]]\nname = '{{ four }}'\nx = 1",
        Some(3),
        "operations[0].x",
        "is not known",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = '/a'\nhandler = 'forwards'",
        Some(4),
        "operations.a.handler",
        "is not one of analyze, order, forward",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = '/a'\nhandler = 'forward'",
        Some(1),
        "operations.a.upstream",
        "is missing",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = '/a'\nhandler = 'forward'\nupstream = 'bank'",
        Some(5),
        "operations.a.upstream",
        "no upstream of this file",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = 'a'",
        Some(3),
        "operations.a.route",
        "slash",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = '/-/a'",
        Some(3),
        "operations.a.route",
        "service's own",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = '/inbox'",
        Some(3),
        "operations.a.route",
        "under /inbox",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = '/.well-known/a'",
        Some(3),
        "operations.a.route",
        "under /.well-known",
    ),
    (
        "[[operations]]\nname = 'a'\nroute = '/{x}/a'",
        Some(3),
        "operations.a.route",
        "begins with a parameter",
    ),
];

/// Further lines of a sound operation that forwards, from line 8.
pub(crate) const OF_CHARGE: &[Case] = &[
    (
        "upstream_path = 'a'",
        Some(8),
        "operations.charge.upstream_path",
        "slash",
    ),
    (
        "upstream_path = '/a?b'",
        Some(8),
        "operations.charge.upstream_path",
        "percent-encoded",
    ),
    (
        "upstream_path = '/{from}'",
        Some(8),
        "operations.charge.upstream_path",
        "a parameter that the route has not",
    ),
    (
        "retry_statuses = [429, 500]",
        Some(8),
        "operations.charge.retry_statuses[1]",
        "400 to 499",
    ),
    (
        "retry_statuses = 429",
        Some(8),
        "operations.charge.retry_statuses",
        "is not a list",
    ),
    (
        "max_response_bytes = 1000000",
        Some(8),
        "operations.charge.max_response_bytes",
        "to 262144",
    ),
    (
        "forward_headers = ['accept', 'Authorization']",
        Some(8),
        "operations.charge.forward_headers[1]",
        "proves who a client is",
    ),
    (
        "forward_headers = ['Cookie']",
        Some(8),
        "operations.charge.forward_headers[0]",
        "never forwarded",
    ),
    (
        "forward_headers = ['TE']",
        Some(8),
        "operations.charge.forward_headers[0]",
        "one connection",
    ),
    (
        "forward_headers = ['']",
        Some(8),
        "operations.charge.forward_headers[0]",
        "name of a header",
    ),
    (
        "forward_headers = ['idempotency-key']",
        Some(8),
        "operations.charge.forward_headers",
        "the upstream's own key",
    ),
    (
        "replay_headers = [\n  'etag',\n  'Set-Cookie',\n]",
        Some(10),
        "operations.charge.replay_headers[1]",
        "never replayed",
    ),
    (
        "replay_headers = ['Idempotent-Replayed']",
        Some(8),
        "operations.charge.replay_headers[0]",
        "our own",
    ),
    (
        "replay_headers = ['cache-control']",
        Some(8),
        "operations.charge.replay_headers[0]",
        "never replayed",
    ),
    (
        "replay_headers = ['Upgrade']",
        Some(8),
        "operations.charge.replay_headers[0]",
        "one connection",
    ),
    (
        "[[operations]]\nname = 'b'\nroute = '/charge/all'\nhandler = 'analyze'",
        Some(10),
        "operations.b.route",
        "matches requests that operations.charge matches too",
    ),
];
