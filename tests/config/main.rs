//! The configuration: the reference file, broken files, templates and damaged files.

mod broken;
mod damage;
mod reference;
mod templates;

use reprise::config::{Config, ConfigError, Draft};

/// The file at the root of the repository.
const REFERENCE: &str = include_str!("../../reprise.toml");

/// A secret as Standard Webhooks writes it.
const WEBHOOK_SECRET: &str = "whsec_cmVwcmlzZS1kZXZlbG9wbWVudC1vbmx5LXNlY3JldCEh";

/// Reads a file whose variables all have a value that suits their place.
fn read(text: &str) -> Result<Config, Box<ConfigError>> {
    Draft::parse(text)?.settle(sound_value)
}

fn sound_value(variable: &str) -> Option<String> {
    let value = match variable {
        "purge_grace" => "10m",
        "admin_token" => "operators-secret",
        "tenant_header" => "",
        "retention" => "24h",
        "log_level" => "info",
        "payment_api_url" => "http://payments.example/v1/",
        "payment_api_authorization" => "Bearer payments-secret",
        "events_url" => "http://self.alt/inbox/orders?token=url-secret",
        "webhook_secret" => WEBHOOK_SECRET,
        "four" => "4",
        _ => return None,
    };
    Some(value.to_owned())
}
