//! The document `openapi.yaml` beside the code: each says what the other does.
//!
//! The end-to-end tests hold a running service against the document. Here is what they cannot see: what the code has and
//! the document lacks.

use super::admission::{Asked, admit};
use super::app::Setup;
use super::problem::{Failure, Problem};
use super::{console, dead_letters, inbox, overview, page_limits, sinks};
use crate::config::{Config, Draft, Handler, KeyRule};
use crate::handler::{analyze, order};
use crate::machine::{EndReason, LimitError, State, limits};
use http::{Method, Request, StatusCode};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use yaml_rust2::{Yaml, YamlLoader};

const DOCUMENT: &str = include_str!("../../openapi.yaml");
const CONFIG: &str = include_str!("../../reprise.toml");
const ID: &str = "01a2287f-3d10-7b52-9d0e-6b8f4c4e1f6a";
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY",
];

/// What a client learns from a problem beside its words.
type Kind = (u64, String, bool);

#[test]
fn every_route_and_method_is_in_the_document_and_the_other_way_round() {
    let setup = setup();
    let document = Document::read();
    let documented = document.methods();
    let mut paths = paths_in_the_sources();
    for operation in &setup.config.operations {
        paths.insert(operation.route.to_string());
        paths.insert(format!("{}/{{id}}", operation.route));
    }
    for name in setup.config.inboxes.keys() {
        paths.insert(format!("{}{name}", inbox::PREFIX));
        paths.insert(format!("{}{name}{}", inbox::PREFIX, inbox::PROJECTION));
    }
    paths.insert(format!("{}/{{file}}", console::CONSOLE_PATH));
    paths.insert(format!("{}/{{id}}/{{seq}}", dead_letters::LETTERS_PATH));
    paths.insert(format!(
        "{}/{{id}}/{{seq}}/replay",
        dead_letters::LETTERS_PATH
    ));
    for act in ["", "/cancel", "/retry"] {
        paths.insert(format!("{}/{{id}}{act}", overview::OPERATIONS_PATH));
    }
    for name in setup.config.sinks.keys() {
        paths.insert(format!("{}/{name}/enable", sinks::SINKS_PATH));
    }
    assert_eq!(
        paths,
        documented.keys().cloned().collect(),
        "the routes of reprise.toml and the paths of openapi.yaml"
    );

    for (path, methods) in &documented {
        let admitted: BTreeSet<String> = METHODS
            .into_iter()
            .filter(|method| is_known(&setup, method, path))
            .map(str::to_owned)
            .collect();
        assert_eq!(admitted, *methods, "{path}");
        let options = request("OPTIONS", path);
        match admit(&setup, &options) {
            Ok(Asked::Options { allow }) => {
                let allow: BTreeSet<String> = allow.split(", ").map(str::to_owned).collect();
                assert_eq!(allow, *methods, "{path}");
            }
            other => panic!("OPTIONS {path}: {other:?}"),
        }
    }
}

#[test]
fn every_problem_is_in_the_document_as_it_is_answered_and_the_other_way_round() {
    let ours: BTreeMap<Kind, String> = problems().iter().map(kind_and_title).collect();
    let document = Document::read();
    let names = |kinds: &mut dyn Iterator<Item = &Kind>| -> BTreeSet<String> {
        kinds.map(|(_, name, _)| name.clone()).collect()
    };
    let listed = document.value("/components/schemas/ProblemType/enum");
    let listed: BTreeSet<String> = strings(listed).collect();
    assert_eq!(listed, names(&mut ours.keys()));

    let mut answered = document.answered_problems();
    for kind in &answered {
        assert!(ours.contains_key(kind), "{kind:?} is documented alone");
    }
    // OpenAPI has no place for what a path answers to a method that it does not have.
    answered.insert((
        405,
        "urn:reprise:problem:method-not-allowed".to_owned(),
        false,
    ));
    assert_eq!(names(&mut answered.iter()), names(&mut ours.keys()));

    for example in document.object("/components/examples").values() {
        let example = &example["value"];
        // Events have a type, too.
        let name = example["type"].as_str();
        if let Some(name) = name.filter(|name| name.starts_with("urn:")) {
            let kind = (
                example["status"].as_u64().expect("a status"),
                name.to_owned(),
                example["retryable"].as_bool().expect("a flag"),
            );
            assert_eq!(
                ours.get(&kind).map(String::as_str),
                example["title"].as_str()
            );
        }
    }
}

