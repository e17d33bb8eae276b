//! What lies in the store's file: exactly what a record is for, and of secrets nothing but hashes.

use super::setting::{TOKEN, options};
use reprise_e2e::{Host, Sent, State, Upstream};
use rusqlite::Connection;

/// Parts of a request and of its response, each with whether the file has it.
const PARTS: [(&str, bool); 22] = [
    // Of the request what another attempt and the key's check need.
    ("request-body-canary", true),
    ("query-canary", true),
    ("path-canary", true),
    ("text-plain-canary", true),
    ("x-shop-canary", true),
    ("tracestate-canary", true),
    // Of the response what a repeat gets.
    ("response-body-canary", true),
    ("location-canary", true),
    // Of what proves who somebody is, nothing.
    ("authorization-canary", false),
    ("cookie-canary", false),
    ("proxy-authorization-canary", false),
    ("x-api-key-canary", false),
    ("upstream-secret-7c1", false),
    (TOKEN, false),
    ("key-canary", false),
    // Nor what no list names.
    ("user-agent-canary", false),
    ("forwarded-for-canary", false),
    ("referer-canary", false),
    ("set-cookie-canary", false),
    ("www-authenticate-canary", false),
    ("server-canary", false),
    ("x-other-canary", false),
];

fn upstream() -> Upstream {
    Upstream::start(|_, _| {
        let headers = [
            ("Location", "/location-canary"),
            ("Set-Cookie", "a=set-cookie-canary"),
            ("WWW-Authenticate", "www-authenticate-canary"),
            ("Server", "server-canary"),
            ("X-Other", "x-other-canary"),
        ];
        Sent::new(201, &headers, b"response-body-canary")
    })
}

/// Sends a request with a canary in each part.
fn send(host: &Host) {
    let headers = [
        ("idempotency-key", "key-canary"),
        ("authorization", "Bearer authorization-canary"),
        ("cookie", "session=cookie-canary"),
        ("proxy-authorization", "Basic proxy-authorization-canary"),
        ("x-api-key", "x-api-key-canary"),
        ("content-type", "text/plain; a=text-plain-canary"),
        ("x-shop", "x-shop-canary"),
        (
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ),
        ("tracestate", "vendor=tracestate-canary"),
        ("user-agent", "user-agent-canary"),
        ("x-forwarded-for", "forwarded-for-canary"),
        ("referer", "https://referer-canary.example"),
    ];
    let path = "/items/path-canary/parts?q=query-canary";
    let answer = host
        .client()
        .send("PUT", path, &headers, b"request-body-canary");
    assert_eq!(answer.expect("an answer").status, 201);
}

/// An operator who is let in leaves no trace of the token either.
fn look(host: &Host, path: &str, method: &str) {
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("authorization", authorization.as_str())];
    let answer = host.client().send(method, path, &headers, b"");
    assert_eq!(answer.expect("an answer").status, 200, "{path}");
}

#[test]
fn the_file_has_what_a_record_is_for_and_nothing_else() {
    let upstream = upstream();
    let state = State::new();
    let mut host = Host::start(&state, &options(&upstream.url()));
    send(&host);
    look(&host, "/-/tick", "POST");
    look(&host, "/-/metrics", "GET");
    let log = host.log().join("\n");
    host.kill();
    for (canary, is_kept) in PARTS {
        assert_eq!(state.holds(canary.as_bytes()), is_kept, "{canary}");
        assert!(!log.contains(canary), "{canary} is in the log");
    }
}

/// With short lists and a small limit for responses, of a message nothing stays but what another attempt needs.
#[test]
fn lists_and_limits_keep_less() {
    let upstream = upstream();
    let state = State::new();
    let less = "forward_headers = []\nreplay_headers = []\nmax_response_bytes = 1\n";
    let options =
        options(&upstream.url()).edit("forward_headers = [\"content-type\", \"x-shop\"]\n", less);
    let mut host = Host::start(&state, &options);
    send(&host);
    host.kill();
    for (canary, is_kept) in [
        ("request-body-canary", true),
        ("path-canary", true),
        ("text-plain-canary", false),
        ("x-shop-canary", false),
        ("response-body-canary", false),
        ("location-canary", false),
    ] {
        assert_eq!(state.holds(canary.as_bytes()), is_kept, "{canary}");
    }
}

/// SQLite leaves the bytes of a deleted row in its file until something else takes the room, or the file is written
/// anew.
#[test]
fn what_was_purged_is_gone_once_the_file_is_written_anew() {
    let why = "Redis writes its files anew by itself";
    let Some(state) = State::only_on_sqlite(why) else {
        return;
    };
    let upstream = upstream();
    let short = "[store]\npurge_grace = \"0s\"";
    let options = options(&upstream.url()).edit("[store]", short).edit(
        "fingerprint = \"raw\"",
        "fingerprint = \"raw\"\nretention = \"1s\"",
    );
    let mut host = Host::start(&state, &options);
    send(&host);
    reprise_e2e::wait_until("the purge", std::time::Duration::from_secs(20), || {
        look(&host, "/-/tick", "POST");
        let file = state.file();
        let store = Connection::open(file).expect("the store's file");
        let records = "SELECT count(*) FROM spin_key_value WHERE instr(value, 'canary') > 0";
        let left: i64 = store
            .query_row(records, [], |row| row.get(0))
            .expect("it counts");
        left == 0
    });
    host.kill();
    let store = Connection::open(state.file()).expect("the store's file");
    store
        .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        .expect("nobody else has it open");
    drop(store);
    assert!(!state.holds(b"canary"));
}
