//! Only what the configuration names is ever called. Beside the upstream somebody listens who should never be, and the
//! manifest of these tests would let the component go there.

use super::setting::{TOKEN, options, pay};
use reprise_e2e::raw::RawRequest;
use reprise_e2e::{Host, Options, Sent, State, Upstream, wait_until};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// A port on which every connection is counted, a silent one too.
struct Forbidden {
    address: String,
    connections: Arc<AtomicUsize>,
}

impl Forbidden {
    fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener
            .local_addr()
            .expect("it has an address")
            .to_string();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        thread::spawn(move || {
            for _ in listener.incoming().map_while(Result::ok) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self {
            address,
            connections,
        }
    }

    fn assert_untouched(&self) {
        assert_eq!(
            self.connections.load(Ordering::SeqCst),
            0,
            "somebody came by"
        );
    }
}

#[test]
fn no_part_of_a_request_makes_the_service_call_somebody_else() {
    let forbidden = Forbidden::listen();
    let other = forbidden.address.as_str();
    let upstream = Upstream::start(|_, _| Sent::new(200, &[], b"ok"));
    let state = State::new();
    let host = Host::start(&state, &options(&upstream.url()));
    let url = format!("http://{other}/");
    let json = format!(
        r#"{{"url":"{url}","callback":"//{other}","$ref":"{url}","xml":"<!ENTITY x SYSTEM '{url}'>"}}"#
    );
    let put = |target: &str| RawRequest::new("PUT", target);
    let mut requests = vec![
        put(&format!("/items/{other}/parts")),
        put(&format!("/items/@{other}/parts")),
        put(&format!("/items/http:%2f%2f{other}%2f/parts")),
        put(&format!("/items/1/parts?url={url}&next=//{other}")),
        put(&format!("/items/1/parts#@{other}/")),
        put(&format!("//{other}/items/1/parts")),
        put(&format!("http://{other}/items/1/parts")),
        put(&format!("{other}/items/1/parts")),
        put("/items/1/parts").line(format!("Content-Type: {url}")),
        put("/items/1/parts").line(format!("X-Shop: {url}")),
    ];
    for name in [
        "X-Forwarded-Host",
        "X-Forwarded-For",
        "X-Forwarded-Server",
        "X-Host",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-Real-IP",
        "Forwarded",
        "Via",
        "Referer",
        "Origin",
        "Location",
        "Destination",
        "Proxy",
        "X-Wap-Profile",
        "spin-full-url",
        "spin-client-addr",
        "Idempotency-Key",
        "traceparent",
        "tracestate",
    ] {
        requests.push(put("/items/1/parts").line(format!("{name}: {url}")));
    }
    // The Host header is nobody's address to call.
    let mut named = put(&format!("http://{other}/items/1/parts"));
    named.lines[0] = format!("Host: {other}").into_bytes();
    requests.push(named);
    let mut named = put("/items/1/parts");
    named.lines[0] = format!("Host: {other}").into_bytes();
    requests.push(named);
    let mut forwarded = 0;
    for request in requests {
        let request = request.body(&json);
        let answers = request.send(host.address());
        let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        assert!(
            matches!(statuses[..], [] | [200 | 400 | 404]),
            "{request:?}: {answers:?}"
        );
        forwarded += usize::from(statuses == [200]);
    }
    let body = pay()
        .line("Idempotency-Key: k")
        .body(&json)
        .send(host.address());
    assert_eq!(body[0].status, 200);
    assert!(forwarded > 20, "{forwarded}");
    assert_eq!(upstream.seen().len(), forwarded + 1);
    forbidden.assert_untouched();
}

#[test]
fn a_redirect_is_the_upstreams_answer_and_the_clients_to_follow() {
    let forbidden = Forbidden::listen();
    let target = format!("http://{}/there", forbidden.address);
    let statuses = [300_u16, 301, 302, 303, 305, 307, 308];
    let location = target.clone();
    let upstream = Upstream::start(move |before, _| {
        let headers = [
            ("Location", location.as_str()),
            ("Content-Location", &location),
            ("Refresh", &format!("0; url={location}")),
            ("Link", &format!("<{location}>; rel=preload")),
            ("Alt-Svc", &format!("h2=\"{}\"", &location[7..])),
        ];
        Sent::new(statuses[before], &headers, b"elsewhere")
    });
    let state = State::new();
    let host = Host::start(&state, &options(&upstream.url()));
    let client = host.client();
    for status in statuses {
        let key = format!("k{status}");
        let send = || {
            let headers = [("idempotency-key", key.as_str())];
            client
                .send("PUT", "/items/1/parts", &headers, b"a")
                .expect("an answer")
        };
        let (first, repeat) = (send(), send());
        assert_eq!((first.status, first.body.as_str()), (status, "elsewhere"));
        assert_eq!(first.header("location"), Some(target.as_str()));
        assert_eq!(repeat.lasting(), first.lasting(), "{status}");
    }
    assert_eq!(upstream.seen().len(), statuses.len());
    forbidden.assert_untouched();
}

#[test]
fn a_redirect_of_a_receiver_is_a_failed_delivery_and_nobody_follows_it() {
    let forbidden = Forbidden::listen();
    let target = format!("http://{}/there", forbidden.address);
    let statuses = [301_u16, 302, 307, 308, 204];
    let receiver = Upstream::start(move |before, _| {
        let status = statuses[before.min(4)];
        Sent::new(status, &[("Location", target.as_str())], b"")
    });
    let state = State::new();
    let options = Options::default()
        .variable("admin_token", TOKEN)
        .variable("events_host", &receiver.url())
        .variable("events_path", "/hook")
        .edit(
            "base = \"1s\", cap = \"5m\"",
            "base = \"100ms\", cap = \"200ms\"",
        )
        .tick("100ms");
    let host = Host::start(&state, &options);
    let body = r#"{"product_id":1,"quantity":1}"#;
    assert_eq!(host.client().post("/orders", Some("k"), body).status, 201);
    wait_until("the delivery", SOON, || {
        receiver.seen().len() == statuses.len()
    });
    let seen = receiver.seen();
    assert!(
        seen.iter()
            .all(|seen| seen.target == "/hook" && seen.method == "POST")
    );
    let ids: Vec<_> = seen
        .iter()
        .map(|seen| seen.header("webhook-id").expect("an id"))
        .collect();
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
    forbidden.assert_untouched();
}
