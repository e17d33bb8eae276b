//! A browser of the test's own: Chromium without a window, driven over `WebDriver`, which is JSON over HTTP.
//!
//! Only what the tests need of the protocol is here, so that no crate has to be compiled for it. Everything that is looked
//! for is waited for: a page is never as fast as its test.

use crate::client::Client;
use crate::{START, free_port, wait_until};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How long a page may take for anything.
const SOON: Duration = Duration::from_secs(20);

/// What the browser is started with: no window, nothing that it does by itself over the network, nothing that needs a
/// user's session.
const ARGUMENTS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// Keys, as `WebDriver` writes them.
pub mod keys {
    /// Moves the focus on.
    pub const TAB: &str = "\u{e004}";
    /// Presses what has the focus.
    pub const ENTER: &str = "\u{e007}";
    /// Held, it moves the focus back.
    pub const SHIFT: &str = "\u{e008}";
    /// Closes what is open.
    pub const ESCAPE: &str = "\u{e00c}";
}

/// A browser with one page. It is ended when it is dropped.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    client: Client,
    session: String,
    profile: TempDir,
}

impl Browser {
    /// Starts a browser with a profile of its own.
    ///
    /// # Panics
    /// When `chromedriver`, or what `REPRISE_CHROMEDRIVER` names, is not installed or does not come up.
    #[must_use]
    pub fn start() -> Self {
        let program = env::var_os("REPRISE_CHROMEDRIVER");
        let program = program.unwrap_or_else(|| "chromedriver".into());
        let port = free_port();
        let mut command = Command::new(&program);
        command.arg(format!("--port={port}"));
        let profile = TempDir::new().expect("a folder");
        // A browser that is ended leaves folders of its own where temporary ones go.
        command
            .env("TMPDIR", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let driver = command.spawn().unwrap_or_else(|error| {
            panic!(
                "{} cannot be started: {error}; `cargo xtask test` installs it",
                program.display()
            )
        });
        let mut browser = Self {
            driver,
            client: Client::new(&format!("127.0.0.1:{port}")),
            session: String::new(),
            profile,
        };
        wait_until("the driver", START, || {
            browser
                .client
                .send("GET", "/status", &[], b"")
                .is_ok_and(|answer| answer.status == 200)
        });
        browser.session = browser.new_session();
        // Away from the page that it starts with, and from what that has asked for.
        browser.open("about:blank");
        drop(browser.requests());
        browser
    }

    fn new_session(&self) -> String {
        let profile = format!("--user-data-dir={}", self.profile.path().display());
        let arguments = ARGUMENTS.iter().copied().chain([profile.as_str()]);
        let capabilities = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": { "args": arguments.collect::<Vec<_>>() },
        });
        let asked = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let session = self.ask("POST", "/session", &asked).expect("a session");
        let id = session["sessionId"].as_str().expect("a session has an id");
        format!("/session/{id}")
    }

    /// Opens an address.
    ///
    /// # Panics
    /// When it does not load.
    pub fn open(&self, url: &str) {
        self.tell("/url", &json!({ "url": url }));
    }

    /// Runs a script in the page and gives what it returns.
    ///
    /// # Panics
    /// When it throws.
    pub fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.tell(
            "/execute/sync",
            &json!({ "script": script, "args": arguments }),
        )
    }

    /// Runs a script in the page whose last argument is a function, and gives what that is called with.
    ///
    /// # Panics
    /// When it throws.
    pub fn run_async(&self, script: &str) -> Value {
        self.tell("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// The text of the first element that the selector finds, if it is shown.
    ///
    /// # Panics
    /// When the selector is none.
    #[must_use]
    pub fn text(&self, selector: &str) -> Option<String> {
        let script = "const found = document.querySelector(arguments[0]);
            return found?.checkVisibility() ? found.innerText.trim() : null;";
        let text = self.run(script, &[selector.into()]);
        text.as_str().map(str::to_owned)
    }

    /// Waits until a shown element has a text that contains this.
    ///
    /// # Panics
    /// When it never does.
    pub fn await_text(&self, selector: &str, part: &str) {
        let start = std::time::Instant::now();
        loop {
            let text = self.text(selector);
            if text.as_ref().is_some_and(|text| text.contains(part)) {
                return;
            }
            assert!(
                start.elapsed() < SOON,
                "{selector} has not {part:?} within {SOON:?} but {text:?}; {}",
                self.run("return document.body.innerText", &[])
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the script returns true.
    ///
    /// # Panics
    /// When it never does.
    pub fn await_true(&self, what: &str, script: &str) {
        wait_until(what, SOON, || self.run(script, &[]) == true);
    }

    /// Clicks an element as a user does, once it is there and nothing is before it.
    ///
    /// # Panics
    /// When it never is.
    pub fn click(&self, selector: &str) {
        wait_until(&format!("a click on {selector}"), SOON, || {
            // The page may just be putting a new element in the place of the one that was found.
            self.find(selector)
                .is_some_and(|element| self.on(&element, "click", &json!({})).is_some())
        });
    }

    /// Types into a field.
    ///
    /// # Panics
    /// When it is never there.
    pub fn enter(&self, selector: &str, text: &str) {
        wait_until(&format!("typing into {selector}"), SOON, || {
            let element = self.find(selector);
            element.is_some_and(|element| {
                self.on(&element, "clear", &json!({}));
                self.on(&element, "value", &json!({ "text": text }))
                    .is_some()
            })
        });
    }

    /// Presses keys together, and lets them go.
    ///
    /// # Panics
    /// When the browser does not answer.
    pub fn press(&self, together: &[&str]) {
        let down = together
            .iter()
            .map(|key| json!({ "type": "keyDown", "value": key }));
        let up = together
            .iter()
            .rev()
            .map(|key| json!({ "type": "keyUp", "value": key }));
        let actions: Vec<Value> = down.chain(up).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.tell("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Has the page believe that its user wants this colour scheme, and no motion.
    ///
    /// # Panics
    /// When the browser does not answer.
    pub fn prefer(&self, scheme: &str) {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.command(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        );
        self.await_drawing();
    }

    /// Gives the page so much room, in its pixels, and waits until it has taken it.
    ///
    /// # Panics
    /// When the browser does not answer.
    pub fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", &size);
        self.await_drawing();
    }

    /// Waits until the page has been drawn after what changed. What observes sizes is told of a change as the page is
    /// drawn, behind the functions that wait for that: so the second drawing shows that the first is over.
    fn await_drawing(&self) {
        self.run_async(
            "const done = arguments[arguments.length - 1];
             requestAnimationFrame(() => requestAnimationFrame(done));",
        );
    }

    /// Writes what is on the screen to a file, as PNG. The mouse points at nothing then.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn photograph(&self, file: &Path) {
        let away = json!({ "type": "mouseMoved", "x": 0, "y": 0 });
        self.command("Input.dispatchMouseEvent", &away);
        let taken = self.command("Page.captureScreenshot", &json!({}));
        let picture = taken["data"].as_str().expect("a picture in base64");
        let picture = BASE64_STANDARD.decode(picture).expect("base64");
        fs::write(file, picture).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    /// What the page and the browser have logged since the last look: the level and the message of each entry.
    ///
    /// # Panics
    /// When the browser does not answer.
    #[must_use]
    pub fn log(&self) -> Vec<(String, String)> {
        let entries = self.entries("browser");
        let text = |entry: &Value, name: &str| entry[name].as_str().expect("a text").to_owned();
        entries
            .iter()
            .map(|entry| (text(entry, "level"), text(entry, "message")))
            .collect()
    }

    /// The addresses of all requests since the last look.
    ///
    /// # Panics
    /// When the browser does not answer.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let mut requests = Vec::new();
        for entry in self.entries("performance") {
            let message = entry["message"].as_str().expect("a message");
            let message: Value = serde_json::from_str(message).expect("it is JSON");
            if message["message"]["method"] == "Network.requestWillBeSent" {
                let url = message["message"]["params"]["request"]["url"].as_str();
                requests.push(url.expect("a request has an address").to_owned());
            }
        }
        requests
    }

    fn entries(&self, log: &str) -> Vec<Value> {
        let entries = self.tell("/se/log", &json!({ "type": log }));
        entries.as_array().expect("a list").clone()
    }

    /// A command of the browser's own protocol, for what `WebDriver` does not have.
    fn command(&self, name: &str, parameters: &Value) -> Value {
        self.tell(
            "/goog/cdp/execute",
            &json!({ "cmd": name, "params": parameters }),
        )
    }

    fn find(&self, selector: &str) -> Option<String> {
        let asked = json!({ "using": "css selector", "value": selector });
        let found = self
            .ask("POST", &format!("{}/element", self.session), &asked)
            .ok()?;
        let reference = found.as_object()?.values().next()?.as_str()?;
        Some(reference.to_owned())
    }

    /// Does something with an element; `None` when that cannot be done.
    fn on(&self, element: &str, what: &str, with: &Value) -> Option<Value> {
        let path = format!("{}/element/{element}/{what}", self.session);
        self.ask("POST", &path, with).ok()
    }

    fn tell(&self, what: &str, with: &Value) -> Value {
        let path = format!("{}{what}", self.session);
        self.ask("POST", &path, with)
            .unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Asks the driver; an error is its own.
    fn ask(&self, method: &str, path: &str, with: &Value) -> Result<Value, String> {
        let body = with.to_string();
        let headers = [("content-type", "application/json")];
        let answer = self.client.send(method, path, &headers, body.as_bytes());
        let answer = answer.map_err(|error| error.to_string())?;
        let value = answer.json()["value"].take();
        if answer.status == 200 {
            Ok(value)
        } else {
            Err(value["message"].as_str().unwrap_or_default().to_owned())
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session, and not with its driver.
        let _ = self.client.send("DELETE", &self.session, &[], b"");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
