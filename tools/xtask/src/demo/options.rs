//! How the demo is to be played.

use anyhow::Result;
use lexopt::{Arg, Parser};

/// The options of `cargo xtask demo`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Leave the service running at the end.
    pub(crate) keep: bool,
    /// Wait for Enter before each act.
    pub(crate) step: bool,
}

impl Options {
    /// Reads the arguments behind the command.
    pub(crate) fn parse(parser: &mut Parser) -> Result<Self> {
        let mut options = Self::default();
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("keep") => options.keep = true,
                Arg::Long("step") => options.step = true,
                other @ (Arg::Long(_) | Arg::Short(_) | Arg::Value(_)) => {
                    return Err(other.unexpected().into());
                }
            }
        }
        Ok(options)
    }
}