#[test]
fn the_document_has_the_rules_of_the_configuration_and_the_limits_of_the_code() {
    let setup = setup();
    let document = Document::read();
    for operation in &setup.config.operations {
        let method = operation.method.as_str().to_lowercase();
        let route = operation.route.to_string();
        let paths = document.object("/paths");
        let path = paths.get(&route);
        let path = path.unwrap_or_else(|| panic!("openapi.yaml has no path {route}"));
        let submit = &path[&method];
        let key = submit["parameters"].as_array().expect("parameters").iter();
        let key = key
            .map(|one| document.resolve(one))
            .find(|one| one["name"] == "Idempotency-Key");
        assert_eq!(
            key.map(|key| &key["required"]),
            Some(&Value::Bool(operation.key == KeyRule::Required)),
            "{}",
            operation.name
        );
        for status in [StatusCode::CONFLICT, StatusCode::UNPROCESSABLE_ENTITY] {
            let is_told = document
                .problems_of(&submit["responses"][status.as_str()])
                .iter()
                .any(|(_, name, _)| name.ends_with(":idempotency-key-reused"));
            assert_eq!(
                is_told,
                status == operation.mismatch_status,
                "{}",
                operation.name
            );
        }
        if let Handler::Order { quantity_max } = operation.handler {
            let quantity = document.value("/components/schemas/NewOrder/properties/quantity");
            assert_eq!(quantity["maximum"], quantity_max);
        }
    }
    let limit = |pointer: &str| document.value(pointer);
    let operations = "/paths/~1-~1operations/get/parameters";
    let page = limit(operations).as_array().expect("parameters").iter();
    let page = page
        .map(|one| document.resolve(one))
        .find(|one| one["name"] == "limit");
    let page = &page.expect("a limit")["schema"];
    assert_eq!(page["maximum"], page_limits::OPERATIONS_MAX);
    assert_eq!(page["default"], page_limits::OPERATIONS_DEFAULT);
    let attempts = limit("/components/schemas/OperationDetail/properties/history/maxItems");
    assert_eq!(*attempts, limits::HISTORY_ENTRIES_MAX + 1);
    let product = document.value("/components/schemas/NewOrder/properties/product_id");
    assert_eq!(product["maximum"], order::PRODUCT_ID_MAX);
    let words = document.value("/components/schemas/Analysis/properties/most_frequent_words");
    assert_eq!(words["maxItems"], analyze::FREQUENT_WORDS_MAX);
    let states = strings(document.value("/components/schemas/OperationState/enum"));
    assert!(states.eq(State::NAMES.map(str::to_owned)));
}

/// The repository's configuration, with an operators' token.
fn setup() -> Setup {
    let value = |name: &str| {
        let value = match name {
            "admin_token" => "token",
            "tenant_header" | "payment_api_authorization" => "",
            "retention" => "24h",
            "log_level" => "info",
            "purge_grace" => "10m",
            "payment_api_url" | "events_url" => "http://localhost",
            "webhook_secret" => "whsec_cmVwcmlzZS1kZXZlbG9wbWVudC1vbmx5LXNlY3JldCEh",
            _ => return None,
        };
        Some(value.to_owned())
    };
    let config: Config = Draft::parse(CONFIG)
        .and_then(|draft| draft.settle(value))
        .expect("the reference file is sound");
    Setup {
        config,
        file: |_| Ok(String::new()),
    }
}

/// A request that lacks nothing but its body.
fn request(method: &str, path: &str) -> http::request::Parts {
    let request = Request::builder()
        .method(method)
        .uri(
            path.replace("{id}", ID)
                .replace("{seq}", "0")
                .replace("{file}", "console.js"),
        )
        .header("authorization", "Bearer token")
        .header("idempotency-key", "key")
        .header("content-type", "application/json");
    request.body(()).expect("a sound request").into_parts().0
}

