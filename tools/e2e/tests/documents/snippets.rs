//! The Rust of the documents, compiled. A block is true if it is part of this file, but for how its lines are broken.

use reprise_e2e::{Host, Options};
use std::error::Error;
use tempfile::TempDir;

/// README.md, *Call it from Rust*. Documents have the service at an address that a test cannot have.
fn call_it_from_rust(address: &str) -> Result<(), Box<dyn Error>> {
    use reprise_client::{Call, Client, Policy};

    let client = Client::new(address, Policy::default())?;
    let charge = Call::post(
        "/charge",
        r#"{"amount": 50300, "currency": "EUR", "reference": "order-8"}"#,
    );
    let reply = client.send(&charge)?;
    println!(
        "{} after {} attempts: {}",
        reply.status,
        reply.attempts,
        reply.text()
    );
    assert_eq!(reply.status, 201);
    Ok(())
}

#[test]
fn the_client_of_the_readme_gets_its_charge() {
    let state = TempDir::new().expect("there is room for a folder");
    let host = Host::start(state.path(), &Options::default());
    call_it_from_rust(&host.url()).expect("a reply");
}

/// Whether a block is part of this file.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let code = text.lines().filter(|line| !line.starts_with("//"));
    let code: String = code.collect();
    let code = squeezed(&code).replace("\"http://127.0.0.1:3000\"", "address");
    if squeezed(include_str!("snippets.rs")).contains(&code) {
        Ok(())
    } else {
        Err("tests/documents/snippets.rs has to have it, as code that is run".to_owned())
    }
}

/// Code without white space, and without the commas that come with broken lines.
fn squeezed(code: &str) -> String {
    let code: String = code.split_whitespace().collect();
    code.replace(",)", ")")
}
