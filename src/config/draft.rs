//! A configuration on its way: read, but with its variables still to be filled in.
//!
//! Reading a variable is the host's business and may take its time, so the steps are apart: parse the text, ask which
//! variables it names, fetch those, settle. Values are filled into the parsed tree and never into the text, so a value
//! is one string wherever it goes, whatever quotes and line breaks it holds.

use super::file::{self, Node};
use super::{Config, ConfigError};
use crate::sorted::Sorted;
use std::fmt;

/// The largest file that is read, in bytes: many times the reference file. It bounds how much of anything a
/// configuration can hold.
pub(super) const FILE_BYTES_MAX: usize = 256 * 1_024;

/// A configuration whose variables are still to be filled in.
pub struct Draft {
    root: Node,
    variables: Sorted<String, ()>,
}

impl Draft {
    /// Reads the text of a file. The error is the first thing that is not TOML, or a template that is none.
    pub fn parse(text: &str) -> Result<Self, Box<ConfigError>> {
        if text.len() > FILE_BYTES_MAX {
            return Err(Box::new(ConfigError {
                line: None,
                field: String::new(),
                problem: format!("the file is larger than {FILE_BYTES_MAX} bytes"),
            }));
        }
        let root = file::parse(text)?;
        let variables = file::variables(&root)?;
        Ok(Self { root, variables })
    }

    /// The names in the templates, such as `admin_token` for `"{{ admin_token }}"`.
    pub fn variables(&self) -> impl Iterator<Item = &String> {
        self.variables.keys()
    }

    /// Fills the variables in and checks the whole. The error is the first thing that is wrong.
    pub fn settle(
        mut self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Config, Box<ConfigError>> {
        file::fill(&mut self.root, &variable)?;
        file::read(&self.root)
    }
}

impl fmt::Debug for Draft {
    /// Shows the variables' names alone: a file may hold a secret as it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft")
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
