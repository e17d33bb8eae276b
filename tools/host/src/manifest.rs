//! The text of a `spin.toml`, manifest version 2, as far as the host supports it.
//!
//! A field that is not here is refused by name, also where Spin knows it: running an application without something
//! it asked for would be worse than not running it. What the values mean is settled in [`crate::app`].

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// The version of the manifest format that the host reads.
const MANIFEST_VERSION: u32 = 2;

/// A whole manifest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Must be 2.
    pub spin_manifest_version: u32,
    /// `[application]`
    pub application: Application,
    /// `[variables]`, by name.
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
    /// `[[trigger.http]]`
    pub trigger: Triggers,
    /// `[component.<id>]`, by id.
    #[serde(default)]
    pub component: BTreeMap<String, Component>,
}

/// `[application]`: for people, except the name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// The application's name.
    pub name: String,
    /// For people.
    #[serde(default)]
    pub version: String,
    /// For people.
    #[serde(default)]
    pub description: String,
    /// For people.
    #[serde(default)]
    pub authors: Vec<String>,
    /// For other tools.
    #[serde(default)]
    pub tool: toml::Table,
}

/// One entry of `[variables]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// The value when nothing else gives one; exactly one of this and `required` is there.
    pub default: Option<String>,
    /// Whether somebody has to give a value.
    #[serde(default)]
    pub required: bool,
    /// Whether the value is to be kept out of sight; the host never shows any.
    #[serde(default)]
    pub secret: bool,
    /// For people.
    #[serde(default)]
    pub description: String,
}

/// What starts a component; only HTTP requests do here.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Triggers {
    /// `[[trigger.http]]`
    #[serde(default)]
    pub http: Vec<HttpTrigger>,
}

/// One entry of `[[trigger.http]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTrigger {
    /// For people.
    #[serde(default)]
    pub id: String,
    /// Which requests.
    pub route: Route,
    /// The id of the component that answers them. An inline table is refused in [`crate::app`], with a better message
    /// than a type mismatch would be.
    pub component: toml::Value,
}

/// Which requests a trigger takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a route is a string, or { private = true }")]
pub enum Route {
    /// Those whose path matches: exact, with `:name` segments, or with a trailing `/...`.
    Path(String),
    /// None from outside; the component is there for others of the application.
    Private(PrivateRoute),
}

/// `{ private = true }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateRoute {
    /// Must be true.
    pub private: bool,
}

/// One `[component.<id>]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// The path of the .wasm file, from the manifest's directory.
    pub source: Source,
    /// For people.
    #[serde(default)]
    pub description: String,
    /// The component's variables: templates over the application's.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// The guest's environment variables.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What the guest can read with its file system calls.
    #[serde(default)]
    pub files: Vec<Files>,
    /// Patterns of files that are left out of `files`.
    #[serde(default)]
    pub exclude_files: Vec<String>,
    /// Where the guest may send requests to: templates.
    #[serde(default)]
    pub allowed_outbound_hosts: Vec<String>,
    /// The stores that the guest may open.
    #[serde(default)]
    pub key_value_stores: Vec<String>,
    /// How to build the .wasm file: for other tools.
    pub build: Option<Build>,
    /// For other tools.
    #[serde(default)]
    pub tool: toml::Table,
}

/// Where a component's code comes from.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// A file.
    Path(String),
    /// A download; refused in [`crate::app`].
    Remote(toml::Table),
}

/// One entry of a component's `files`.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "an entry of `files` is a pattern, or { source = …, destination = … }"
)]
pub enum Files {
    /// A path or a glob pattern; the files keep their paths from the manifest's directory.
    Pattern(String),
    /// A file or directory under another path.
    Placement(Placement),
}

/// `{ source = …, destination = … }`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// A path from the manifest's directory.
    pub source: String,
    /// The guest's path.
    pub destination: String,
}

/// `[component.<id>.build]`: read only to notice misspelt fields.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// One command or several.
    pub command: toml::Value,
    /// Where to run it.
    pub workdir: Option<String>,
    /// Which files to watch.
    #[serde(default)]
    pub watch: Vec<String>,
}