fn is_known(setup: &Setup, method: &str, path: &str) -> bool {
    let head = request(method, path);
    assert_eq!(
        head.method,
        Method::from_bytes(method.as_bytes()).expect("a method")
    );
    match admit(setup, &head) {
        // A query that is needed is not given here.
        Ok(_) | Err(Problem::InvalidQuery(_)) => true,
        Err(Problem::MethodNotAllowed(_)) => false,
        Err(other) => panic!("{method} {path}: {other:?}"),
    }
}

/// The paths that the shell names itself, each a constant whose name says that it is a path.
fn paths_in_the_sources() -> BTreeSet<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/shell");
    let mut paths = BTreeSet::new();
    for file in std::fs::read_dir(folder).expect("the sources are here") {
        let file = file.expect("the sources can be read").path();
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source is text");
        let constants = text
            .lines()
            .filter_map(|line| line.split_once("_PATH: &str = \""));
        paths.extend(
            constants
                .filter_map(|(_, rest)| rest.strip_suffix("\";"))
                .map(str::to_owned),
        );
    }
    paths
}

fn kind_and_title(problem: &Problem) -> (Kind, String) {
    let reply = problem.reply();
    let body: Value = serde_json::from_slice(&reply.body().0).expect("a problem is JSON");
    let text = |name: &str| body[name].as_str().expect("a text").to_owned();
    let retryable = body["retryable"].as_bool().expect("a flag");
    let kind = (u64::from(reply.status().as_u16()), text("type"), retryable);
    (kind, text("title"))
}

/// One of each kind that there is.
fn problems() -> Vec<Problem> {
    let mut all = Vec::new();
    let mut problem = Some(Problem::InvalidBody(String::new()));
    while let Some(one) = problem {
        problem = following(&one);
        all.push(one);
    }
    all
}

/// The problem after this one. The compiler sees to it that none is left out.
fn following(problem: &Problem) -> Option<Problem> {
    Some(match problem {
        Problem::InvalidBody(_) => Problem::InvalidKey(""),
        Problem::InvalidKey(_) => Problem::InvalidQuery(""),
        Problem::InvalidQuery(_) => Problem::NotToRetry(""),
        Problem::NotToRetry(_) => Problem::NotDead,
        Problem::NotDead => Problem::KeyMissing,
        Problem::KeyMissing => Problem::InvalidTenant(String::new()),
        Problem::InvalidTenant(_) => Problem::EventNotTrusted(String::new()),
        Problem::EventNotTrusted(_) => Problem::InvalidEvent(String::new()),
        Problem::InvalidEvent(_) => Problem::EventNotTaken(String::new()),
        Problem::EventNotTaken(_) => Problem::Unauthorized,
        Problem::Unauthorized => Problem::NotFound(""),
        Problem::NotFound(_) => Problem::MethodNotAllowed(String::new()),
        Problem::MethodNotAllowed(_) => Problem::KeyReused(StatusCode::CONFLICT),
        Problem::KeyReused(StatusCode::CONFLICT) => {
            Problem::KeyReused(StatusCode::UNPROCESSABLE_ENTITY)
        }
        Problem::KeyReused(_) => Problem::InProgress {
            retry_after_s: 1,
            location: String::new(),
        },
        Problem::InProgress { .. } => {
            Problem::OperationFailed(Failure::new(EndReason::AttemptsExhausted, None, 1))
        }
        Problem::OperationFailed(_) => Problem::OperationCancelled,
        Problem::OperationCancelled => Problem::AlreadyEnded(""),
        Problem::AlreadyEnded(_) => Problem::NotKept(LimitError::Malformed { what: "" }),
        Problem::NotKept(LimitError::Malformed { .. }) => Problem::NotKept(LimitError::TooLarge {
            what: "",
            found: 1,
            max: 0,
        }),
        Problem::NotKept(LimitError::TooLarge { .. }) => Problem::RequestTimeout,
        Problem::RequestTimeout => Problem::BodyTooLarge { max: 0 },
        Problem::BodyTooLarge { .. } => Problem::UnsupportedMediaType(""),
        Problem::UnsupportedMediaType(_) => Problem::StoreUnavailable(String::new()),
        Problem::StoreUnavailable(_) => Problem::StoreRefused(String::new()),
        Problem::StoreRefused(_) => Problem::Misconfigured(String::new()),
        Problem::Misconfigured(_) => return None,
    })
}

