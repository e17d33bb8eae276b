//! The Rust of the documents, compiled. A block is true if it is part of this file, but for how its lines are broken.

use reprise_e2e::{Host, Options, State};
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

/// CONTRIBUTING.md, *Add a handler*.
#[expect(
    unreachable_pub,
    reason = "the document shows it as a module of the crate"
)]
mod greeting {
    use reprise::content::json::Json;

    /// Whom to greet.
    pub struct Greeting {
        name: String,
    }

    impl Greeting {
        /// Reads the JSON of a greeting. The error says what is wrong, for the client.
        pub fn parse(body: &[u8]) -> Result<Self, String> {
            let form = Json::parse(body).map_err(|error| error.problem)?;
            match form.members(["name"])? {
                [Json::Text(name)] if !name.trim().is_empty() => Ok(Self { name: name.clone() }),
                [_] => Err("name is not a text with something in it".to_owned()),
            }
        }

        /// What is answered.
        pub fn text(&self) -> String {
            format!("Hello, {}!", self.name.trim())
        }
    }
}

#[test]
fn the_handler_of_the_contributors_greets() {
    let greet = |body: &[u8]| greeting::Greeting::parse(body).map(|greeting| greeting.text());
    assert_eq!(greet(br#"{"name": " Ada "}"#), Ok("Hello, Ada!".to_owned()));
    for refused in [&br#"{"name": " "}"#[..], br#"{"name": 1}"#, b"{}", b""] {
        assert!(greet(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn the_client_of_the_readme_gets_its_charge() {
    let state = TempDir::new().expect("there is room for a folder");
    let host = Host::start(&State::at(state.path()), &Options::default());
    call_it_from_rust(&host.url()).expect("a reply");
}

/// Whether a block is part of this file.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let code = squeezed(text).replace("\"http://127.0.0.1:3000\"", "address");
    if squeezed(include_str!("snippets.rs")).contains(&code) {
        Ok(())
    } else {
        Err("tests/documents/snippets.rs has to have it, as code that is run".to_owned())
    }
}

/// Code without comments, white space, and the commas that come with broken lines.
fn squeezed(code: &str) -> String {
    let lines = code.lines().map(str::trim);
    let code: String = lines.filter(|line| !line.starts_with("//")).collect();
    let code: String = code.split_whitespace().collect();
    code.replace(",)", ")")
}
