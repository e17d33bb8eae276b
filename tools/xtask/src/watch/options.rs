//! What to watch, and how often.

use std::time::Duration;

use anyhow::{Context as _, Result};
use lexopt::{Arg, Parser, ValueExt as _};

use crate::args::{DEFAULT_LISTEN, duration};

/// The options of `cargo xtask watch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// The address that the application listens on.
    pub(crate) listen: String,
    /// The time between two looks.
    pub(crate) every: Duration,
}

impl Options {
    /// Reads the arguments behind the command.
    pub(crate) fn parse(parser: &mut Parser) -> Result<Self> {
        let mut options = Self {
            listen: DEFAULT_LISTEN.to_owned(),
            every: Duration::from_secs(1),
        };
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("listen") => {
                    options.listen = parser.value()?.string().context("--listen")?;
                }
                Arg::Long("every") => options.every = duration(parser).context("--every")?,
                other @ (Arg::Long(_) | Arg::Short(_) | Arg::Value(_)) => {
                    return Err(other.unexpected().into());
                }
            }
        }
        Ok(options)
    }
}
