//! What is counted and shown to operators: histories whose numbers are known to the last one.

use crate::support::{REFERENCE, reference};
use crate::support::{Service, Upstream, answered, logged, pass};
use reprise::shell::outgoing::Answered;
use std::collections::BTreeMap;
use std::rc::Rc;

const OPERATOR: (&str, &str) = ("authorization", "Bearer operators-secret");
const CHARGE: &str = r#"{"amount":1}"#;
const ORDER: &str = r#"{"product_id":42,"quantity":1}"#;

/// The reference configuration over so few buckets that a tick visits them all.
fn config() -> String {
    REFERENCE.replace("bucket_bits = 14", "bucket_bits = 4")
}

/// What an upstream and a receiver answer: the statuses of charges and of events, in turn; each charge takes 30 ms.
fn script(charges: &'static [u16], events: &'static [u16]) -> Upstream {
    let count = std::cell::Cell::new((0, 0));
    Upstream::new(move |_, request| {
        let (charge, event) = count.get();
        let is_event = request.uri().host() == Some("events.example");
        let status = if is_event {
            count.set((charge, event + 1));
            events[event]
        } else {
            pass(30);
            count.set((charge + 1, event));
            charges[charge]
        };
        Ok::<Answered, _>(answered(status, &[], b"{}"))
    })
}

fn metrics(service: &Service) -> String {
    let seen = service.send("GET", "/-/metrics", &[OPERATOR], b"");
    assert_eq!(seen.status, 200, "{seen:?}");
    let media_type = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!(seen.header("content-type"), Some(media_type));
    String::from_utf8(seen.body).expect("UTF-8")
}

/// The series that are not 0, without their common start.
fn series(page: &str) -> BTreeMap<&str, &str> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').expect("a name and a value"));
    let named = pairs.map(|(name, value)| (name.trim_start_matches("reprise_"), value));
    named.filter(|(_, value)| *value != "0").collect()
}

fn tick(service: &Service) {
    assert_eq!(
        service.send("POST", "/-/tick", &[OPERATOR], b"").status,
        200
    );
}

