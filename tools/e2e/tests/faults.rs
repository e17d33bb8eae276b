//! A store that is down, locked, full, or somebody else's: nothing runs unprotected, nothing is lost, and the service
//! recovers by itself when the store does.

use reprise_e2e::{Answer, Client, Host, Options, State, wait_until};
use rusqlite::Connection;
use std::fs;
use std::time::{Duration, Instant};

/// Where the layout is.
const LAYOUT: &str = "w/layout";

/// Spin's Redis driver waits for one or two minutes between two tries to connect.
const RECOVERY: Duration = Duration::from_mins(4);

#[track_caller]
fn assert_problem(answer: &Answer, problem: &str, retryable: bool) {
    assert_eq!(answer.status, 503, "{answer:?}");
    let document = answer.json();
    assert_eq!(
        document["type"],
        format!("urn:reprise:problem:{problem}"),
        "{answer:?}"
    );
    assert_eq!(document["retryable"], retryable, "{answer:?}");
    assert_eq!(
        answer.header("retry-after").is_some(),
        retryable,
        "{answer:?}"
    );
}

#[track_caller]
fn assert_unavailable(answer: &Answer) {
    assert_problem(answer, "store-unavailable", true);
}

/// The task that every test begins with.
fn task_before(client: &Client) -> Answer {
    client.task("before", Some("before"))
}

/// What was answered before the fault is answered again: a repeat only reads.
#[track_caller]
fn assert_repeated(client: &Client, before: &Answer) {
    let repeat = task_before(client);
    assert_eq!((repeat.status, repeat.id()), (200, before.id()));
}

/// While the store takes nothing in, a new task is refused, and what is there is still answered.
#[track_caller]
fn assert_takes_nothing_in(client: &Client, before: &Answer) {
    assert_unavailable(&client.task("during", Some("during")));
    assert_repeated(client, before);
}

#[test]
fn a_locked_store_is_unavailable_until_the_lock_goes() {
    let Some(state) = State::only_on_sqlite("somebody locks its file") else {
        return;
    };
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let before = task_before(&client);
    let lock = Connection::open(state.file()).expect("the store's file");
    lock.execute_batch("BEGIN IMMEDIATE")
        .expect("nobody else writes");

    assert_takes_nothing_in(&client, &before);
    assert_eq!(client.get("/-/healthz").status, 200);

    lock.execute_batch("ROLLBACK").expect("the lock is ours");
    let during = client.task("during", Some("during"));
    assert!(matches!(during.status, 200 | 201), "{during:?}");
    assert_eq!(client.task("during", Some("during")).id(), during.id());
}

#[test]
fn a_full_store_is_unavailable_until_there_is_room() {
    a_full_store(&Options::default());
}

#[test]
fn so_is_one_whose_file_has_the_journal_that_spin_gives_it() {
    a_full_store(&Options::default().journal("delete"));
}

fn a_full_store(options: &Options) {
    let Some(state) = State::only_on_sqlite("its file cannot grow") else {
        return;
    };
    let mut host = Host::start(&state, options);
    let before = task_before(&host.client());
    host.kill();
    // Somebody else's data fills the file up to the limit, which the host then cannot go beyond.
    let length = fill(
        &Connection::open(state.file()).expect("the store's file"),
        &state,
    );
    let host = Host::start_with_file_limit(&state, options, length);
    let large = "x".repeat(100_000);
    let client = host.client();
    // A write-ahead log may become as long as the file before it is full too.
    let mut taken = Vec::new();
    let (key, refused) = (0..1_000)
        .map(|number| format!("during-{number}"))
        .find_map(|key| {
            let answer = client.task(&large, Some(&key));
            if answer.status != 201 {
                return Some((key, answer));
            }
            taken.push((key, answer.id()));
            None
        })
        .expect("there is a limit");
    assert_unavailable(&refused);
    let charge = client.post(
        "/charge",
        Some("c"),
        r#"{"amount":1,"currency":"EUR","reference":"full"}"#,
    );
    let is_charged = client.get("/payment-sandbox/charges?reference=full");
    if charge.status != 201 {
        assert_unavailable(&charge);
        assert_eq!(
            is_charged.json()["charges"],
            0,
            "nothing runs that cannot be written down"
        );
    }
    assert_repeated(&client, &before);

    // There is room again: the same host goes on, and after it another one, and both know all that was taken.
    host.lift_file_limit();
    let during = client.task(&large, Some(&key));
    assert!(matches!(during.status, 200 | 201), "{during:?}");
    taken.push((key, during.id()));
    taken.push(("before".to_owned(), before.id()));
    let is_all_there = |client: &Client| {
        for (key, id) in &taken {
            let text = if key == "before" { key } else { &large };
            let repeat = client.task(text, Some(key));
            assert_eq!((repeat.status, &repeat.id()), (200, id), "{key}");
        }
    };
    is_all_there(&client);
    drop(host);
    is_all_there(&Host::start(&state, options).client());
}

