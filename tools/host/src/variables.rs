//! Variables: the application's values, and the templates by which a component's variables refer to them.
//!
//! All values are known once the process has started: a default from the manifest, over that the environment
//! variable `SPIN_VARIABLE_<NAME>`, over that the command line. Nothing is looked up while a request runs.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

use crate::manifest;

/// The prefix of the environment variables that give values.
const ENVIRONMENT_PREFIX: &str = "SPIN_VARIABLE_";

/// The application's variables and their values, by name.
#[derive(Debug, Default)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// Settles every declared variable. `environment` looks up one environment variable; `given` is what the command
    /// line set.
    ///
    /// Fails on a name that is not in lower snake case, on a required variable without a value, and on a given value
    /// that no declared variable takes.
    pub fn settle(
        declared: &BTreeMap<String, manifest::Variable>,
        environment: impl Fn(&str) -> Option<String>,
        given: &BTreeMap<String, String>,
    ) -> Result<Self> {
        if let Some(name) = given.keys().find(|name| !declared.contains_key(*name)) {
            bail!("--variable {name}: the manifest declares no variable of this name");
        }
        let mut values = BTreeMap::new();
        for (name, variable) in declared {
            check_name(name).with_context(|| format!("variables.{name}"))?;
            ensure!(
                variable.required != variable.default.is_some(),
                "variables.{name}: needs either a default or `required = true`"
            );
            let key = format!("{ENVIRONMENT_PREFIX}{}", name.to_ascii_uppercase());
            let value = given
                .get(name)
                .cloned()
                .or_else(|| environment(&key))
                .or_else(|| variable.default.clone())
                .with_context(|| {
                    format!("variables.{name} is required: set {key}, or --variable {name}=VALUE")
                })?;
            values.insert(name.clone(), value);
        }
        Ok(Self(values))
    }

    /// The value of a declared variable.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Replaces each `{{ name }}` of a template. Fails on an unclosed brace and on a name that is not declared.
    pub fn expand(&self, template: &str) -> Result<String> {
        let mut expanded = String::new();
        let mut rest = template;
        while let Some((literal, expression)) = rest.split_once("{{") {
            let (name, after) = expression
                .split_once("}}")
                .with_context(|| format!("{template:?}: `{{{{` without `}}}}`"))?;
            let name = name.trim();
            let value = self
                .0
                .get(name)
                .with_context(|| format!("{template:?}: no variable {name:?} is declared"))?;
            expanded.push_str(literal);
            expanded.push_str(value);
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

/// Refuses a name that is not in lower snake case, as Spin does: such a name could not be spelt as an environment
/// variable.
pub fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    ensure!(!name.is_empty(), "{name:?}: must not be empty");
    if let Some(c) = name.chars().find(|&c| !fits(c)) {
        bail!("{name:?}: {c:?} is not a lower-case letter, a digit or an underscore");
    }
    ensure!(
        name.starts_with(|c: char| c.is_ascii_lowercase()),
        "{name:?}: must start with a letter"
    );
    ensure!(
        !name.ends_with('_'),
        "{name:?}: must not end with an underscore"
    );
    ensure!(
        !name.contains("__"),
        "{name:?}: must not hold two underscores in a row"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(entries: &[(&str, Option<&str>)]) -> BTreeMap<String, manifest::Variable> {
        let variable = |default: Option<&str>| manifest::Variable {
            default: default.map(str::to_owned),
            required: default.is_none(),
            ..manifest::Variable::default()
        };
        entries
            .iter()
            .map(|&(name, default)| (name.to_owned(), variable(default)))
            .collect()
    }

    fn given(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn the_command_line_wins_over_the_environment_and_that_over_the_default() {
        let declared = declared(&[
            ("a", Some("default")),
            ("b", Some("default")),
            ("c", Some("default")),
        ]);
        let environment = |key: &str| {
            ["SPIN_VARIABLE_B", "SPIN_VARIABLE_C"]
                .contains(&key)
                .then(|| "environment".to_owned())
        };
        let variables =
            Variables::settle(&declared, environment, &given(&[("c", "given")])).unwrap();
        assert_eq!(
            variables.expand("{{ a }}/{{b}}/{{  c }}").unwrap(),
            "default/environment/given"
        );
    }

    #[test]
    fn a_required_variable_without_a_value_is_an_error_that_says_how_to_set_it() {
        let error = Variables::settle(&declared(&[("admin_token", None)]), |_| None, &given(&[]))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "variables.admin_token is required: set SPIN_VARIABLE_ADMIN_TOKEN, or --variable admin_token=VALUE"
        );
    }

    #[test]
    fn a_value_for_an_undeclared_variable_is_an_error() {
        let error =
            Variables::settle(&declared(&[]), |_| None, &given(&[("typo", "x")])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--variable typo: the manifest declares no variable of this name"
        );
    }

    #[test]
    fn templates_keep_everything_else_as_it_is() {
        let variables = Variables::settle(
            &declared(&[("host", Some("example.com"))]),
            |_| None,
            &given(&[]),
        )
        .unwrap();
        for (template, expanded) in [
            ("", ""),
            ("plain } and { braces }}", "plain } and { braces }}"),
            ("https://{{ host }}:8080/", "https://example.com:8080/"),
            ("{{host}}{{host}}", "example.comexample.com"),
        ] {
            assert_eq!(variables.expand(template).unwrap(), expanded);
        }
        for (template, problem) in [
            ("{{ host", "\"{{ host\": `{{` without `}}`"),
            (
                "{{ other }}",
                "\"{{ other }}\": no variable \"other\" is declared",
            ),
        ] {
            assert_eq!(variables.expand(template).unwrap_err().to_string(), problem);
        }
    }

    #[test]
    fn names_are_lower_snake_case() {
        for name in ["a", "a1", "admin_token", "a_1"] {
            check_name(name).unwrap();
        }
        for name in ["", "A", "1a", "_a", "a_", "a__b", "a-b", "é"] {
            check_name(name).unwrap_err();
        }
    }
}