struct Document(Value);

impl Document {
    fn read() -> Self {
        let read = YamlLoader::load_from_str(DOCUMENT).expect("the document is YAML");
        Self(json(&read[0]))
    }

    fn value(&self, pointer: &str) -> &Value {
        let value = self.0.pointer(pointer);
        value.unwrap_or_else(|| panic!("{pointer} is not in the document"))
    }

    fn object(&self, pointer: &str) -> &serde_json::Map<String, Value> {
        self.value(pointer).as_object().expect("an object")
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.value(reference.trim_start_matches('#')),
            None => value,
        }
    }

    fn methods(&self) -> BTreeMap<String, BTreeSet<String>> {
        let methods = |item: &Value| {
            let names = item.as_object().expect("a path item").keys();
            let names = names.map(|name| name.to_uppercase());
            names
                .filter(|name| METHODS.contains(&name.as_str()))
                .collect()
        };
        let paths = self.object("/paths").iter();
        paths
            .map(|(path, item)| (path.clone(), methods(item)))
            .collect()
    }

    /// The problems of all responses, each under the status that its response has.
    fn answered_problems(&self) -> BTreeSet<Kind> {
        let mut kinds = BTreeSet::new();
        for (path, item) in self.object("/paths") {
            for (method, operation) in item.as_object().expect("a path item") {
                let responses = operation["responses"].as_object();
                for (status, response) in responses.into_iter().flatten() {
                    let problems = self.problems_of(response);
                    for (told, _, _) in &problems {
                        assert_eq!(told.to_string(), *status, "{method} {path}");
                    }
                    kinds.extend(problems);
                }
            }
        }
        kinds
    }

    /// The problems of a response: a status, and types that share a flag, or alternatives of both.
    fn problems_of(&self, response: &Value) -> BTreeSet<Kind> {
        let schema = &self.resolve(response)["content"]["application/problem+json"]["schema"];
        let schema = self.resolve(schema);
        let Some(status) = schema["properties"]["status"]["const"].as_u64() else {
            assert!(schema.is_null(), "a problem without a status: {schema}");
            return BTreeSet::new();
        };
        let alternatives = schema["oneOf"]
            .as_array()
            .map_or(std::slice::from_ref(schema), Vec::as_slice);
        let mut kinds = BTreeSet::new();
        for alternative in alternatives {
            let properties = &alternative["properties"];
            let retryable = properties["retryable"]["const"].as_bool().expect("a flag");
            let one = properties["type"]["const"].as_str().map(str::to_owned);
            let names = one.into_iter().chain(strings(&properties["type"]["enum"]));
            kinds.extend(names.map(|name| (status, name, retryable)));
        }
        assert!(!kinds.is_empty(), "{schema}");
        kinds
    }
}

fn strings(list: &Value) -> impl Iterator<Item = String> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item.as_str().expect("a text").to_owned())
}

/// The value as JSON has it. The document has neither dates nor binary, and every alias has been put in.
fn json(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Real(text) => serde_json::from_str(text).expect("a number of JSON"),
        Yaml::Integer(number) => (*number).into(),
        Yaml::String(text) => text.as_str().into(),
        Yaml::Boolean(flag) => (*flag).into(),
        Yaml::Array(items) => items.iter().map(json).collect(),
        Yaml::Hash(members) => {
            let name = |name: &Yaml| name.as_str().expect("members have names").to_owned();
            members
                .iter()
                .map(|(key, value)| (name(key), json(value)))
                .collect()
        }
        Yaml::Null => Value::Null,
        Yaml::Alias(_) | Yaml::BadValue => panic!("{yaml:?}"),
    }
}
