//! The reference file says what section 1 of the design asks for.

use super::{REFERENCE, WEBHOOK_SECRET, read};
use http::{HeaderName, Method, StatusCode};
use reprise::config::{
    Config, EventRule, FingerprintRule, Handler, HeaderList, KeyRule, LogLevel, Operation,
    StoreSettings, WhenFinished, WhileUnfinished,
};
use reprise::machine::{
    AttemptPolicy, Backoff, BudgetPolicy, Millis, Name, OnLostAttempt, PolicySettings, Timestamp,
};
use reprise::webhook::{MessageId, Mode, Secret, Secrets};

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

fn seconds(seconds: u64) -> Millis {
    Millis::from_secs(seconds)
}

fn list(names: &[&'static str]) -> HeaderList {
    HeaderList::new(names.iter().map(|name| HeaderName::from_static(name)))
}

fn jitter(cap_s: u64) -> Backoff {
    Backoff::FullJitter {
        base_ms: seconds(1),
        cap_ms: seconds(cap_s),
        floor_ms: Millis::new(100),
    }
}

fn delivery() -> AttemptPolicy {
    AttemptPolicy {
        max_attempts: 10,
        backoff: jitter(300),
        hint_cap_ms: seconds(600),
        timeout_ms: seconds(5),
        lease_ms: seconds(15),
    }
}

/// What an operation has that says nothing about attempts.
fn default_settings() -> PolicySettings {
    PolicySettings {
        start_delay_ms: Millis::ZERO,
        attempts: AttemptPolicy {
            max_attempts: 4,
            backoff: jitter(60),
            hint_cap_ms: seconds(300),
            timeout_ms: seconds(5),
            lease_ms: seconds(15),
        },
        max_cycles: 5,
        on_lost_attempt: OnLostAttempt::Retry,
        total_deadline_ms: Some(seconds(600)),
        retry_budget: None,
        retention_ms: seconds(86_400),
        events_on_failed: Vec::new(),
        events_on_cancelled: Vec::new(),
        delivery: delivery(),
    }
}

fn replayed() -> HeaderList {
    list(&[
        "content-type",
        "content-language",
        "content-encoding",
        "location",
        "etag",
        "last-modified",
        "link",
    ])
}

fn reference() -> Config {
    read(REFERENCE).expect("the reference file is sound")
}

fn operation(config: &Config, index: usize, expected: &str) -> Operation {
    let operation = config.operations[index].clone();
    assert_eq!(operation.name, name(expected));
    operation
}

#[test]
fn the_service_as_a_whole() {
    let config = reference();
    let store = StoreSettings {
        bucket_bits: 14,
        purge_grace_ms: 600_000,
    };
    assert_eq!(config.store, store);
    let token = config.admin_token.as_ref().expect("a token is set");
    assert_eq!(token.reveal(), "operators-secret");
    assert_eq!(config.tenant_header, None);
    assert_eq!(config.log_level, LogLevel::Info);
    assert_eq!(config.cors, None);
    assert_eq!(config.operations.len(), 3);
}

#[test]
fn other_services() {
    let config = reference();
    let upstream = &config.upstreams[&name("payments")];
    assert_eq!(upstream.name, name("payments"));
    assert_eq!(upstream.scheme.as_str(), "http");
    assert_eq!(upstream.authority.as_str(), "payments.example");
    assert_eq!(upstream.path_prefix, "/v1");
    assert_eq!(upstream.key_header.as_str(), "idempotency-key");
    assert_eq!(upstream.retry_budget, Some(budget()));
    let [(header, value)] = &upstream.headers[..] else {
        panic!("one header: {:?}", upstream.headers);
    };
    assert_eq!(
        (header.as_str(), value.as_bytes()),
        ("authorization", &b"Bearer payments-secret"[..])
    );

    let sink = &config.sinks[&name("projection")];
    assert_eq!(sink.name, name("projection"));
    assert_eq!(sink.url, "http://self.alt/inbox/orders?token=url-secret");
    assert_eq!(sink.mode, Mode::Structured);

    let inbox = &config.inboxes[&name("orders")];
    assert_eq!(inbox.name, name("orders"));
    assert_eq!(inbox.receiver.source.as_deref(), Some("urn:reprise"));
    let signed = |secrets: &Secrets| {
        let id = MessageId::new("m").expect("an id");
        secrets.sign(&id, Timestamp::from_unix_ms(0), b"body")
    };
    let secret: Secret = WEBHOOK_SECRET.parse().expect("a secret");
    let expected = signed(&Secrets::new(vec![secret]).expect("one"));
    assert_eq!(signed(&sink.secrets), expected);
    assert_eq!(signed(&inbox.receiver.secrets), expected);
    assert_eq!(config.delivery.policy, delivery());
    assert_eq!(config.delivery.source, "urn:reprise");
    assert!(config.delivery.is_after_answer);
    assert_eq!(
        (
            config.upstreams.len(),
            config.sinks.len(),
            config.inboxes.len()
        ),
        (1, 1, 1)
    );
}

fn budget() -> BudgetPolicy {
    BudgetPolicy {
        capacity_tokens: 100,
        deposit_per_second_millitokens: 500,
        deposit_per_success_millitokens: 100,
    }
}

/// `POST /tasks`: optional key; 409; the raw text is compared; always the record.
#[test]
fn text_tasks() {
    let tasks = operation(&reference(), 0, "tasks");
    assert_eq!(
        (tasks.method, tasks.route.to_string()),
        (Method::POST, "/tasks".to_owned())
    );
    assert!(matches!(tasks.handler, Handler::Analyze));
    assert_eq!(tasks.key, KeyRule::Optional);
    assert_eq!(tasks.mismatch_status, StatusCode::CONFLICT);
    assert_eq!(tasks.while_unfinished, WhileUnfinished::Record);
    assert_eq!(tasks.when_finished, WhenFinished::Record);
    assert_eq!(
        tasks.fingerprint,
        FingerprintRule::Pointers(vec!["/text".to_owned()])
    );
    assert_eq!(
        (tasks.request_bytes_max, tasks.response_bytes_max),
        (131_072, 262_144)
    );
    assert_eq!(
        (tasks.forward_headers, tasks.replay_headers),
        (HeaderList::default(), replayed())
    );
    assert_eq!(tasks.events_on_done, []);
    let mut settings = default_settings();
    settings.attempts.max_attempts = 3;
    settings.attempts.backoff = Backoff::Constant {
        delay_ms: seconds(1),
    };
    settings.total_deadline_ms = None;
    assert_eq!(*tasks.policy.settings(), settings);
}

/// `POST /orders`: required key; 409; the JSON value is compared; 409 before the end, the original after it.
#[test]
fn orders() {
    let orders = operation(&reference(), 1, "orders");
    assert_eq!(
        (orders.method, orders.route.to_string()),
        (Method::POST, "/orders".to_owned())
    );
    assert!(matches!(
        orders.handler,
        Handler::Order {
            quantity_max: 1_000
        }
    ));
    assert_eq!(orders.key, KeyRule::Required);
    assert_eq!(orders.mismatch_status, StatusCode::CONFLICT);
    assert_eq!(orders.while_unfinished, WhileUnfinished::Conflict);
    assert_eq!(orders.when_finished, WhenFinished::Original);
    assert_eq!(orders.fingerprint, FingerprintRule::CanonicalJson);
    assert_eq!(
        (orders.request_bytes_max, orders.response_bytes_max),
        (131_072, 262_144)
    );
    assert_eq!(
        (orders.forward_headers, orders.replay_headers),
        (HeaderList::default(), replayed())
    );
    let event = EventRule {
        kind: name("order.created"),
        sink: name("projection"),
    };
    assert_eq!(orders.events_on_done, [event]);
    assert_eq!(*orders.policy.settings(), default_settings());
}

/// `POST /charge`: required key; 422; 409 at once before the end, the upstream's response after it.
#[test]
fn charges() {
    let charge = operation(&reference(), 2, "charge");
    assert_eq!(
        (charge.method, charge.route.to_string()),
        (Method::POST, "/charge".to_owned())
    );
    let Handler::Forward(forward) = &charge.handler else {
        panic!("it is forwarded: {:?}", charge.handler);
    };
    assert_eq!(forward.upstream, name("payments"));
    let path = forward.path.as_ref().map(|path| path.fill(&Vec::new()));
    assert_eq!(path.as_deref(), Some("/payment-sandbox/charges"));
    assert_eq!(forward.retry_statuses, [401, 403, 408, 409, 425, 429]);
    assert_eq!(charge.key, KeyRule::Required);
    assert_eq!(charge.mismatch_status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(charge.while_unfinished, WhileUnfinished::Conflict);
    assert_eq!(charge.when_finished, WhenFinished::Original);
    assert_eq!(charge.fingerprint, FingerprintRule::CanonicalJson);
    assert_eq!(
        (charge.request_bytes_max, charge.response_bytes_max),
        (65_536, 262_144)
    );
    assert_eq!(
        charge.forward_headers,
        list(&["content-type", "accept", "accept-language"])
    );
    assert_eq!(charge.replay_headers, replayed());
    assert_eq!(charge.events_on_done, []);
    let settings = PolicySettings {
        retry_budget: Some(budget()),
        ..default_settings()
    };
    assert_eq!(*charge.policy.settings(), settings);
}

/// What the file calls a default is one: without those lines it says the same.
#[test]
fn the_defaults_are_those_that_the_file_names() {
    // Some lines say the default in one operation and something else in another.
    let says_more = |line: &&str| match line.split(" = ").next().unwrap_or_default() {
        "key" => line.contains("optional"),
        "on_mismatch" => line.contains("409"),
        "while_unfinished" | "when_finished" => line.contains("record"),
        "fingerprint" => line.contains('['),
        "max_attempts" => line.contains('3'),
        "backoff" => line.contains("constant"),
        "total_deadline" => line.contains("none"),
        "bucket_bits" | "purge_grace" | "max_age" | "retry_after_cap" | "timeout"
        | "attempt_timeout" | "lease" | "key_header" | "mode" | "method" | "quantity_max"
        | "retention" | "level" | "max_cycles" | "on_lost_attempt" | "max_response_bytes"
        | "forward_headers" | "replay_headers" => false,
        _ => true,
    };
    let kept: Vec<&str> = REFERENCE.lines().filter(says_more).collect();
    let left_out = REFERENCE.lines().count() - kept.len();
    assert!(left_out > 30, "{left_out} lines name a default");
    let short = read(&kept.join("\n")).expect("what is left is sound");
    assert_eq!(format!("{short:?}"), format!("{:?}", reference()));
}

#[test]
fn an_event_of_a_failure_says_which_operation_failed() {
    let text = "[sinks.s]\nurl = 'http://s.example'\nsecrets = ['whsec_cmVwcmlzZS1kZXZlbG9wbWVudC1vbmx5LXNlY3JldCEh']\n[[operations]]\nname = 'tasks'\nroute = '/tasks'\n\
        handler = 'analyze'\nevents = [\n{ on = 'failed', type = 'task.failed', sink = 's' },\n\
        { on = 'cancelled', type = 'task.cancelled', sink = 's' }]";
    let config = read(text).expect("a sound file");
    let settings = config.operations[0].policy.settings();
    for (events, kind, data) in [
        (
            &settings.events_on_failed,
            "task.failed",
            r#"{"operation":"tasks","state":"failed"}"#,
        ),
        (
            &settings.events_on_cancelled,
            "task.cancelled",
            r#"{"operation":"tasks","state":"cancelled"}"#,
        ),
    ] {
        let [event] = &events[..] else {
            panic!("one event: {events:?}");
        };
        assert_eq!((event.kind(), event.sink()), (&name(kind), &name("s")));
        assert_eq!(event.data().as_bytes(), data.as_bytes());
    }
    assert_eq!(config.operations[0].events_on_done, []);
}
