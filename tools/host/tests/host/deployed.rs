//! The files for stores in `deploy/runtime-config`: Spin reads them, as far as its source tells, and our host uses the one
//! for Redis.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use crate::harness::{Application, STORE};
use crate::redis_server::RedisServer;
use crate::scripts::{ok, on_store};

fn deployed(name: &str) -> PathBuf {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/runtime-config");
    files
        .join(name)
        .canonicalize()
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn text(name: &str) -> String {
    fs::read_to_string(deployed(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What Spin 4.1 takes in a section of this type; it leaves alone what it does not know, so a mistyped name would go
/// unnoticed.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Section {
    Redis {
        url: String,
    },
    AwsDynamo {
        access_key: Option<String>,
        secret_key: Option<String>,
        region: String,
        consistent_read: Option<bool>,
        table: String,
    },
    AzureCosmos {
        key: Option<String>,
        account: String,
        database: String,
        container: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    key_value_store: BTreeMap<String, Section>,
}

fn default_store(name: &str) -> Section {
    let file: File = toml::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut stores = file.key_value_store.into_iter();
    let (label, store) = stores.next().expect("there is a store");
    assert_eq!((label.as_str(), stores.count()), ("default", 0), "{name}");
    store
}

#[test]
fn each_file_has_what_spin_asks_for_and_no_secret() {
    let Section::Redis { url } = default_store("redis.toml") else {
        panic!("redis.toml is of another type");
    };
    assert!(!url.contains('@'), "a password: {url}");
    let Section::AwsDynamo {
        access_key,
        secret_key,
        consistent_read,
        region,
        table,
    } = default_store("dynamodb.toml")
    else {
        panic!("dynamodb.toml is of another type");
    };
    assert_eq!((access_key, secret_key), (None, None));
    assert_eq!(consistent_read, Some(true), "Spin's default is false");
    assert!(!region.is_empty() && !table.is_empty());
    let Section::AzureCosmos {
        key,
        account,
        database,
        container,
    } = default_store("cosmos.toml")
    else {
        panic!("cosmos.toml is of another type");
    };
    assert_eq!(key, None);
    assert!(
        [account, database, container]
            .iter()
            .all(|name| !name.is_empty())
    );
}

#[tokio::test]
async fn the_host_keeps_its_data_where_the_file_for_redis_says() {
    let server = RedisServer::start();
    let application = Application::new(STORE);
    let file = application.path().join("redis.toml");
    let known = "redis://127.0.0.1:6379";
    let told = text("redis.toml");
    assert!(told.contains(known));
    fs::write(&file, told.replace(known, &server.url())).unwrap();
    let file = file.display().to_string();
    let host = application.start(&["--runtime-config-file", &file]);
    let results = on_store(
        &host,
        json!([{ "op": "set", "key": "key", "value": "value" }]),
    )
    .await;
    assert_eq!(results, [ok(json!(null))]);
    assert_eq!(server.ask(&["GET", "key"]).await, ["value"]);
}

#[tokio::test]
async fn a_redis_takes_our_settings() {
    let directory = tempfile::tempdir().unwrap();
    let (settings, dir) = (deployed("redis.conf"), directory.path());
    let server = RedisServer::start_with(&[
        &settings.display().to_string(),
        "--dir",
        &dir.display().to_string(),
    ]);
    for (name, value) in [
        ("appendonly", "yes"),
        ("appendfsync", "always"),
        ("no-appendfsync-on-rewrite", "no"),
        ("maxmemory-policy", "noeviction"),
        ("aof-load-truncated", "yes"),
    ] {
        let told = server.ask(&["CONFIG", "GET", name]).await;
        assert_eq!(told, [name, value]);
    }
    assert!(dir.join("appendonlydir").is_dir());
}
