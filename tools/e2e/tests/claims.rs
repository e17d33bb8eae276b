//! Claims under concurrency and crashes: of any number of first requests for a key exactly one creates, and whatever was
//! answered is kept.

use reprise_e2e::{Answer, Client, Host, Options, State};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

const KEYS: usize = 50;
const CLIENTS: usize = 40;
const KILLS: u32 = 30;
/// The number of a host beyond those of every arrangement.
const NEIGHBOUR: usize = 9;

/// Lets this many clients ask for one key at once, and gives what they were answered.
fn rush(client: impl Fn(usize) -> Client, key: &str, clients: usize) -> Vec<Answer> {
    let start = Barrier::new(clients);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..clients)
            .map(|number| {
                let client = client(number);
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
fn of_forty_first_requests_one_creates() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let ids: BTreeSet<String> = (0..KEYS)
        .map(|number| {
            let key = format!("key-{number}");
            one_created(&rush(|_| host.client(), &key, CLIENTS), &key)
        })
        .collect();
    assert_eq!(ids.len(), KEYS);
    assert_eq!(
        state.count_keys("n/") - state.count_keys("w/d/"),
        KEYS,
        "one record a key is in the store, beside the walk's own"
    );
}

/// Two processes on one SQLite file are not what it is for: they wait for each other, and some requests are refused. But
/// nothing is created twice or lost.
#[test]
fn two_hosts_on_one_file_refuse_some_requests_and_double_none() {
    let Some(state) = State::only_on_sqlite("two hosts are to share a file") else {
        return;
    };
    let hosts = [(); 2].map(|()| Host::start_one(&state, 0, &Options::default()));
    let (mut refused, mut ids) = (0, BTreeSet::new());
    let begun = Instant::now();
    for number in 0..KEYS {
        let key = format!("key-{number}");
        let answers = rush(|number| hosts[number % 2].client(), &key, CLIENTS);
        for answer in answers.iter().filter(|answer| answer.status == 503) {
            assert_eq!(answer.problem(), "store-unavailable", "{key}");
        }
        let (unavailable, answered): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 503);
        refused += unavailable.len();
        let created = answered.iter().filter(|answer| answer.status == 201);
        assert!(created.count() <= 1, "{key}: {:?}", statuses(&answered));
        let told: BTreeSet<String> = answered.iter().map(Answer::id).collect();
        // Nobody else writes now, so nobody is refused.
        let found = one_record(&hosts[number % 2], &key);
        assert!(told.iter().all(|id| *id == found), "{key}: {told:?}");
        ids.insert(found);
    }
    println!(
        "{refused} of {} requests were refused, in {:?}",
        KEYS * CLIENTS,
        begun.elapsed()
    );
    assert_eq!(ids.len(), KEYS);
    let nodes = state.count_keys("n/") - state.count_keys("w/d/");
    assert!(
        (KEYS..=KEYS + refused).contains(&nodes),
        "a refused creation may leave a node that nothing leads to: {nodes}"
    );
}

/// Scenario 11: what was answered was written before.
#[test]
fn a_kill_loses_nothing_that_was_answered() {
    let state = State::new();
    let options = Options::default();
    // Who shares the store sees it all, and goes on.
    let is_shared = state.redis().is_some();
    let neighbour = is_shared.then(|| Host::start_one(&state, NEIGHBOUR, &options));
    kill_rounds(&state, &options, neighbour.as_ref());
}

/// Kills a host in the middle of requests for fresh keys, again and again, and asks for the keys afterwards. Half of
/// the requests go to a neighbour, where there is one.
fn kill_rounds(state: &State, options: &Options, neighbour: Option<&Host>) {
    let mut answered = 0;
    let mut unanswered = 0;
    for round in 0..KILLS {
        let mut host = Host::start(state, options);
        let start = Instant::now();
        one_record(&host, &format!("round-{round}-warm"));
        // Five requests took this long. The kills come between no time and twice that after the shots.
        let delay = start.elapsed() * 2 * round / KILLS;
        let keys: Vec<String> = (0..8)
            .map(|number| format!("round-{round}-key-{number}"))
            .collect();
        let told = shoot(&mut host, neighbour, &keys, delay);
        let host = Host::start(state, options);
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
