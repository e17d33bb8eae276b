//! What is wrong with a configuration.

use std::fmt;

/// The first thing that is wrong with a configuration: where, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The line in the file, from 1; `None` when it is about the file as a whole.
    pub line: Option<usize>,
    /// The field, from the top, such as `operations.charge.lease`.
    pub field: String,
    /// What is wrong with it. It never quotes a secret.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reprise.toml")?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ", {}", self.field)?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for ConfigError {}
