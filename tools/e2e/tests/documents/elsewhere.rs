//! Commands of the documents that no test runs, each with the reason. They are checked for their syntax, and for what they
//! name as far as that is here.

use crate::block::root;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What such commands begin with, and why they are not run.
const ELSEWHERE: &[(&str, &str)] = &[
    ("spin ", "no Spin is at hand"),
    ("kubectl ", "no cluster is at hand"),
    ("systemctl ", "no systemd runs where tests run"),
    ("journalctl ", "no systemd runs where tests run"),
    ("install ", "it changes the machine"),
    ("cp -R ", "it changes the machine"),
    ("useradd ", "it changes the machine"),
    ("podman ", "images are not to be had where tests run"),
    ("git ", "a test leaves the repository alone"),
    (
        "nginx ",
        "it changes the machine; tests/deploy has the file checked",
    ),
    ("caddy ", "it changes the machine"),
    (
        "redis-server ",
        "it serves until it is ended; the host's tests start one with the file",
    ),
    (
        "reprise-host ",
        "it serves until it is ended; its own tests start it with the file",
    ),
    (
        "target/host/reprise-host ",
        "it serves until it is ended; tests/deploy starts it with a packed folder",
    ),
    ("aws ", "no such cloud is at hand"),
    (
        "cargo xtask ",
        "`cargo xtask test` does what there is to do, and no test builds beside it",
    ),
    ("cargo test ", "`cargo xtask test` runs it"),
    ("cargo build ", "`cargo xtask test` runs it"),
    ("cargo clippy ", "`cargo xtask test` runs it"),
    ("cargo doc ", "`cargo xtask test` runs it"),
    ("cargo fmt ", "`cargo xtask test` runs it"),
    ("REPRISE_PYTHON=", "`cargo xtask test` runs it"),
    (
        "python3 -m venv mine ",
        "the Python of tools/e2e/requirements.txt has httpbin, and is what runs",
    ),
    (
        "while :; do curl ",
        "it never ends; tests/ticks.rs has the script that does the same",
    ),
];

/// Whether a command is one that no test runs.
pub(crate) fn is_elsewhere(command: &str) -> bool {
    ELSEWHERE
        .iter()
        .any(|(start, _)| command.starts_with(start))
}

/// Checks a command that is not run: it must be known as such, be sound for a shell, and name what exists.
pub(crate) fn check(command: &str) -> Result<(), String> {
    if !is_elsewhere(command) {
        return Err("no test runs it, and it is not listed as one that cannot be run".to_owned());
    }
    syntax(command)?;
    let words: Vec<&str> = command.split_whitespace().collect();
    if let ["cargo", "xtask", task, ..] = words[..] {
        known_task(task)?;
    }
    for pair in words.windows(2) {
        if pair[0] == "--test" {
            known_test(pair[1])?;
        }
    }
    for word in &words {
        if let Some(path) = word.strip_prefix("deploy/") {
            known_file(path)?;
        }
    }
    Ok(())
}

/// Checks a command in the comments of a file, which may also be a script that some test runs.
pub(crate) fn check_comment(command: &str) -> Result<(), String> {
    match command.strip_prefix("deploy/") {
        Some(script) => known_file(script.split_whitespace().next().unwrap_or_default()),
        None => check(command),
    }
}

/// Whether a shell would read it.
pub(crate) fn syntax(script: &str) -> Result<(), String> {
    let output = Command::new("bash").args(["-n", "-c", script]).output();
    let output = output.map_err(|error| format!("bash: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn known_task(task: &str) -> Result<(), String> {
    let usage = fs::read_to_string(root().join("tools/xtask/src/help.rs")).expect("it is here");
    let line = format!("  cargo xtask {task}");
    let is_known = usage.lines().any(|known| {
        known
            .strip_prefix(&line)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    });
    is_known
        .then_some(())
        .ok_or_else(|| format!("`cargo xtask help` has no {task}"))
}

fn known_test(name: &str) -> Result<(), String> {
    let folders = [
        "tests",
        "tools/e2e/tests",
        "tools/host/tests",
        "tools/client/tests",
    ];
    let places = folders.iter().flat_map(|folder| {
        let folder: PathBuf = root().join(folder);
        [
            folder.join(format!("{name}.rs")),
            folder.join(name).join("main.rs"),
        ]
    });
    places
        .into_iter()
        .any(|place| place.is_file())
        .then_some(())
        .ok_or_else(|| format!("there is no test {name}"))
}

fn known_file(path: &str) -> Result<(), String> {
    let path = root().join("deploy").join(path);
    path.exists()
        .then_some(())
        .ok_or_else(|| format!("{} is not there", path.display()))
}

#[test]
fn what_is_not_run_is_still_looked_at() {
    let table = [
        ("spin up --from x", true),
        ("cargo xtask wasm", true),
        ("cargo xtask wasmm", false),
        ("cargo xtask was", false),
        ("cargo test --test machine", true),
        ("cargo test --test machines", false),
        ("kubectl apply -f deploy/kubernetes/cronjob.yaml", true),
        ("kubectl apply -f deploy/kubernetes/nothing.yaml", false),
        ("kubectl apply -f 'x", false),
        ("rm -rf /", false),
    ];
    for (command, is_sound) in table {
        assert_eq!(
            check(command).is_ok(),
            is_sound,
            "{command}: {:?}",
            check(command)
        );
    }
}
