//! The operators' token of a run: ticks need one, and somebody who only wants to look has none.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};

/// The environment variable from which both servers take the application's variable.
pub(crate) const ENVIRONMENT: &str = "SPIN_VARIABLE_ADMIN_TOKEN";

/// How the application's variable is set by an argument.
const VARIABLE: &str = "admin_token=";

/// The random part of a token, in bytes.
const RANDOM_BYTES: usize = 16;

/// A token, and where it comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The user's own, which the server finds by itself.
    Given(String),
    /// One for this run, which the server has to be given.
    Drawn(String),
}

impl Token {
    /// The token that the server will see: the last one among its arguments, else the one in the environment, else a
    /// random one. An empty argument is an error, since it says that there must be none.
    ///
    /// A file of variables, which Spin alone takes (`--variable @FILE`), is not looked into.
    pub(crate) fn choose(arguments: &[OsString], environment: Option<&OsStr>) -> Result<Self> {
        if let Some(token) = among(arguments) {
            if token.is_empty() {
                bail!(
                    "`--variable {VARIABLE}` leaves ticks without a token; --no-tick serves without ticks"
                );
            }
            return Ok(Self::Given(token));
        }
        match environment.filter(|token| !token.is_empty()) {
            Some(token) => {
                let token = token
                    .to_str()
                    .with_context(|| format!("{ENVIRONMENT} is not text"))?;
                Ok(Self::Given(token.to_owned()))
            }
            None => Ok(Self::Drawn(draw()?)),
        }
    }

    /// The token itself.
    pub(crate) fn reveal(&self) -> &str {
        match self {
            Self::Given(token) | Self::Drawn(token) => token,
        }
    }
}

/// The token for a command that only calls a service: the one in the environment.
pub(crate) fn from_environment() -> Result<String> {
    usable(std::env::var_os(ENVIRONMENT))
}

fn usable(variable: Option<OsString>) -> Result<String> {
    let token = variable.unwrap_or_default();
    if token.is_empty() {
        bail!("{ENVIRONMENT} is not set; `cargo xtask up` prints the token that it draws");
    }
    match token.into_string() {
        Ok(token) if !token.contains(['\r', '\n']) => Ok(token),
        Ok(_) | Err(_) => bail!("{ENVIRONMENT} holds no token that a header can carry"),
    }
}

/// The token that arguments set: both servers take `--variable NAME=VALUE` and `--variable=NAME=VALUE`, and of several
/// the last.
fn among(arguments: &[OsString]) -> Option<String> {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let mut token = None;
    for (at, word) in words.iter().enumerate() {
        let setting = match word.strip_prefix("--variable") {
            Some("") => words.get(at + 1).map(AsRef::as_ref),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if let Some(value) = setting.and_then(|setting| setting.strip_prefix(VARIABLE)) {
            token = Some(value.to_owned());
        }
    }
    token
}

fn draw() -> Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).context("no random token")?;
    let mut token = String::new();
    for byte in bytes {
        // Writing to a text does not fail.
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(arguments: &str, environment: Option<&str>) -> Result<Token, String> {
        let arguments: Vec<_> = arguments.split_whitespace().map(OsString::from).collect();
        Token::choose(&arguments, environment.map(OsStr::new)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_token_that_is_given_is_used() {
        for (arguments, environment, token) in [
            ("--variable admin_token=a", None, "a"),
            ("--variable=admin_token=a=b", None, "a=b"),
            (
                "--variable admin_token=a --variable=admin_token=b",
                None,
                "b",
            ),
            ("--stats --variable admin_token=a", Some("e"), "a"),
            ("--variable other=a", Some("e"), "e"),
            ("admin_token=a", Some("e"), "e"),
            ("--variable", Some("e"), "e"),
            ("--variables admin_token=a", Some("e"), "e"),
        ] {
            let expected = Ok(Token::Given(token.to_owned()));
            assert_eq!(chosen(arguments, environment), expected, "{arguments}");
        }
    }

    #[test]
    fn a_command_that_calls_says_what_is_wrong_with_its_token() {
        let said = |value: Option<&str>| {
            usable(value.map(OsString::from)).map_err(|error| error.to_string())
        };
        assert_eq!(said(Some("opens")), Ok("opens".to_owned()));
        for (value, expected) in [
            (None, "SPIN_VARIABLE_ADMIN_TOKEN is not set"),
            (Some(""), "SPIN_VARIABLE_ADMIN_TOKEN is not set"),
            (Some("a\nb"), "holds no token that a header can carry"),
        ] {
            let error = said(value).expect_err("it is of no use");
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn without_one_each_run_has_its_own() {
        let mut drawn = Vec::new();
        for environment in [None, Some(""), None] {
            match chosen("--variable other=a", environment) {
                Ok(Token::Drawn(token)) => drawn.push(token),
                other => panic!("{other:?}"),
            }
        }
        for token in &drawn {
            assert_eq!(token.len(), 2 * RANDOM_BYTES);
            assert!(token.chars().all(|c| c.is_ascii_hexdigit()), "{token}");
        }
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 3);
    }

    #[test]
    fn an_empty_one_is_refused() {
        let error = chosen("--variable admin_token=", Some("e")).expect_err("it is empty");
        assert!(error.contains("--no-tick"), "{error}");
    }
}
