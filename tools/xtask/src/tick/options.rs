//! What `cargo xtask tick` should call, and how often.

use std::time::Duration;

use anyhow::{Context as _, Result};
use lexopt::{Arg, Parser, ValueExt as _};

use crate::args::{DEFAULT_LISTEN, DEFAULT_TICK, duration};

/// The options of `cargo xtask tick`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The address that the application listens on.
    pub(crate) listen: String,
    /// The time between two ticks.
    pub(crate) every: Duration,
    /// The process with which ticks end: they go on only as long as it is this one's parent.
    pub(crate) beside: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: DEFAULT_LISTEN.to_owned(),
            every: DEFAULT_TICK,
            beside: None,
        }
    }
}

impl Options {
    /// Reads the arguments behind the command.
    pub(crate) fn parse(parser: &mut Parser) -> Result<Self> {
        let mut options = Self::default();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("listen") => {
                    options.listen = parser.value()?.string().context("--listen")?;
                }
                Arg::Long("every") => options.every = duration(parser).context("--every")?,
                Arg::Long("beside") => {
                    options.beside = Some(parser.value()?.parse().context("--beside")?);
                }
                other @ (Arg::Long(_) | Arg::Short(_) | Arg::Value(_)) => {
                    return Err(other.unexpected().into());
                }
            }
        }
        Ok(options)
    }
}
