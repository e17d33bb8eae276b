//! How `cargo xtask up` should serve.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use lexopt::{Arg, Parser, ValueExt as _};

use crate::args::{DEFAULT_LISTEN, DEFAULT_TICK, duration};

/// The options of `cargo xtask up`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Use the workspace's own host even where a Spin is installed.
    pub(crate) own_host: bool,
    /// The address to listen on. A name, which Spin alone would take, is none.
    pub(crate) listen: SocketAddr,
    /// Where the server keeps its state, when not where it would by itself.
    pub(crate) state_dir: Option<PathBuf>,
    /// How often to tick, if at all.
    pub(crate) tick: Option<Duration>,
    /// Arguments for the server that this program does not know.
    pub(crate) passed_on: Vec<OsString>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            own_host: false,
            listen: DEFAULT_LISTEN.parse().expect("it is an address"),
            state_dir: None,
            tick: Some(DEFAULT_TICK),
            passed_on: Vec::new(),
        }
    }
}

impl Options {
    /// Reads the arguments behind the command. What follows `--` is the server's.
    pub(crate) fn parse(parser: &mut Parser, passed_on: Vec<OsString>) -> Result<Self> {
        let mut options = Self {
            passed_on,
            ..Self::default()
        };
        while let Some(arg) = parser.next()? {
            match arg {
                Arg::Long("host") => options.own_host = true,
                Arg::Long("listen") => options.listen = address(parser).context("--listen")?,
                Arg::Long("state-dir") => options.state_dir = Some(PathBuf::from(parser.value()?)),
                Arg::Long("tick") => options.tick = Some(duration(parser).context("--tick")?),
                Arg::Long("no-tick") => options.tick = None,
                other @ (Arg::Long(_) | Arg::Short(_) | Arg::Value(_)) => {
                    return Err(other.unexpected())
                        .context("arguments for the server go after `--`");
                }
            }
        }
        Ok(options)
    }
}

/// Reads an option's value as an address to listen on.
fn address(parser: &mut Parser) -> Result<SocketAddr> {
    let text = parser.value()?.string()?;
    let address = text.parse().ok();
    address.with_context(|| {
        format!("{text:?} is not ADDRESS:PORT, such as 127.0.0.1:3077 or [::1]:3077")
    })
}
