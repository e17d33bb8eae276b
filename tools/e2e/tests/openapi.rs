//! The service against the OpenAPI document that it serves: schemathesis makes requests of it, valid and not, and looks
//! for an answer that is not as the document says. Every check is on; `schemathesis/` says where one is replaced, and why.
//!
//! `SEED` is another seed, `EXAMPLES` how many requests are made of each operation, and `SECONDS` lets it go on for as
//! long as that.

use reprise_e2e::{Host, Options, State, python_program};
use std::env;
use std::fs;
use std::path::Path;

/// The operators' token, as `schemathesis/users.yaml` has it.
const TOKEN: &str = "secret";
const SEED: &str = "5";

#[test]
fn every_answer_is_as_the_document_says() {
    let state = State::new();
    let host = Host::start(&state, &Options::default().variable("admin_token", TOKEN));
    // A folder of its own, because the program leaves files where it runs.
    let folder = state.path().join("schemathesis");
    fs::create_dir(&folder).unwrap();
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemathesis");
    for name in ["schemathesis.toml", "users.yaml", "hooks.py"] {
        fs::copy(ours.join(name), folder.join(name)).unwrap();
    }
    let seed = env::var("SEED").unwrap_or_else(|_| SEED.to_owned());
    let mut run = python_program("st");
    // All checks are on unless the configuration says otherwise; naming them here would overrule it.
    run.current_dir(&folder)
        .arg("run")
        .arg(format!("{}/-/openapi.yaml", host.url()))
        .args(["--no-color", "--continue-on-failure"])
        .args(["--seed", &seed]);
    for (variable, option) in [("EXAMPLES", "--max-examples"), ("SECONDS", "--max-time")] {
        if let Ok(value) = env::var(variable) {
            run.args([option, &value]);
        }
    }
    let output = run
        .output()
        .unwrap_or_else(|error| panic!("{run:?} cannot be started: {error}"));
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}");
    assert!(
        output.status.success(),
        "schemathesis ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    // It must not succeed for want of anything to do.
    assert!(
        ["Examples", "Coverage", "Fuzzing", "Stateful"]
            .iter()
            .all(|phase| told.contains(&format!("✅ {phase}"))),
        "a phase did not run"
    );
}
