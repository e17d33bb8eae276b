//! What requests cost: key-value reads and writes, counted by the host on SQLite.

use reprise_e2e::{Answer, Host, Options, State};

/// The reads and writes of one request.
fn cost(host: &Host, request: impl FnOnce() -> Answer) -> (Answer, (u64, u64)) {
    let before = host.key_value_calls();
    let answer = request();
    let after = host.key_value_calls();
    (answer, (after.0 - before.0, after.1 - before.1))
}

#[test]
fn writes_and_reads_per_request_are_those_of_the_design() {
    let why = "the numbers are what its words and swaps take";
    let Some(state) = State::only_on_sqlite(why) else {
        return;
    };
    // One bucket, so that its first use comes first and chains have a known length.
    let host = Host::start(
        &state,
        &Options::default().edit("bucket_bits = 14", "bucket_bits = 0"),
    );
    let client = host.client();
    // Lays the store out, and lets the instance read the layout.
    assert_eq!(
        client
            .get("/tasks/01a22853-fd1b-7326-b8c9-b6e603792457")
            .status,
        404
    );

    let (first, (_, writes)) = cost(&host, || client.task("a", Some("key-1")));
    assert_eq!(
        (first.status, writes),
        (201, 3),
        "a bucket's first use: the word's creation, the node, the swap"
    );
    let (second, (_, writes)) = cost(&host, || client.task("a", Some("key-2")));
    assert_eq!(
        (second.status, writes),
        (201, 2),
        "a new keyed task: the node, the swap"
    );
    let (keyless, (_, writes)) = cost(&host, || client.task("a", None));
    assert_eq!(
        (keyless.status, writes),
        (201, 2),
        "a new task without a key: the node, the swap"
    );

    // The chain now is: keyless, key-2, key-1.
    let (repeat, (reads, writes)) = cost(&host, || client.task("a", Some("key-2")));
    assert_eq!(
        (repeat.status, repeat.is_replayed(), writes),
        (200, true, 0),
        "a repeat writes nothing"
    );
    assert_eq!(
        reads, 3,
        "a repeat reads the word, the record, and the one node before it"
    );
    let (mismatch, (reads, writes)) = cost(&host, || client.task("b", Some("key-1")));
    assert_eq!(
        (mismatch.status, writes),
        (409, 0),
        "a mismatch writes nothing"
    );
    assert_eq!(
        reads, 4,
        "the word, the record, and the two nodes before it"
    );
    let (shown, calls) = cost(&host, || client.get(&format!("/tasks/{}", first.id())));
    assert_eq!(
        (shown.status, calls),
        (200, (1, 0)),
        "a look-up by id is one read"
    );
    let (refused, calls) = cost(&host, || client.task(" ", Some("key-3")));
    assert_eq!(
        (refused.status, calls),
        (400, (0, 0)),
        "bad input touches nothing"
    );
}
