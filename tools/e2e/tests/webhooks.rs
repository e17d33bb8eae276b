//! Our webhooks against the reference libraries of Standard Webhooks and CloudEvents, in both directions.
//!
//! `REPRISE_PYTHON` names a Python that has what `tools/e2e/requirements.txt` lists.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reprise::machine::Timestamp;
use reprise::webhook::{Receiver, Secrets, open};
use reprise_e2e::now;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

/// Runs the script.
fn python(command: &str, input: &[u8]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/webhooks.py");
    let mut child = Command::new(reprise_e2e::python())
        .arg(script)
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("REPRISE_PYTHON names a program");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input).expect("the script reads all of it");
    drop(stdin);
    let output = child.wait_with_output().expect("the script ends");
    assert!(output.status.success(), "{command}: {}", output.status);
    String::from_utf8(output.stdout).expect("the script writes text")
}

#[test]
fn the_reference_libraries_read_what_we_send() {
    let samples = Command::new(env!("CARGO_BIN_EXE_webhook_samples")).output();
    let samples = samples.expect("the samples are written");
    assert!(samples.status.success());
    assert_eq!(python("check", &samples.stdout), "12 messages agree\n");
}

#[test]
fn we_read_what_the_reference_libraries_send() {
    let mut modes = Vec::new();
    for line in python("produce", b"").lines() {
        let sample: Value = serde_json::from_str(line).expect("a JSON document");
        modes.push(check(&sample));
    }
    modes.sort();
    assert_eq!(
        modes,
        ["binary"; 3]
            .into_iter()
            .chain(["structured"; 4])
            .collect::<Vec<_>>()
    );
}

/// Opens a message of theirs, and checks the event. Answers with its mode.
fn check(sample: &Value) -> String {
    let text = |name: &str| sample[name].as_str().expect("a text").to_owned();
    let bytes = |base64: &str| STANDARD.decode(base64).expect("base64");
    let secret = text("secret").parse().expect("a secret");
    let receiver = Receiver {
        secrets: Secrets::new(vec![secret]).expect("one secret"),
        source: Some("/orders".to_owned()),
    };
    let headers: HeaderMap = sample["headers"]
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, value)| {
            let value = value.as_str().expect("a text");
            (
                HeaderName::try_from(name).expect("a header's name"),
                HeaderValue::from_str(value).expect("a header's value"),
            )
        })
        .collect();
    let event = open(&receiver, &headers, &bytes(&text("body_base64")), now())
        .unwrap_or_else(|error| panic!("{error}: {sample}"));
    let parts = event.parts();
    assert_eq!((&*parts.id, &*parts.kind), (&*text("id"), &*text("type")));
    assert_eq!(parts.subject.as_deref(), sample["subject"].as_str());
    assert_eq!(
        parts.time.map(Timestamp::as_unix_ms),
        sample["time_ms"].as_u64()
    );
    let data = parts.data.as_deref().expect("each sample has data");
    match sample["data_base64"].as_str() {
        Some(base64) => assert_eq!(data, bytes(base64)),
        None => {
            let data: Value = serde_json::from_slice(data).expect("JSON");
            assert_eq!(data, sample["data"]);
        }
    }
    text("mode")
}