/// A history that meets everything that is counted.
fn played(service: &Rc<Service>) {
    let statuses = [
        // A task, its repeat, and its key with another text.
        service.post("/tasks", "a", r#"{"text":"x"}"#).status,
        service.post("/tasks", "a", r#"{"text":"x"}"#).status,
        service.post("/tasks", "a", r#"{"text":"y"}"#).status,
        // A charge that fails once: its repeat comes too early, and then runs the second attempt.
        service.post("/charge", "c", CHARGE).status,
        service.post("/charge", "c", CHARGE).status,
    ];
    assert_eq!(statuses, [201, 200, 409, 202, 409]);
    pass(2_000);
    assert_eq!(service.post("/charge", "c", CHARGE).status, 201);
    // One that is called off while it waits.
    let waiting = service.post("/charge", "d", CHARGE);
    let path = waiting.header("location").expect("a record").to_owned();
    assert_eq!(
        (
            waiting.status,
            service.send("DELETE", &path, &[], b"").status
        ),
        (202, 200)
    );
    // Orders: the first one's event arrives, the second one's is refused for good.
    for (key, what) in [("o", "delivered"), ("p", "dead")] {
        assert_eq!(service.post("/orders", key, ORDER).status, 201, "{what}");
        service.deliver();
    }
    assert_eq!(service.post("/charge", "", CHARGE).status, 400);
    assert_eq!(service.get("/nowhere").status, 404);
}

/// What [`played`] has come to, but for how long its attempts took.
const COUNTED: &str = r#"
requests_total{operation="tasks",status="2xx"} 2
requests_total{operation="tasks",status="4xx"} 1
requests_total{operation="charge",status="2xx"} 3
requests_total{operation="charge",status="4xx"} 2
requests_total{operation="orders",status="2xx"} 2
requests_total{operation="(records)",status="2xx"} 1
requests_total{operation="(operators)",status="2xx"} 1
requests_total{operation="(none)",status="4xx"} 1
operations_created_total{operation="tasks"} 1
operations_created_total{operation="orders"} 2
operations_created_total{operation="charge"} 2
operations_ended_total{operation="tasks",state="done"} 1
operations_ended_total{operation="orders",state="done"} 2
operations_ended_total{operation="charge",state="done"} 1
operations_ended_total{operation="charge",state="cancelled"} 1
replays_total{operation="tasks"} 1
mismatches_total{operation="tasks"} 1
conflicts_total{operation="charge"} 1
attempts_total{operation="tasks",outcome="succeeded"} 1
attempts_total{operation="orders",outcome="succeeded"} 2
attempts_total{operation="charge",outcome="succeeded"} 1
attempts_total{operation="charge",outcome="retrying"} 2
deliveries_total{sink="projection",outcome="delivered"} 1
deliveries_total{sink="projection",outcome="dead"} 1
operations{operation="tasks",state="done"} 1
operations{operation="orders",state="done"} 2
operations{operation="charge",state="done"} 1
operations{operation="charge",state="cancelled"} 1
dead_letters{sink="projection"} 1
retry_budget_tokens{upstream="payments"} 100
last_tick_timestamp_seconds 1800000002.09
census_timestamp_seconds 1800000002.09
census_age_seconds 5.25
"#;

#[test]
fn a_history_is_counted_to_the_last_number() {
    let service = Service::new(&config(), script(&[503, 201, 503], &[204, 400]));
    played(&service);
    tick(&service);
    pass(5_250);
    let page = metrics(&service);
    let mut expected: BTreeMap<String, &str> = BTreeMap::new();
    let mut counted = |name: &str, value: &'static str| {
        assert!(expected.insert(name.to_owned(), value).is_none(), "{name}");
    };
    for line in COUNTED.trim().lines() {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        counted(name, value);
    }
    let bounds = [
        "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "+Inf",
    ];
    for (operation, upstream, number, shortest) in [
        ("tasks", "", "1", 0),
        ("orders", "", "2", 0),
        ("charge", "payments", "3", 3),
    ] {
        let labels = format!(r#"operation="{operation}",upstream="{upstream}""#);
        for le in &bounds[shortest..] {
            counted(
                &format!(r#"attempt_duration_seconds_bucket{{{labels},le="{le}"}}"#),
                number,
            );
        }
        counted(
            &format!("attempt_duration_seconds_count{{{labels}}}"),
            number,
        );
    }
    counted(
        r#"attempt_duration_seconds_sum{operation="charge",upstream="payments"}"#,
        "0.09",
    );
    let expected: BTreeMap<&str, &str> = expected.iter().map(|(n, v)| (n.as_str(), *v)).collect();
    assert_eq!(series(&page), expected);
}

/// Each sample has its kind and its help in front of it, and no series comes twice.
#[test]
fn a_page_is_of_the_text_format() {
    let service = Service::new(&config(), script(&[503, 201, 503], &[204, 400]));
    played(&service);
    tick(&service);
    let page = metrics(&service);
    let mut kinds = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut help = "";
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').expect("a name and a text").0;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a kind");
            assert_eq!(name, help, "{line}");
            assert!(kinds.insert(name, kind).is_none(), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a name and a value");
            let name = series.split('{').next().expect("a name");
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .filter_map(|suffix| name.strip_suffix(suffix))
                .find(|family| kinds.get(family) == Some(&"histogram"));
            assert!(kinds.contains_key(family.unwrap_or(name)), "{line}");
            assert_eq!(family.unwrap_or(name), help, "{line}");
            assert!(seen.insert(series), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
    assert!(kinds.len() > 15 && page.ends_with('\n'), "{page}");
}

#[test]
fn a_repeat_writes_nothing_and_counts_reach_the_store_once_in_128_requests() {
    let service = reference();
    assert_eq!(service.post("/tasks", "k", r#"{"text":"x"}"#).status, 201);
    let writes = || service.writes();
    let before = writes();
    for request in 2..=128 {
        assert!(!service.has_to_flush(), "before request {request}");
        assert_eq!(service.post("/tasks", "k", r#"{"text":"x"}"#).status, 200);
    }
    assert_eq!(writes(), before, "a repeat writes nothing");
    assert!(service.has_to_flush());
    service.flush();
    // The first flush ever creates the document, which takes three.
    assert_eq!(writes(), before + 4);
    for _ in 0..128 {
        assert!(!service.has_to_flush());
        assert_eq!(service.post("/tasks", "k", r#"{"text":"x"}"#).status, 200);
    }
    assert!(service.has_to_flush());
    service.flush();
    assert_eq!(writes(), before + 5);
    let page = metrics(&service);
    let shown = series(&page);
    assert_eq!(shown[r#"replays_total{operation="tasks"}"#], "255");
    assert_eq!(
        shown[r#"requests_total{operation="tasks",status="2xx"}"#],
        "256"
    );
    assert_eq!(writes(), before + 5, "and looking at nothing new neither");
}

/// Two instances, each with counts of its own; and a third one that comes after both.
#[test]
fn what_several_instances_count_adds_up_and_outlives_them() {
    let one = Service::new(&config(), script(&[], &[]));
    let two = one.restarted(&config());
    let task = r#"{"text":"x"}"#;
    assert_eq!(one.post("/tasks", "a", task).status, 201);
    for _ in 0..3 {
        assert_eq!(one.post("/tasks", "a", task).status, 200);
        assert_eq!(two.post("/tasks", "a", task).status, 200);
    }
    let replays = |service: &Service| {
        let page = metrics(service);
        let shown = series(&page);
        let replays = shown.get(r#"replays_total{operation="tasks"}"#);
        replays.map_or(0, |count| count.parse::<u64>().expect("a count"))
    };
    // An instance knows its own and what others have brought.
    assert_eq!((replays(&one), replays(&two), replays(&one)), (3, 6, 6));
    let three = two.restarted(&config());
    drop((one, two));
    assert_eq!(replays(&three), 6);
    // One that ends takes what it has not brought with it.
    assert_eq!(three.post("/tasks", "a", task).status, 200);
    let four = three.restarted(&config());
    drop(three);
    assert_eq!(replays(&four), 6);
}

/// What an idle tick has to say goes along with the write that it makes anyway.
#[test]
fn an_idle_tick_makes_one_write() {
    let service = Service::new(&config(), script(&[], &[]));
    assert_eq!(service.post("/tasks", "a", r#"{"text":"x"}"#).status, 201);
    tick(&service);
    for _ in 0..3 {
        pass(1_000);
        let before = service.writes();
        tick(&service);
        assert_eq!(service.writes() - before, 1);
    }
    assert_eq!(service.post("/tasks", "b", r#"{"text":"x"}"#).status, 201);
    let before = service.writes();
    pass(1_000);
    tick(&service);
    assert_eq!(service.writes() - before, 1, "counts go along");
}

#[test]
fn a_store_that_fails_is_counted_once_it_answers_again() {
    let service = Service::new(&config(), script(&[], &[]));
    assert_eq!(service.post("/tasks", "a", r#"{"text":"x"}"#).status, 201);
    for _ in 0..2 {
        service.fail(0, false);
        assert_eq!(service.post("/tasks", "a", r#"{"text":"x"}"#).status, 503);
    }
    // A flush that fails keeps what it was to bring.
    service.fail(0, false);
    service.flush();
    let page = metrics(&service);
    let shown = series(&page);
    assert_eq!(shown[r#"store_errors_total{kind="unavailable"}"#], "2");
    assert_eq!(
        shown[r#"requests_total{operation="tasks",status="5xx"}"#],
        "2"
    );
}

/// The names of a former configuration are counted together, and those of this one begin at 0.
#[test]
fn what_the_configuration_names_is_what_there_is() {
    let service = Service::new(&config(), script(&[], &[]));
    assert_eq!(service.post("/tasks", "a", r#"{"text":"x"}"#).status, 201);
    tick(&service);
    let renamed = service.restarted(&config().replace("name = \"tasks\"", "name = \"texts\""));
    let page = metrics(&renamed);
    assert!(!page.contains("\"tasks\""), "{page}");
    assert!(page.contains("reprise_operations_unknown 1\n"), "{page}");
    assert!(page.contains("reprise_operations_created_total{operation=\"texts\"} 0\n"));
    assert!(
        metrics(&service).contains("reprise_operations_created_total{operation=\"tasks\"} 1\n")
    );
}

/// A line of the log, without what no other line has.
fn line(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).expect("a line is JSON");
    let member = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    assert!(member("time").ends_with('Z') && text.len() < 1_024 && !text.contains('\n'));
    let words = [
        "level",
        "event",
        "operation",
        "sink",
        "from",
        "to",
        "reason",
    ];
    let mut words: Vec<String> = words.into_iter().map(member).collect();
    words.retain(|word| !word.is_empty());
    for number in ["attempt", "duration_ms"] {
        words.extend(value[number].as_u64().map(|number| number.to_string()));
    }
    words.join(" ")
}

#[test]
fn each_change_is_one_line_and_a_repeat_none() {
    let service = Service::new(&config(), script(&[503, 201, 503], &[204, 400]));
    played(&service);
    let written = logged();
    let lines: Vec<String> = written.iter().map(|text| line(text)).collect();
    assert_eq!(
        lines,
        [
            "info operation tasks done 1 0",
            "info operation charge running 1",
            "info operation charge running waiting status_503 1 30",
            "info operation charge waiting running 2",
            "info operation charge running done 2 30",
            "info operation charge running 1",
            "info operation charge running waiting status_503 1 30",
            "info operation charge waiting cancelled 1",
            "info operation orders done 1 0",
            "info delivery orders projection pending 0",
            "info delivery orders projection pending delivering 1",
            "info delivery orders projection delivering delivered 1",
            "info operation orders done 1 0",
            "info delivery orders projection pending 0",
            "info delivery orders projection pending delivering 1",
            "error delivery orders projection delivering dead status_400 1",
        ]
    );
    // No text of a client, no key, no token and no secret.
    let all = written.join("\n");
    for secret in [
        "amount",
        "product_id",
        "\"x\"",
        "operators-secret",
        "payments-secret",
        "whsec_",
        "example",
    ] {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
    let last: serde_json::Value = serde_json::from_str(&written[15]).expect("JSON");
    let id = last["id"].as_str().expect("an id");
    assert_eq!(last["trace_id"], id.replace('-', ""), "a trace of its own");
    assert_eq!(last["key"].as_str().map(str::len), Some(16));
}

#[test]
fn a_level_says_what_is_written() {
    let written = |level: &str| {
        let config = config().replace("{{ log_level }}", level);
        let service = Service::new(&config, script(&[503, 201, 503], &[204, 400]));
        played(&service);
        logged().len()
    };
    assert_eq!(
        ["off", "error", "info", "debug"].map(written),
        [0, 1, 16, 19]
    );
}

/// A client's trace is that of the attempt, of the delivery and of the log.
#[test]
fn a_trace_goes_on_at_the_upstream_at_the_receiver_and_in_the_log() {
    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{ID}-00f067aa0ba902b7-01");
    let service = Service::new(&config(), script(&[201], &[204]));
    for (path, body) in [("/charge", CHARGE), ("/orders", ORDER)] {
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", "k"),
            ("traceparent", &parent),
            ("tracestate", "a=1,b=2"),
        ];
        let seen = service.send("POST", path, &headers, body.as_bytes());
        assert_eq!(seen.status, 201, "{path}");
        service.deliver();
    }
    let seen = service.upstream.seen.borrow();
    assert_eq!(seen.len(), 2);
    let mut spans = std::collections::BTreeSet::new();
    for request in &*seen {
        let sent = request.headers()["traceparent"].to_str().expect("ASCII");
        let (version, rest) = sent.split_once('-').expect("fields");
        let fields: Vec<&str> = rest.split('-').collect();
        assert_eq!((version, fields[0], fields[2]), ("00", ID, "01"), "{sent}");
        assert!(spans.insert(fields[1].to_owned()) && fields[1] != "00f067aa0ba902b7");
        assert_eq!(request.headers()["tracestate"], "a=1,b=2");
    }
    for text in logged() {
        assert!(text.contains(&format!("\"trace_id\":\"{ID}\"")), "{text}");
    }
}
