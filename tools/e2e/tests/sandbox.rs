//! The payment sandbox over real HTTP: what each amount does, and that a key charges once, whoever comes at the same
//! time and whatever is killed.

use reprise_e2e::{Answer, Client, Host, Options, State};
use serde_json::json;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

const CLIENTS: usize = 20;
const KILLS: u32 = 12;
const KEYS: usize = 8;

/// Asks for a charge. None: no whole answer came.
fn attempt(client: &Client, key: Option<&str>, amount: u64, reference: &str) -> Option<Answer> {
    let body = json!({ "amount": amount, "currency": "EUR", "reference": reference });
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    let path = "/payment-sandbox/charges";
    let body = body.to_string();
    client.send("POST", path, &headers, body.as_bytes()).ok()
}

fn charge(client: &Client, key: Option<&str>, amount: u64, reference: &str) -> Answer {
    attempt(client, key, amount, reference)
        .unwrap_or_else(|| panic!("{amount} with {key:?} was not answered"))
}

/// How many charges were made under a reference, and how many calls came.
fn counted(client: &Client, reference: &str) -> (u64, u64) {
    let answer = client.get(&format!("/payment-sandbox/charges?reference={reference}"));
    let count = answer.json();
    assert_eq!(
        (answer.status, &count["reference"]),
        (200, &reference.into())
    );
    let number = |name: &str| count[name].as_u64().expect("a number");
    (number("charges"), number("calls"))
}

#[test]
fn each_amount_does_what_the_table_says() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    // The amount; the statuses of three calls, 0 where the answer breaks off; the charges with a key, and without.
    let table: [(u64, [u16; 3], u64, u64); 9] = [
        (1_999, [201, 201, 201], 1, 3),
        (40_200, [402, 402, 402], 0, 0),
        (50_300, [503, 503, 201], 1, 1),
        (50_301, [503, 201, 201], 1, 2),
        (50_302, [503, 201, 201], 1, 2),
        (42_900, [429, 201, 201], 1, 2),
        (50_200, [0, 201, 201], 1, 3),
        (41_300, [201, 201, 201], 1, 3),
        (40_100, [201, 201, 201], 1, 3),
    ];
    for (amount, statuses, charges, keyless_charges) in table {
        for (key, charges) in [
            (Some(format!("key-{amount}")), charges),
            (None, keyless_charges),
        ] {
            let reference = format!("{amount}-{}", key.is_some());
            let seen = statuses.map(|_| {
                let answer = attempt(&client, key.as_deref(), amount, &reference);
                answer.map_or(0, |answer| answer.status)
            });
            assert_eq!(seen, statuses, "{reference}");
            assert_eq!(counted(&client, &reference), (charges, 3), "{reference}");
        }
    }
    assert_eq!(counted(&client, "nobody"), (0, 0));
}

#[test]
fn answers_have_the_headers_of_a_provider() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let [one, two] = [(); 2].map(|()| charge(&client, Some("a"), 1_999, "r"));
    assert_eq!((one.status, &one.body), (201, &two.body));
    let location = format!("/payment-sandbox/charges/{}", one.id());
    for answer in [&one, &two] {
        assert_eq!(answer.header("location"), Some(location.as_str()));
        let length = one.body.len().to_string();
        assert_eq!(answer.header("content-length"), Some(length.as_str()));
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert!(answer.header("link").is_some());
        assert_eq!(answer.header("etag"), one.header("etag"));
    }
    let expected = format!(
        r#"{{"id":"{}","amount":1999,"currency":"EUR","reference":"r","status":"approved"}}"#,
        one.id()
    );
    assert_eq!(one.body, expected);

    let large = charge(&client, Some("b"), 41_300, "r");
    assert!(large.body.len() > 3_000_000, "{}", large.body.len());
    let private = charge(&client, Some("c"), 40_100, "r");
    for name in [
        "set-cookie",
        "www-authenticate",
        "te",
        "trailer",
        "etag",
        "location",
        "link",
    ] {
        assert!(private.header(name).is_some(), "{name}: {private:?}");
    }
    for (amount, retry_after) in [(50_300, None), (50_301, Some("2")), (42_900, Some("1"))] {
        let answer = charge(&client, Some(&format!("key-{amount}")), amount, "r");
        assert_eq!(answer.header("retry-after"), retry_after, "{amount}");
    }
    let before = SystemTime::now();
    let answer = charge(&client, Some("d"), 50_302, "r");
    let date = answer.header("retry-after").expect("a date");
    let date = httpdate::parse_http_date(date).expect("a date");
    let ahead = date.duration_since(before).expect("it is ahead");
    assert!(ahead >= Duration::from_secs(2), "{ahead:?}");
    assert!(
        ahead <= before.elapsed().unwrap() + Duration::from_secs(3),
        "{ahead:?}"
    );
}

