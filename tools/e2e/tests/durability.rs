//! What a Redis that does not wait for the disk loses: answered requests, whose keys are then new again.
//!
//! That a Redis which does wait loses nothing is what `torture` shows, and `claims` for hosts.

use reprise_e2e::{Answer, Client, Host, Options, Sent, State, Upstream, wait_until};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Spin's Redis driver waits for one or two minutes between two attempts to connect.
const RECOVERY: Duration = Duration::from_mins(4);
/// Longer than what `everysec` leaves to the machine.
const WRITTEN: Duration = Duration::from_secs(2);
const CHARGE: &str = r#"{"amount":1999,"currency":"EUR","reference":"r"}"#;

/// Charges, when the store is there.
fn charge(client: &Client, key: &str) -> Answer {
    let start = Instant::now();
    let mut told = None;
    wait_until("an answer", RECOVERY, || {
        let answer = client.post("/charge", Some(key), CHARGE);
        let is_answered = answer.status != 503;
        told = is_answered.then_some(answer);
        is_answered
    });
    println!("{key} was answered after {:?}", start.elapsed());
    told.expect("it was answered")
}

/// The whole machine of the Redis dies and comes back with this on its disk.
fn crash(state: &mut State, disk: Option<&Path>) {
    let redis = state.redis_mut().expect("the run is on Redis");
    redis.kill();
    fs::remove_dir_all(redis.dir()).expect("it is dead");
    match disk {
        Some(disk) => copy(disk, redis.dir()),
        None => fs::create_dir(redis.dir()).expect("it is removed"),
    }
    redis.restart();
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(copied.expect("cp is a program").success());
}

#[test]
fn what_was_answered_in_the_last_second_is_lost_with_everysec_and_is_done_again() {
    let Some(mut state) = State::only_on_redis("its file is behind its answers") else {
        return;
    };
    let redis = state.redis().expect("the run is on Redis");
    assert_eq!(
        redis.command(&[b"CONFIG", b"SET", b"appendfsync", b"everysec"]),
        [b"OK"]
    );
    let upstream = Upstream::start(|_, _| Sent::new(201, &[], b"charged"));
    let options = Options::default().variable("payment_api_url", &upstream.url());
    let host = Host::start(&state, &options);
    let client = host.client();
    let before = charge(&client, "before");
    std::thread::sleep(WRITTEN);
    let disk = state.path().join("disk");
    copy(state.redis().expect("the run is on Redis").dir(), &disk);

    let lost = charge(&client, "lost");
    assert_eq!((lost.status, lost.is_replayed()), (201, false));
    let record = lost.header("operation-location").expect("a record");
    assert_eq!(client.get(record).status, 200);
    crash(&mut state, Some(&disk));

    let again = charge(&client, "lost");
    assert_eq!(
        (again.status, again.is_replayed()),
        (201, false),
        "nobody knows the key any more"
    );
    assert_eq!(client.get(record).status, 404, "nor the operation");
    let seen = upstream.seen();
    assert_eq!(seen.len(), 3, "the charge was made twice");
    assert_ne!(
        seen[1].header("idempotency-key"),
        seen[2].header("idempotency-key"),
        "and the upstream cannot see it"
    );
    let repeat = charge(&client, "before");
    assert!(repeat.is_replayed(), "what was on the disk is there");
    assert_eq!(repeat.lasting(), before.lasting());
}

#[test]
fn a_redis_without_a_file_loses_everything_and_everything_is_done_again() {
    let Some(mut state) = State::only_on_redis("it has no file") else {
        return;
    };
    let upstream = Upstream::start(|_, _| Sent::new(201, &[], b"charged"));
    let options = Options::default().variable("payment_api_url", &upstream.url());
    let host = Host::start(&state, &options);
    let client = host.client();
    assert_eq!(charge(&client, "lost").status, 201);
    crash(&mut state, None);
    let again = charge(&client, "lost");
    assert_eq!((again.status, again.is_replayed()), (201, false));
    assert_eq!(upstream.seen().len(), 2, "the charge was made twice");
    // The store is laid out anew under hosts that go on.
    assert!(charge(&client, "lost").is_replayed());
}
