//! Two thousand new operations on 256 connections: nobody is told a lie, and nothing that was answered is lost.

use reprise_e2e::{Answer, Client, Host, Options, State, wait_until};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 256;
const OPERATIONS: usize = 2_000;
const SOON: Duration = Duration::from_secs(30);
const MEMORY_BYTES: u64 = 512 << 20;

/// A new operation, or its repeat: each kind in its turn.
fn send(client: &Client, number: usize) -> Answer {
    let key = format!("k{number}");
    match number % 4 {
        0 | 1 => client.task(&key, Some(&key)),
        2 => client.post("/orders", Some(&key), r#"{"product_id":1,"quantity":1}"#),
        _ => {
            let body = format!(r#"{{"amount":1999,"currency":"EUR","reference":"{key}"}}"#);
            client.post("/charge", Some(&key), &body)
        }
    }
}

/// What names the operation: the record's path, wherever the answer says it.
fn name(answer: &Answer) -> Option<String> {
    let named = answer
        .header("operation-location")
        .or_else(|| answer.header("location"));
    named.map(str::to_owned)
}

#[test]
fn a_wave_of_new_operations_is_taken_or_told_to_come_back() {
    let Some(state) = State::only_on_sqlite("what it may take is measured for one host on a file")
    else {
        return;
    };
    let host = Host::start(&state, &Options::default());
    assert_eq!(host.client().task("first", None).status, 201);
    let memory = host.resident_bytes();
    let taken = Mutex::new(Vec::new());
    let refused = Mutex::new(0);
    let start = Instant::now();
    thread::scope(|scope| {
        for one in 0..CONNECTIONS {
            let (taken, refused, client) = (&taken, &refused, host.client());
            scope.spawn(move || {
                for number in (one..OPERATIONS).step_by(CONNECTIONS) {
                    let answer = send(&client, number);
                    let is_to_come_back = answer.header("retry-after").is_some();
                    assert_eq!(is_to_come_back, answer.status != 201, "{answer:?}");
                    match answer.status {
                        201 | 202 => taken
                            .lock()
                            .expect("no panic")
                            .push((number, name(&answer))),
                        503 => {
                            assert_eq!(answer.json()["retryable"], true, "{answer:?}");
                            *refused.lock().expect("no panic") += 1;
                        }
                        _ => panic!("{number}: {answer:?}"),
                    }
                }
            });
        }
    });
    let took = start.elapsed();
    let most = host.most_resident_bytes();
    let taken = taken.into_inner().expect("no panic");
    let refused = refused.into_inner().expect("no panic");
    println!(
        "{} taken and {refused} refused in {took:?}; {most} bytes, before {memory}",
        taken.len()
    );
    assert_eq!(taken.len() + refused, OPERATIONS);
    assert!(refused < OPERATIONS / 10, "{refused} were refused");
    assert!(
        most.saturating_sub(memory) < MEMORY_BYTES,
        "{most} bytes, before {memory}"
    );

    let client = host.client();
    let mut names = BTreeSet::new();
    for (number, named) in &taken {
        let mut repeat = send(&client, *number);
        // A charge whose first attempt had no time left is made by now, or by this repeat.
        wait_until("the end", SOON, || {
            repeat = send(&client, *number);
            repeat.is_replayed()
        });
        assert_eq!(name(&repeat), *named, "{number}: {repeat:?}");
        names.insert(named.clone().expect("an operation has a name"));
    }
    assert_eq!(names.len(), taken.len(), "each has a record of its own");
    let charged = taken.iter().filter(|(number, _)| number % 4 == 3);
    for (number, _) in charged {
        let path = format!("/payment-sandbox/charges?reference=k{number}");
        assert_eq!(client.get(&path).json()["charges"], 1, "{number}");
    }
}
