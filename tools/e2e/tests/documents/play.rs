//! Plays a document: each block by its kind.

use crate::block::{self, Block, root};
use crate::elsewhere;
use crate::snippets;
use crate::transcript;
use crate::world::World;
use reprise::config::Draft;
use reprise_e2e::python;
use std::env;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Tables of a manifest that our host does not know: they are read as TOML alone.
const SPIN_ALONE: [&str; 2] = ["[[trigger.cron]]", "[key_value_store."];

/// Plays a document from its first block to its last.
///
/// # Panics
/// At the first block that is not true.
pub(crate) fn document(name: &str) {
    let text = fs::read_to_string(root().join(name));
    let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut world = World::new();
    for block in block::blocks(&text) {
        if let Err(problem) = play(&mut world, &block) {
            panic!("{name}:{}: ```{}: {problem}", block.line, block.kind);
        }
    }
}

fn play(world: &mut World, block: &Block) -> Result<(), String> {
    match block.kind.as_str() {
        "console" => transcript::read(&block.text).iter().try_for_each(|step| {
            let in_step = |problem| format!("{}\n{problem}", step.command);
            world.step(step).map_err(in_step)
        }),
        "sh" => script(world, &block.text),
        "toml" => configuration(world, &block.text),
        "json" => json(world, &block.text),
        "yaml" => yaml(&block.text),
        "rust" => snippets::check(&block.text),
        // A picture.
        "text" => Ok(()),
        other => Err(format!(
            "nothing is known to do with {other:?}: see tests/documents"
        )),
    }
}

fn script(world: &mut World, text: &str) -> Result<(), String> {
    if elsewhere::is_elsewhere(text) {
        return elsewhere::check(text);
    }
    world.run(text).map(drop)
}

/// A piece of `reprise.toml` is served from then on, and so is a line of `spin.toml`.
fn configuration(world: &mut World, text: &str) -> Result<(), String> {
    Draft::parse(text).map_err(|error| error.to_string())?;
    if text.starts_with("allowed_outbound_hosts") {
        world.replace_in_manifest(text);
    } else if !SPIN_ALONE.iter().any(|table| text.contains(table)) {
        world.add_config(text);
    }
    Ok(())
}

/// How long a line may take from the component to the log: it is written behind the answer.
const LOGGED_SOON: Duration = Duration::from_secs(5);

/// JSON is JSON, and what looks like a line of the log is one of this run's.
fn json(world: &mut World, text: &str) -> Result<(), String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let is_log = value.get("level").is_some() && value.get("event").is_some();
    let start = Instant::now();
    while is_log && !world.is_logged(text.trim_end()) {
        if start.elapsed() > LOGGED_SOON {
            return Err(format!(
                "no such line is in the log:\n{}",
                world.log().join("\n")
            ));
        }
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A piece of Prometheus' configuration is read by its own tool, everything else as YAML.
fn yaml(text: &str) -> Result<(), String> {
    let folder = TempDir::new().expect("there is room for a folder");
    let file = folder.path().join("block.yaml");
    let mut command = if text.contains("scrape_configs:") {
        let program = env::var_os("REPRISE_PROMTOOL").unwrap_or_else(|| "promtool".into());
        let mut promtool = Command::new(program);
        promtool.args(["check", "config"]);
        promtool
    } else {
        let mut reader = Command::new(python());
        reader.args([
            "-c",
            "import sys, yaml; list(yaml.safe_load_all(open(sys.argv[1])))",
        ]);
        reader
    };
    // The tool looks for the file of the token, too.
    let token = folder.path().join("token");
    fs::write(&token, "token").expect("the folder can be written to");
    let text = text.replace(
        "/etc/prometheus/reprise-token",
        &token.display().to_string(),
    );
    fs::write(&file, text).expect("the folder can be written to");
    let output = command
        .arg(&file)
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        let said = [output.stdout, output.stderr].concat();
        Err(String::from_utf8_lossy(&said).into_owned())
    }
}
