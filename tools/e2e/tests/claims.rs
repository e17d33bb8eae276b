//! Claims under concurrency and crashes: of any number of first requests for a key exactly one creates, and whatever was
//! answered is kept. On SQLite with one process, on a real Redis with two.

use reprise_e2e::{Answer, Host, Options, Redis};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const KEYS: usize = 50;
const CLIENTS: usize = 40;
const KILLS: u32 = 30;

/// Lets this many clients ask for one key at once, spread over the hosts, and gives what they were answered.
fn rush(hosts: &[&Host], key: &str, clients: usize) -> Vec<Answer> {
    let start = Barrier::new(clients);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|number| {
                let client = hosts[number % hosts.len()].client();
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    client.task("one text", Some(key))
                })
            })
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("a client does not panic"))
            .collect()
    })
}

/// Exactly one client created, all others were given the same record.
fn one_created(answers: &[Answer], key: &str) -> String {
    let created: Vec<&Answer> = answers
        .iter()
        .filter(|answer| answer.status == 201)
        .collect();
    assert_eq!(created.len(), 1, "{key}: {:?}", statuses(answers));
    assert!(!created[0].is_replayed(), "{key}");
    let repeats = answers
        .iter()
        .filter(|answer| answer.status == 200 && answer.is_replayed());
    assert_eq!(
        repeats.count(),
        answers.len() - 1,
        "{key}: {:?}",
        statuses(answers)
    );
    let ids: BTreeSet<String> = answers.iter().map(Answer::id).collect();
    assert_eq!(ids.len(), 1, "{key}: {ids:?}");
    created[0].id()
}

fn statuses(answers: &[Answer]) -> BTreeMap<u16, usize> {
    let mut statuses = BTreeMap::new();
    for answer in answers {
        *statuses.entry(answer.status).or_default() += 1;
    }
    statuses
}

#[test]
fn of_forty_first_requests_one_creates_on_sqlite() {
    let state = TempDir::new().unwrap();
    let host = Host::start(state.path(), &Options::default());
    let ids: BTreeSet<String> = (0..KEYS)
        .map(|number| {
            let key = format!("key-{number}");
            one_created(&rush(&[&host], &key, CLIENTS), &key)
        })
        .collect();
    assert_eq!(ids.len(), KEYS);
    assert_eq!(
        sqlite_keys(&state, "n/") - sqlite_keys(&state, "w/d/"),
        KEYS,
        "one record a key is in the store, beside the walk's own"
    );
    drop(host);
}

#[test]
fn of_forty_first_requests_one_creates_on_a_redis_that_two_hosts_share() {
    let state = TempDir::new().unwrap();
    let redis = Redis::start(state.path());
    let options = Options::default().redis(&redis.url());
    let (one, two) = (
        Host::start(state.path(), &options),
        Host::start(state.path(), &options),
    );
    let ids: BTreeSet<String> = (0..KEYS)
        .map(|number| {
            let key = format!("key-{number}");
            one_created(&rush(&[&one, &two], &key, CLIENTS), &key)
        })
        .collect();
    assert_eq!(ids.len(), KEYS);
    assert_eq!(
        redis.count_keys("n/") - redis.count_keys("w/d/"),
        KEYS,
        "one record a key is in the store, beside the walk's own"
    );
}

#[test]
fn a_kill_loses_nothing_that_was_answered_on_sqlite() {
    let state = TempDir::new().unwrap();
    kill_rounds(&state, &Options::default(), None);
}

#[test]
fn a_kill_loses_nothing_that_was_answered_on_a_redis_that_two_hosts_share() {
    let state = TempDir::new().unwrap();
    let redis = Redis::start(state.path());
    let options = Options::default().redis(&redis.url());
    let neighbour = Host::start(state.path(), &options);
    kill_rounds(&state, &options, Some(&neighbour));
}

/// Kills a host in the middle of requests for fresh keys, again and again, and asks for the keys afterwards. Half of
/// the requests go to a neighbour, where there is one.
fn kill_rounds(state: &TempDir, options: &Options, neighbour: Option<&Host>) {
    let mut answered = 0;
    let mut unanswered = 0;
    for round in 0..KILLS {
        let mut host = Host::start(state.path(), options);
        let start = Instant::now();
        one_record(&host, &format!("round-{round}-warm"));
        // Five requests took this long. The kills come between no time and twice that after the shots.
        let delay = start.elapsed() * 2 * round / KILLS;
        let keys: Vec<String> = (0..8)
            .map(|number| format!("round-{round}-key-{number}"))
            .collect();
        let told = shoot(&mut host, neighbour, &keys, delay);
        let host = Host::start(state.path(), options);
        for (key, told) in keys.iter().zip(&told) {
            // Not stuck: the key is answered. Not doubled: with one record, the one that anybody was told of.
            let id = one_record(&host, key);
            for answer in told {
                assert!(matches!(answer.status, 200 | 201), "{key}: {answer:?}");
                assert_eq!(answer.id(), id, "{key}: what was answered is there");
            }
            if let Some(neighbour) = neighbour {
                assert_eq!(
                    one_record(neighbour, key),
                    id,
                    "{key}: both hosts see one record"
                );
            }
            answered += told.len();
            unanswered += 2 - told.len();
        }
    }
    println!("{answered} answers before the kills, {unanswered} requests without one");
    assert!(
        answered > 0 && unanswered > 0,
        "{answered} and {unanswered}: the kills hit the middle"
    );
}

/// Sends two requests for each key, kills the host after a while, and gives the answers that came.
fn shoot(
    host: &mut Host,
    neighbour: Option<&Host>,
    keys: &[String],
    delay: Duration,
) -> Vec<Vec<Answer>> {
    thread::scope(|scope| {
        let shots: Vec<_> = keys
            .iter()
            .map(|key| {
                [host.client(), neighbour.unwrap_or(host).client()]
                    .map(|client| scope.spawn(move || client.try_task("one text", Some(key)).ok()))
            })
            .collect();
        thread::sleep(delay);
        host.kill();
        let join = |pair: [thread::ScopedJoinHandle<'_, Option<Answer>>; 2]| {
            pair.into_iter()
                .filter_map(|shot| shot.join().expect("a client does not panic"))
                .collect()
        };
        shots.into_iter().map(join).collect()
    })
}

/// Asks for a key twice: both answers name one record.
fn one_record(host: &Host, key: &str) -> String {
    let first = host.client().task("one text", Some(key));
    assert!(matches!(first.status, 200 | 201), "{key}: {first:?}");
    let second = host.client().task("one text", Some(key));
    assert_eq!((second.status, second.id()), (200, first.id()), "{key}");
    let other = host.client().task("another text", Some(key));
    assert_eq!(other.status, 409, "{key}");
    assert_eq!(
        host.client().get(&format!("/tasks/{}", first.id())).status,
        200,
        "{key}"
    );
    first.id()
}

fn sqlite_keys(state: &TempDir, prefix: &str) -> usize {
    let file = state.path().join("sqlite_key_value.db");
    let connection = rusqlite::Connection::open(file).expect("the store's file is there");
    let count = "SELECT count(*) FROM spin_key_value WHERE key GLOB ?1";
    let count: i64 = connection
        .query_row(count, [format!("{prefix}*")], |row| row.get(0))
        .expect("it counts");
    usize::try_from(count).expect("a count")
}
