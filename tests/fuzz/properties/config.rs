//! The configuration: the input is a file, and behind the first byte 255 the value of every variable that it names and
//! that has no sound value.

use reprise::config::{Config, ConfigError, Draft, Handler, Route};

use super::service::sound_value;
use super::split;

/// The value of the operators' token, which no error may show.
const SECRET: &str = "hidden-5f1c";

pub(super) fn check(data: &[u8]) {
    let (text, value) = split(data);
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    let draft = Draft::parse(text);
    reference(text, draft.as_ref().err().map(|error| &**error));
    let value = String::from_utf8_lossy(value).into_owned();
    let settled = draft.and_then(|draft| {
        draft.settle(|name| match name {
            "admin_token" => Some(SECRET.to_owned()),
            _ => sound_value(name).or_else(|| Some(value.clone())),
        })
    });
    match settled {
        Ok(config) => sound(&config),
        Err(error) => {
            let lines = text.split('\n').count();
            assert!(!error.problem.is_empty());
            assert!(
                error.line.is_none_or(|line| (1..=lines).contains(&line)),
                "{error}"
            );
            assert!(!error.to_string().contains(SECRET), "{error}");
        }
    }
}

/// The reference reader of TOML takes what we take, and refuses what we refuse. Only what is wrong with a date or a
/// time is none of our business: no field is one.
fn reference(text: &str, error: Option<&ConfigError>) {
    let ours = error.filter(|error| error.problem.starts_with("is no TOML"));
    let theirs = toml::de::DeTable::parse(text).err();
    let is_date = theirs.as_ref().is_some_and(|error| {
        ["date", "time", "offset"]
            .iter()
            .any(|word| error.message().contains(word))
    });
    if !is_date && text.len() <= 256 * 1_024 {
        assert_eq!(
            ours.is_some(),
            theirs.is_some(),
            "{ours:?}, {theirs:?}: {text}"
        );
    }
}

/// A configuration that was taken can be worked with: routes are read as they are written, no request matches two
/// operations, and what each names is there.
fn sound(config: &Config) {
    for (index, operation) in config.operations.iter().enumerate() {
        let route = &operation.route;
        assert_eq!(Route::parse(&route.to_string()).as_ref(), Ok(route));
        for other in &config.operations[..index] {
            assert!(other.name != operation.name);
            assert!(other.method != operation.method || !other.route.overlaps(route));
        }
        assert_eq!(
            config.operation(&operation.name).map(|one| &one.route),
            Some(route)
        );
        match &operation.handler {
            Handler::Forward(forward) => assert!(config.upstreams.contains_key(&forward.upstream)),
            Handler::Analyze | Handler::Order { .. } => {}
        }
    }
    let shown = format!("{:?}", config.admin_token);
    assert!(!shown.contains(SECRET), "{shown}");
}
