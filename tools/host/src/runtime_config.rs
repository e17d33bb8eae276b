//! Spin's runtime configuration file, as far as this host can do what it says: where the default store is.
//!
//! What it says beyond that is an error, because a store that is not the one that was asked for is worse than none.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::kv::DEFAULT_STORE;
use crate::kv::redis_store::RedisStores;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    key_value_store: BTreeMap<String, toml::Table>,
}

#[derive(Deserialize)]
struct Redis {
    url: String,
}

/// The URL of the Redis server that this file names as the default store, one that [`RedisStores`] takes.
pub fn redis_url(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path);
    text.map_err(Into::into)
        .and_then(|text| parse(&text))
        .with_context(|| path.display().to_string())
}

fn parse(text: &str) -> Result<String> {
    let File { key_value_store } = toml::from_str(text)?;
    if let Some(label) = key_value_store.keys().find(|label| *label != DEFAULT_STORE) {
        bail!("key_value_store.{label}: only {DEFAULT_STORE:?} is supported");
    }
    let section = format!("key_value_store.{DEFAULT_STORE}");
    let store = key_value_store.get(DEFAULT_STORE);
    let store = store.with_context(|| format!("{section} is missing"))?;
    let kind = store.get("type").and_then(toml::Value::as_str);
    if kind != Some("redis") {
        bail!("{section}.type: only \"redis\" is supported");
    }
    // As Spin does, it leaves alone what else is in the section.
    let Redis { url } = store.clone().try_into().context(section.clone())?;
    RedisStores::new(&url).with_context(|| format!("{section}.url"))?;
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redis_is_found_and_everything_else_is_refused() {
        let redis = "[key_value_store.default]\ntype = \"redis\"\nurl = \"redis://host\"\n";
        assert_eq!(parse(redis).unwrap(), "redis://host");
        for (text, message) in [
            ("", "missing field `key_value_store`"),
            ("[key_value_store]", "key_value_store.default is missing"),
            (
                "[key_value_store.default]\ntype = \"spin\"\npath = \"x\"",
                "key_value_store.default.type: only \"redis\" is supported",
            ),
            (
                "[key_value_store.default]\ntype = \"redis\"",
                "missing field `url`",
            ),
            (
                "[key_value_store.default]\ntype = \"redis\"\nurl = \"rediss://host\"",
                "key_value_store.default.url: ",
            ),
            (
                "[key_value_store.other]\ntype = \"redis\"\nurl = \"redis://host\"",
                "key_value_store.other: only \"default\" is supported",
            ),
            (
                &format!("{redis}[outbound_http]\nmax_connections = 1"),
                "unknown field `outbound_http`",
            ),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
