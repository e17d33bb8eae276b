//! Settings: what the variables of the manifest say.

use crate::machine::{AttemptPolicy, Backoff, Millis, OnLostAttempt, Policy, PolicySettings};
use http::header::HeaderName;

/// The settings of one instance.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The operators' token. Without one their routes do not exist.
    pub admin_token: Option<String>,
    /// The header that names the tenant. Without one it is the Authorization.
    pub tenant_header: Option<HeaderName>,
    /// How many leading bits choose a bucket, in a store that is not laid out yet.
    pub bucket_bits: u8,
    /// How long after its expiry a record is purged, in milliseconds.
    pub purge_grace_ms: u64,
    /// The policy of text tasks.
    pub tasks: Policy,
}

/// The variables of the manifest that [`Settings::read`] asks for.
pub const VARIABLES: [&str; 5] = [
    "admin_token",
    "tenant_header",
    "bucket_bits",
    "purge_grace_seconds",
    "retention_seconds",
];

impl Settings {
    /// Reads the settings from variables, each by its name. The error names the variable and says what is wrong.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let number = |name: &str, default: u64, max: u64| match text(name) {
            None => Ok(default),
            Some(value) => match value.parse() {
                Ok(number) if number <= max => Ok(number),
                Ok(_) | Err(_) => Err(format!(
                    "the variable {name} is not a whole number up to {max}"
                )),
            },
        };
        let tenant_header = text("tenant_header")
            .map(|name| name.parse::<HeaderName>())
            .transpose();
        let bits = number(
            "bucket_bits",
            u64::from(crate::driver::store::limits::DEFAULT_BUCKET_BITS),
            u64::from(crate::driver::store::limits::MAX_BUCKET_BITS),
        )?;
        let retention = number("retention_seconds", DAY_SECONDS, 400 * DAY_SECONDS)?;
        let grace = number("purge_grace_seconds", 10 * 60, 400 * DAY_SECONDS)?;
        Ok(Self {
            admin_token: text("admin_token"),
            tenant_header: tenant_header
                .map_err(|_| "the variable tenant_header is not the name of a header".to_owned())?,
            bucket_bits: u8::try_from(bits).expect("bounded above"),
            purge_grace_ms: grace * 1_000,
            tasks: task_policy(retention)?,
        })
    }
}

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Text tasks are analysed at once; the attempts and waits are those of the lesson, should the analysis ever fail.
fn task_policy(retention_seconds: u64) -> Result<Policy, String> {
    let attempts = AttemptPolicy {
        max_attempts: 3,
        backoff: Backoff::Constant {
            delay_ms: Millis::from_secs(1),
        },
        hint_cap_ms: Millis::from_secs(60),
        timeout_ms: Millis::from_secs(5),
        lease_ms: Millis::from_secs(10),
    };
    let settings = PolicySettings {
        start_delay_ms: Millis::ZERO,
        attempts,
        max_cycles: 5,
        on_lost_attempt: OnLostAttempt::Retry,
        total_deadline_ms: None,
        retry_budget: None,
        retention_ms: Millis::from_secs(retention_seconds),
        events_on_failed: Vec::new(),
        events_on_cancelled: Vec::new(),
        delivery: attempts,
    };
    Policy::new(settings).map_err(|error| format!("the policy of tasks: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(|name| {
            assert!(VARIABLES.contains(&name), "{name} is declared");
            set.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_variables_there_are_defaults() {
        let settings = read(&[("admin_token", "")]).expect("the defaults are sound");
        assert_eq!(settings.admin_token, None);
        assert_eq!(settings.tenant_header, None);
        assert_eq!(settings.bucket_bits, 14);
        assert_eq!(settings.purge_grace_ms, 600_000);
    }

    #[test]
    fn what_a_variable_says_counts() {
        let settings = read(&[
            ("admin_token", "secret"),
            ("tenant_header", "X-Tenant"),
            ("bucket_bits", "4"),
            ("purge_grace_seconds", "0"),
            ("retention_seconds", "1"),
        ]);
        let settings = settings.expect("all of these are sound");
        assert_eq!(settings.admin_token.as_deref(), Some("secret"));
        assert_eq!(
            settings.tenant_header,
            Some(HeaderName::from_static("x-tenant"))
        );
        assert_eq!((settings.bucket_bits, settings.purge_grace_ms), (4, 0));
        assert_eq!(settings.tasks.settings().retention_ms, Millis::from_secs(1));
    }

    #[test]
    fn an_unsound_variable_is_named() {
        for (name, value) in [
            ("tenant_header", "not a header"),
            ("bucket_bits", "21"),
            ("bucket_bits", "-1"),
            ("purge_grace_seconds", "soon"),
            ("retention_seconds", "1e3"),
            ("retention_seconds", "99999999999999999999"),
        ] {
            let error = read(&[(name, value)]).expect_err("none of these is sound");
            assert!(error.contains(name), "{name}={value}: {error}");
        }
        assert!(read(&[("retention_seconds", "0")]).is_err());
    }
}
