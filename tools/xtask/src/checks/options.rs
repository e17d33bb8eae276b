//! Which checks `cargo xtask test` should run.

use anyhow::{Context as _, Result};
use lexopt::{Arg, Parser, ValueExt as _};

/// Which checks to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checks {
    /// All of them.
    All,
    /// Those that need neither wasm nor wasmtime.
    Quick,
    /// The end-to-end tests on this store.
    EndToEnd(Store),
}

/// What the end-to-end tests run on: which store, and how many hosts use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// A file, with one host.
    Sqlite,
    /// A Redis, with one host.
    Redis,
    /// A Redis, with two hosts that are asked in turn.
    RedisTwo,
}

impl Store {
    pub(crate) const ALL: [Self; 3] = [Self::Sqlite, Self::Redis, Self::RedisTwo];

    /// What the tests call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Redis => "redis",
            Self::RedisTwo => "redis-two",
        }
    }
}

impl Checks {
    /// Reads the arguments behind the command.
    pub(crate) fn parse(parser: &mut Parser) -> Result<Self> {
        let mut which = Self::All;
        while let Some(arg) = parser.next()? {
            which = match arg {
                Arg::Long("quick") if which == Self::All => Self::Quick,
                Arg::Long("store") if which == Self::All => {
                    let name = parser.value()?.string()?;
                    let store = Store::ALL.into_iter().find(|store| store.name() == name);
                    Self::EndToEnd(store.with_context(|| {
                        let names = Store::ALL.map(Store::name);
                        format!("--store: {name:?} is not one of {}", names.join(", "))
                    })?)
                }
                other @ (Arg::Long(_) | Arg::Short(_) | Arg::Value(_)) => {
                    return Err(other.unexpected().into());
                }
            };
        }
        Ok(which)
    }
}
