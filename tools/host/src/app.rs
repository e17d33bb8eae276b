//! An application: its manifest with everything that can be settled at start settled, and every mistake found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};

use crate::allowed_hosts::AllowedHosts;
use crate::files;
use crate::kv::DEFAULT_STORE;
use crate::manifest::{self, Manifest};
use crate::routes::Routes;
use crate::variables::{self, Variables};

/// The file that is meant when a directory is named.
const MANIFEST_NAME: &str = "spin.toml";

/// An application, ready to be compiled.
pub struct App {
    /// Which component answers which path.
    pub routes: Routes,
    /// The components that take HTTP requests, by id.
    pub components: BTreeMap<String, Component>,
    /// The application's own variables.
    pub variables: Variables,
}

/// What one component is and may do.
#[derive(Clone, Debug)]
pub struct Component {
    /// The .wasm file.
    pub source: PathBuf,
    /// What the guest sees as `/`, if it has files.
    pub root: Option<PathBuf>,
    /// The guest's environment variables.
    pub environment: Vec<(String, String)>,
    /// The values that the guest may ask for.
    pub variables: Arc<BTreeMap<String, String>>,
    /// Where the guest may send requests to.
    pub allowed_hosts: AllowedHosts,
    /// The key-value stores that the guest may open.
    pub stores: Arc<BTreeSet<String>>,
}

/// The manifest that is meant by a path to it or to its directory, as an absolute path.
pub fn manifest_path(from: &Path) -> std::io::Result<PathBuf> {
    let path = std::path::absolute(from)?;
    Ok(if path.is_dir() {
        path.join(MANIFEST_NAME)
    } else {
        path
    })
}

impl App {
    /// Settles a manifest. Relative paths start at `directory`; files are copied below `mounts`; `environment` and
    /// `given` are as for [`Variables::settle`].
    pub fn settle(
        manifest: &Manifest,
        directory: &Path,
        mounts: &Path,
        environment: impl Fn(&str) -> Option<String>,
        given: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let variables = Variables::settle(&manifest.variables, environment, given)?;
        let triggers = triggers(manifest)?;
        // What no trigger names is not run: nothing could reach it.
        let used: BTreeMap<&str, &manifest::Component> = triggers
            .iter()
            .map(|trigger| (trigger.id, trigger.component))
            .collect();
        let ids: Vec<&str> = used.keys().copied().collect();
        let mut components = BTreeMap::new();
        for (id, component) in used {
            let settled =
                settle_component(component, directory, &mounts.join(id), &variables, &ids)
                    .with_context(|| format!("component.{id}"))?;
            components.insert(id.to_owned(), settled);
        }
        let routes = triggers
            .into_iter()
            .filter_map(|trigger| Some((trigger.route?.to_owned(), trigger.id.to_owned())));
        Ok(Self {
            routes: Routes::new(routes)?,
            components,
            variables,
        })
    }
}

/// One HTTP trigger with the component that it names.
struct Trigger<'a> {
    id: &'a str,
    component: &'a manifest::Component,
    /// None: only for other components of the application.
    route: Option<&'a str>,
}

fn triggers(manifest: &Manifest) -> Result<Vec<Trigger<'_>>> {
    let triggers = &manifest.trigger.http;
    ensure!(
        !triggers.is_empty(),
        "trigger.http: the application has no HTTP trigger"
    );
    triggers
        .iter()
        .map(|trigger| {
            let id = trigger.component.as_str().context(
                "trigger.http.component: must be the id of a component; inline components are not supported",
            )?;
            let component = manifest
                .component
                .get(id)
                .with_context(|| format!("trigger.http.component: there is no component {id:?}"))?;
            let route = match &trigger.route {
                manifest::Route::Path(route) => Some(route.as_str()),
                manifest::Route::Private(endpoint) if endpoint.private => None,
                manifest::Route::Private(_) => {
                    bail!("trigger.http.route: {{ private = false }} is not a route")
                }
            };
            Ok(Trigger { id, component, route })
        })
        .collect()
}