#[test]
fn bad_requests_are_refused_and_charge_nothing() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    assert_eq!(charge(&client, Some("a"), 1_999, "r").status, 201);
    assert_eq!(charge(&client, Some("\"a\""), 1_999, "r").status, 201);
    assert_eq!(charge(&client, Some("a"), 2_000, "r").status, 422);
    assert_eq!(charge(&client, Some("a"), 1_999, "other").status, 422);
    assert_eq!(charge(&client, Some(""), 1_999, "r").status, 400);
    let large = "x".repeat(100_000);
    for (method, path, body, status) in [
        ("POST", "/payment-sandbox/charges", "{\"amount\":", 400),
        ("POST", "/payment-sandbox/charges", large.as_str(), 413),
        ("PUT", "/payment-sandbox/charges", "{}", 405),
        ("GET", "/payment-sandbox/nothing", "", 404),
    ] {
        let answer = client.send(method, path, &[], body.as_bytes());
        let answer = answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        assert_eq!(answer.status, status, "{method} {path}");
        assert!(answer.json()["error"]["code"].is_string(), "{answer:?}");
    }
    assert_eq!(counted(&client, "r"), (1, 2));
    assert_eq!(counted(&client, "other"), (0, 0));
    let page = client.get("/payment-sandbox/");
    assert!(
        page.status == 200 && page.body.contains("503 twice, then 201"),
        "{page:?}"
    );
}

#[test]
fn a_slow_charge_is_made_at_once_and_keeps_nobody_waiting() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    let client = host.client();
    let start = Instant::now();
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let answer = charge(&host.client(), Some("slow"), 40_800, "slow");
            (answer, start.elapsed())
        });
        reprise_e2e::wait_until("the charge", Duration::from_secs(5), || {
            counted(&client, "slow") == (1, 1)
        });
        let repeat = charge(&client, Some("slow"), 40_800, "slow");
        assert_eq!(charge(&client, Some("other"), 1_999, "other").status, 201);
        assert_eq!(client.task("meanwhile", None).status, 201);
        assert!(!slow.is_finished(), "these came after the slow answer");
        let (first, took) = slow.join().expect("a client does not panic");
        assert!(took >= Duration::from_secs(10), "{took:?}");
        assert_eq!((first.status, first.body), (201, repeat.body));
    });
    assert_eq!(counted(&client, "slow"), (1, 2));
}

/// Lets many clients use one key at once: all are given the one charge.
fn rush(host: &Host, key: &str) {
    let start = Barrier::new(CLIENTS);
    let answers: Vec<Answer> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (client, start) = (host.client(), &start);
                scope.spawn(move || {
                    start.wait();
                    charge(&client, Some(key), 1_999, key)
                })
            })
            .collect();
        let join = |client: thread::ScopedJoinHandle<'_, Answer>| client.join();
        clients.into_iter().map(join).collect::<Result<_, _>>()
    })
    .expect("a client does not panic");
    for answer in &answers {
        assert_eq!(
            (answer.status, &answer.body),
            (201, &answers[0].body),
            "{key}"
        );
    }
    for _ in 0..2 {
        assert_eq!(counted(&host.client(), key), (1, CLIENTS as u64), "{key}");
    }
}

#[test]
fn of_twenty_calls_with_one_key_one_charges() {
    let state = State::new();
    let host = Host::start(&state, &Options::default());
    for number in 0..10 {
        rush(&host, &format!("key-{number}"));
    }
}

#[test]
fn a_kill_neither_loses_nor_doubles_a_charge_nor_leaves_a_key_stuck() {
    let state = State::new();
    let (mut answered, mut unanswered) = (0, 0);
    for round in 0..KILLS {
        let mut host = Host::start(&state, &Options::default());
        let warm = Instant::now();
        for number in 0..KEYS {
            let key = format!("warm-{round}-{number}");
            charge(&host.client(), Some(&key), 50_300, "warm");
        }
        // Half of the calls took this long, one after the other. The kills come between no time and twice that.
        let delay = warm.elapsed() * 2 * round / KILLS;
        let reference = format!("round-{round}");
        // Half of them are refused twice before they charge.
        let keys: Vec<(String, u64)> = (0..KEYS)
            .map(|number| (format!("{reference}-{number}"), [1_999, 50_300][number % 2]))
            .collect();
        let told = shoot(&mut host, &keys, &reference, delay);
        let host = Host::start(&state, &Options::default());
        let client = host.client();
        for ((key, amount), told) in keys.iter().zip(&told) {
            let mut answers = (0..3).map(|_| charge(&client, Some(key), *amount, &reference));
            let found = answers.find(|answer| answer.status == 201);
            let found = found.unwrap_or_else(|| panic!("{key} is stuck"));
            answered += told.len();
            unanswered += 2 - told.len();
            for answer in told.iter().filter(|answer| answer.status == 201) {
                assert_eq!(answer.body, found.body, "{key}: what was answered is there");
            }
        }
        let (charges, _) = counted(&client, &reference);
        assert_eq!(charges, KEYS as u64, "{reference}: each key charged once");
    }
    println!("{answered} answers before the kills, {unanswered} calls without one");
    assert!(
        answered > 0 && unanswered > 0,
        "{answered} and {unanswered}"
    );
}

/// Sends two calls for each key, kills the host after a while, and gives the answers that came.
fn shoot(
    host: &mut Host,
    keys: &[(String, u64)],
    reference: &str,
    delay: Duration,
) -> Vec<Vec<Answer>> {
    thread::scope(|scope| {
        let shots: Vec<_> = keys
            .iter()
            .map(|(key, amount)| {
                [host.client(), host.client()].map(|client| {
                    scope.spawn(move || attempt(&client, Some(key), *amount, reference))
                })
            })
            .collect();
        thread::sleep(delay);
        host.kill();
        let answers = shots.into_iter().map(|pair| {
            let answers = pair
                .into_iter()
                .filter_map(|shot| shot.join().expect("no panic"));
            answers.collect()
        });
        answers.collect()
    })
}
