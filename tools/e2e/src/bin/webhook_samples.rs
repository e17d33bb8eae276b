//! Prints signed messages of all kinds that we send, one JSON document a line, for others' libraries to read.
//!
//! ```sh
//! cargo run --package reprise-e2e --bin webhook_samples | python3 tools/e2e/python/webhooks.py check
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reprise::machine::Timestamp;
use reprise::webhook::{CloudEvent, EventParts, Mode, Secret, Secrets, seal};
use serde_json::{Map, Value, json};

fn main() {
    let now_ms = reprise_e2e::now().as_unix_ms();
    for (event, attributes) in events() {
        for (mode, name) in [(Mode::Structured, "structured"), (Mode::Binary, "binary")] {
            // The first two are a rotation: a receiver that has either secret accepts the message.
            for accepted in 0..2 {
                println!(
                    "{}",
                    sample(&event, &attributes, mode, name, accepted, now_ms)
                );
            }
        }
    }
}

fn sample(
    event: &CloudEvent,
    attributes: &Value,
    mode: Mode,
    name: &str,
    accepted: usize,
    now_ms: u64,
) -> Value {
    let keys = [[1; 24], [2; 24]];
    let secrets = keys.map(|key| Secret::new(key).expect("a secret"));
    let secrets = Secrets::new(secrets.to_vec()).expect("two secrets");
    let now = Timestamp::from_unix_ms(now_ms);
    let message = seal(event, mode, &secrets, now).expect("the sample's id can be signed");
    let headers = message.headers.iter();
    let headers: Map<String, Value> = headers
        .map(|(name, value)| (name.to_string(), value.clone().into()))
        .collect();
    json!({
        "secret": format!("whsec_{}", STANDARD.encode(keys[accepted])),
        "mode": name,
        "headers": headers,
        "body_base64": STANDARD.encode(message.body),
        "event": attributes,
        "data_base64": STANDARD.encode(event.parts().data.clone().unwrap_or_default()),
    })
}

/// The events, and the attributes that others are to read.
fn events() -> Vec<(CloudEvent, Value)> {
    let order = EventParts {
        id: "018f4a7e-0001-7000-8000-000000000001-0".to_owned(),
        source: "/orders".to_owned(),
        kind: "order.created".to_owned(),
        data: Some(br#"{"product_id":42,"quantity":1}"#.to_vec()),
        ..EventParts::default()
    };
    let required = json!({
        "specversion": "1.0",
        "id": order.id,
        "source": order.source,
        "type": order.kind,
    });
    let with = |more: Value| {
        let mut attributes = required.clone();
        let members = attributes.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        attributes
    };
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let full = EventParts {
        subject: Some("заказ \"1\" на 100% €".to_owned()),
        time: Some(Timestamp::from_unix_ms(1_800_000_000_123)),
        datacontenttype: Some("application/json".to_owned()),
        traceparent: Some(trace.to_owned()),
        data: Some(r#"{"product_id": 42, "note": "заказ"}"#.into()),
        ..order.clone()
    };
    let full_attributes = with(json!({
        "subject": full.subject,
        "time": "2027-01-15T08:00:00.123Z",
        "datacontenttype": "application/json",
        "traceparent": trace,
    }));
    let text = EventParts {
        datacontenttype: Some("text/plain".to_owned()),
        data: Some("строка".into()),
        ..order.clone()
    };
    let text_attributes = with(json!({ "datacontenttype": "text/plain" }));
    [
        (order, required.clone()),
        (full, full_attributes),
        (text, text_attributes),
    ]
    .map(|(parts, attributes)| (CloudEvent::new(parts).expect("a sound event"), attributes))
    .into()
}