fn settle_component(
    component: &manifest::Component,
    directory: &Path,
    root: &Path,
    variables: &Variables,
    ids: &[&str],
) -> Result<Component> {
    let manifest::Source::Path(source) = &component.source else {
        bail!("source: must be the path of a .wasm file; downloads are not supported");
    };
    let source = directory.join(source);
    ensure!(
        source.is_file(),
        "source: there is no file {}; has it been built?",
        source.display()
    );

    let mut values = BTreeMap::new();
    for (name, template) in &component.variables {
        variables::check_name(name).context("variables")?;
        let value = variables
            .expand(template)
            .with_context(|| format!("variables.{name}"))?;
        values.insert(name.clone(), value);
    }
    let hosts = component
        .allowed_outbound_hosts
        .iter()
        .map(|host| variables.expand(host))
        .collect::<Result<Vec<_>>>()
        .context("allowed_outbound_hosts")?;
    if let Some(store) = component
        .key_value_stores
        .iter()
        .find(|store| *store != DEFAULT_STORE)
    {
        bail!("key_value_stores: {store:?} is not supported, only {DEFAULT_STORE:?} is");
    }
    let has_files = !component.files.is_empty();
    if has_files {
        files::copy(component, directory, root)?;
    }
    Ok(Component {
        source,
        root: has_files.then(|| root.to_owned()),
        environment: component.environment.clone().into_iter().collect(),
        variables: Arc::new(values),
        allowed_hosts: AllowedHosts::parse(&hosts, ids).context("allowed_outbound_hosts")?,
        stores: Arc::new(component.key_value_stores.iter().cloned().collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
spin_manifest_version = 2
application = { name = "test" }
[variables]
host = { default = "example.com" }
[[trigger.http]]
route = "/a/..."
component = "a"
[[trigger.http]]
route = "/a/exact"
component = "a"
[[trigger.http]]
route = { private = true }
component = "b"
[component.a]
source = "a.wasm"
files = ["a.txt"]
variables = { url = "https://{{ host }}/" }
environment = { KEY = "value" }
allowed_outbound_hosts = ["https://{{ host }}", "http://b.spin.internal"]
key_value_stores = ["default"]
[component.b]
source = "b.wasm"
"#;

    fn settle(manifest: &str) -> Result<(tempfile::TempDir, App)> {
        let directory = tempfile::tempdir().unwrap();
        for file in ["a.wasm", "b.wasm", "a.txt"] {
            std::fs::write(directory.path().join(file), file).unwrap();
        }
        let manifest = Manifest::parse(manifest)?;
        let mounts = directory.path().join("mounts");
        let app = App::settle(
            &manifest,
            directory.path(),
            &mounts,
            |_| None,
            &BTreeMap::new(),
        )?;
        Ok((directory, app))
    }

    #[test]
    fn everything_is_settled() {
        let (directory, app) = settle(MANIFEST).unwrap();
        assert_eq!(app.components.keys().collect::<Vec<_>>(), ["a", "b"]);
        let a = &app.components["a"];
        assert_eq!(a.source, directory.path().join("a.wasm"));
        assert_eq!(app.variables.value("host"), Some("example.com"));
        assert_eq!(app.variables.value("url"), None, "it is a component's");
        assert_eq!(a.variables["url"], "https://example.com/");
        assert_eq!(a.environment, [("KEY".to_owned(), "value".to_owned())]);
        assert!(a.stores.contains("default"));
        assert!(
            a.allowed_hosts
                .allow(&"https://example.com/x".parse().unwrap())
        );
        assert_eq!(
            std::fs::read(a.root.as_ref().unwrap().join("a.txt")).unwrap(),
            b"a.txt"
        );
        let b = &app.components["b"];
        assert!(b.root.is_none() && b.variables.is_empty() && b.stores.is_empty());
        assert_eq!(app.routes.find("/a/exact").unwrap().route, "/a/exact");
        assert_eq!(app.routes.find("/b"), None, "b is private");
    }

    #[test]
    fn mistakes_are_found_at_start() {
        for (from, to, message) in [
            (
                "component = \"b\"",
                "component = \"c\"",
                "trigger.http.component: there is no component \"c\"",
            ),
            (
                "component = \"b\"",
                "component = { source = \"b.wasm\" }",
                "inline components are not supported",
            ),
            (
                "private = true",
                "private = false",
                "{ private = false } is not a route",
            ),
            (
                "\"/a/exact\"",
                "\"/a/...\"",
                "route \"/a/...\" of component \"a\" is also the one of \"a\"",
            ),
            (
                "source = \"b.wasm\"",
                "source = { url = \"x\", digest = \"y\" }",
                "component.b: source: must be the path",
            ),
            (
                "source = \"b.wasm\"",
                "source = \"c.wasm\"",
                "has it been built?",
            ),
            (
                "files = [\"a.txt\"]",
                "files = [\"b.txt\"]",
                "component.a: files: Pattern(\"b.txt\"): \"b.txt\" does not exist",
            ),
            (
                "{{ host }}/\"",
                "{{ missing }}\"",
                "component.a: variables.url: \"https://{{ missing }}\": no variable",
            ),
            (
                "variables = { url",
                "variables = { URL",
                "component.a: variables: \"URL\": 'U' is not",
            ),
            (
                "\"https://{{ host }}\"",
                "\"{{ host }}\"",
                "component.a: allowed_outbound_hosts: \"example.com\": needs the form",
            ),
            (
                "b.spin.internal",
                "c.spin.internal",
                "no component \"c\" takes HTTP requests",
            ),
            (
                "[\"default\"]",
                "[\"other\"]",
                "key_value_stores: \"other\" is not supported",
            ),
            (
                "default = \"example.com\"",
                "required = true",
                "set SPIN_VARIABLE_HOST",
            ),
        ] {
            assert!(MANIFEST.contains(from), "{from}");
            let error = settle(&MANIFEST.replacen(from, to, 1)).err().expect(to);
            let error = format!("{error:#}");
            assert!(
                error.contains(message),
                "{to} gave {error:?}, not {message:?}"
            );
        }
    }

    #[test]
    fn a_manifest_without_a_directory_is_in_the_current_one() {
        let path = manifest_path(Path::new(MANIFEST_NAME)).unwrap();
        assert_eq!(path, std::env::current_dir().unwrap().join(MANIFEST_NAME));
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(
            manifest_path(directory.path()).unwrap(),
            directory.path().join(MANIFEST_NAME)
        );
    }

    #[test]
    fn without_a_trigger_there_is_nothing_to_run() {
        let manifest = "spin_manifest_version = 2\napplication = { name = \"x\" }\ntrigger = {}\n";
        let error = settle(manifest).err().unwrap().to_string();
        assert_eq!(error, "trigger.http: the application has no HTTP trigger");
    }
}