/// Fills the store's file so far that a program which is limited to its length still starts, and gives that length.
fn fill(store: &Connection, state: &State) -> u64 {
    const ENOUGH: u64 = 16 << 20;
    let filler = vec![0_u8; 1 << 20];
    let insert = "INSERT INTO spin_key_value (store, key, value) VALUES ('filler', ?1, ?2)";
    for number in 0.. {
        let length = fs::metadata(state.file()).expect("the store's file").len();
        if length >= ENOUGH {
            return length;
        }
        store
            .execute(insert, rusqlite::params![number, filler])
            .expect("there is room yet");
    }
    unreachable!("the file grows with each row")
}

#[test]
fn a_store_that_cannot_be_opened_is_unavailable_until_it_can() {
    let Some(state) = State::only_on_sqlite("its file cannot be opened") else {
        return;
    };
    // A folder lies where the file should be.
    fs::create_dir(state.file()).expect("the state is new");
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    assert_unavailable(&client.task("during", Some("key")));
    fs::remove_dir(state.file()).expect("it is empty");
    assert_eq!(client.task("during", Some("key")).status, 201);
}

#[test]
fn a_full_redis_is_unavailable_until_there_is_room() {
    let Some(state) = State::only_on_redis("its server has no more room") else {
        return;
    };
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let before = task_before(&client);
    assert_eq!(before.status, 201, "{before:?}");
    let room = |bytes: &[u8]| {
        let redis = state.redis().expect("the run is on Redis");
        assert_eq!(
            redis.command(&[b"CONFIG", b"SET", b"maxmemory", bytes]),
            [b"OK"]
        );
    };
    room(b"1");
    assert_takes_nothing_in(&client, &before);
    room(b"0");
    assert_eq!(client.task("during", Some("during")).status, 201);
}

#[test]
fn a_redis_that_is_down_is_unavailable_until_it_is_back() {
    let Some(mut state) = State::only_on_redis("its server is away") else {
        return;
    };
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let before = task_before(&client);
    assert_eq!(before.status, 201, "{before:?}");
    let redis = state.redis_mut().expect("the run is on Redis");
    redis.kill();
    assert_unavailable(&client.task("during", Some("during")));
    redis.restart();
    let back = Instant::now();
    // Each host finds its own way back.
    let hosts = state.arrangement().hosts();
    let mut row = 0;
    wait_until("the recovery", RECOVERY, || {
        let answer = client.task("during", Some("during"));
        assert!(matches!(answer.status, 200 | 201 | 503), "{answer:?}");
        row = if answer.status == 503 { 0 } else { row + 1 };
        row == hosts * 2
    });
    println!("Redis was used again after {:?}", back.elapsed());
    assert_repeated(&client, &before);
}

#[test]
fn a_store_of_another_layout_is_refused_and_left_alone() {
    for layout in [
        &b"RPRS\x09\x01\x0e\x00"[..],
        b"somebody",
        b"another program's document",
    ] {
        let state = State::new();
        let mut host = Host::start(&state, &Options::default());
        let before = task_before(&host.client());
        host.kill();
        let ours = state.spoil(LAYOUT, layout);

        let mut host = Host::start(&state, &Options::default());
        assert_problem(
            &host.client().task("during", Some("during")),
            "store-refused",
            false,
        );
        assert_problem(
            &host.client().get(&format!("/tasks/{}", before.id())),
            "store-refused",
            false,
        );
        host.kill();
        assert_eq!(state.spoil(LAYOUT, &ours), layout, "it was left as it was");

        let host = Host::start(&state, &Options::default());
        assert_repeated(&host.client(), &before);
    }
}

#[test]
fn a_bad_bucket_is_reported_by_the_tick_and_its_neighbours_are_purged() {
    let state = State::new();
    let options = Options::default()
        .variable("admin_token", "token")
        .variable("retention", "1s")
        .variable("purge_grace", "0s")
        .edit("bucket_bits = 14", "bucket_bits = 3");
    let host = Host::start(&state, &options);
    let client = host.client();
    for number in 0..40 {
        assert_eq!(
            client
                .task("short-lived", Some(&format!("key-{number}")))
                .status,
            201
        );
    }
    state.spoil("w/b/00000", b"\0");
    // The walk has a node of its own from the first tick on, and a word that leads to it.
    let left = || state.count_keys("n/") - state.count_keys("w/d/");
    let before = left();
    let mut purged = 0;
    wait_until(
        "the clean-up of the other buckets",
        Duration::from_mins(1),
        || {
            let headers = [("authorization", "Bearer token")];
            let tick = client
                .send("POST", "/-/tick", &headers, b"")
                .expect("a tick is answered");
            assert_eq!(
                (tick.status, &tick.json()["failed"]),
                (200, &1.into()),
                "{tick:?}"
            );
            let count = tick.json()["records_purged"].as_u64();
            purged += usize::try_from(count.expect("a tick counts")).expect("a count");
            assert_eq!(left(), before - purged);
            purged > 25
        },
    );
}