impl Manifest {
    /// Reads a manifest file. An error names the file, the line and the field.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Reads a manifest's text.
    pub fn parse(text: &str) -> Result<Self> {
        // The version first: in another one, the other fields mean something else.
        let version = toml::from_str::<toml::Table>(text)?
            .get("spin_manifest_version")
            .and_then(toml::Value::as_integer)
            .context("spin_manifest_version is missing")?;
        ensure!(
            version == i64::from(MANIFEST_VERSION),
            "spin_manifest_version = {version} is not supported, only {MANIFEST_VERSION} is"
        );
        toml::from_str(text).context("this host cannot run the manifest")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"
spin_manifest_version = 2
[application]
name = "test"
[[trigger.http]]
route = "/..."
component = "main"
[component.main]
source = "main.wasm"
"#;

    /// The whole error chain of the minimal manifest with one replacement.
    fn error_with(from: &str, to: &str) -> String {
        assert!(MINIMAL.contains(from));
        format!(
            "{:#}",
            Manifest::parse(&MINIMAL.replace(from, to)).unwrap_err()
        )
    }

    #[test]
    fn the_minimal_manifest_is_read() {
        let manifest = Manifest::parse(MINIMAL).unwrap();
        assert_eq!(manifest.application.name, "test");
        assert!(matches!(&manifest.trigger.http[0].route, Route::Path(path) if path == "/..."));
        assert!(
            matches!(&manifest.component["main"].source, Source::Path(path) if path == "main.wasm")
        );
    }

    #[test]
    fn a_full_manifest_is_read() {
        let manifest = Manifest::parse(
            r#"
spin_manifest_version = 2

[application]
name = "full"
version = "1.0.0"
description = "everything"
authors = ["someone"]
[application.tool.other]
key = 1

[variables]
token = { required = true, secret = true, description = "secret" }
host = { default = "example.com" }

[[trigger.http]]
id = "main"
route = "/hello/:name/..."
component = "main"

[[trigger.http]]
route = { private = true }
component = "other"

[component.main]
source = "main.wasm"
description = "main"
variables = { token = "{{ token }}" }
environment = { A = "B" }
files = ["a/*", { source = "b", destination = "/c" }]
exclude_files = ["a/secret"]
allowed_outbound_hosts = ["https://{{ host }}", "http://self"]
key_value_stores = ["default"]
[component.main.build]
command = "cargo build"
workdir = "x"
watch = ["src/**"]

[component.other]
source = "other.wasm"
build = { command = ["a", "b"] }
"#,
        )
        .unwrap();
        assert!(manifest.variables["token"].required && manifest.variables["token"].secret);
        assert_eq!(
            manifest.variables["host"].default.as_deref(),
            Some("example.com")
        );
        assert!(matches!(
            manifest.trigger.http[1].route,
            Route::Private(PrivateRoute { private: true })
        ));
        assert_eq!(manifest.component["main"].files.len(), 2);
    }

    #[test]
    fn what_is_not_supported_is_named() {
        for (from, to, message) in [
            ("= 2", "= 1", "spin_manifest_version = 1 is not supported"),
            (
                "spin_manifest_version = 2",
                "",
                "spin_manifest_version is missing",
            ),
            ("name = \"test\"", "", "missing field `name`"),
            (
                "[component.main]",
                "[component.main]\nsqlite_databases = [\"default\"]",
                "unknown field `sqlite_databases`",
            ),
            (
                "[component.main]",
                "[component.main]\nai_models = [\"x\"]",
                "unknown field `ai_models`",
            ),
            (
                "[component.main]",
                "[component.main]\nallowed_http_hosts = []",
                "unknown field `allowed_http_hosts`",
            ),
            (
                "[component.main]",
                "[component.main]\ndependencies = { \"a:b\" = \"1\" }",
                "unknown field `dependencies`",
            ),
            (
                "[component.main]",
                "[component.main.profile.debug]\nsource = \"x\"\n[component.main]",
                "unknown field `profile`",
            ),
            (
                "[component.main]",
                "[component.main.build]\ncommand = \"x\"\nenv = 1\n[component.main]",
                "unknown field `env`",
            ),
            (
                "[[trigger.http]]",
                "[[trigger.redis]]\nchannel = \"x\"\n[[trigger.http]]",
                "unknown field `redis`",
            ),
            (
                "[[trigger.http]]",
                "[[trigger.http]]\nexecutor = { type = \"wagi\" }",
                "unknown field `executor`",
            ),
            (
                "component = \"main\"",
                "static_response = { body = \"x\" }",
                "unknown field `static_response`",
            ),
            (
                "route = \"/...\"",
                "route = 1",
                "a route is a string, or { private = true }",
            ),
            (
                "[application]",
                "[application]\ntargets = []",
                "unknown field `targets`",
            ),
            (
                "[application]",
                "[application.trigger.http]\nbase = \"/x\"\n[application]",
                "unknown field `trigger`",
            ),
            (
                "[application]",
                "[variables]\na = { default = 1 }\n[application]",
                "invalid type: integer",
            ),
            (
                "[application]",
                "[variables]\na = { value = \"1\" }\n[application]",
                "unknown field `value`",
            ),
            (
                "[component.main]",
                "[component.main]\nfiles = [1]",
                "an entry of `files` is a pattern, or {",
            ),
        ] {
            let error = error_with(from, to);
            assert!(
                error.contains(message),
                "{to:?} gave {error:?}, not {message:?}"
            );
        }
    }

    #[test]
    fn an_error_names_the_line() {
        let error = error_with(
            "source = \"main.wasm\"",
            "source = \"main.wasm\"\nai_models = []",
        );
        assert!(error.contains("line 10"), "{error}");
    }
}
