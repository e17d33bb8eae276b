//! How long the values are that Reprise stores, read from its store, so that the bare component can store as long ones.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reprise_e2e::fill::Filling;
use rusqlite::Connection;

use crate::server::Server;
use crate::store::KEY_VALUE;

/// Bytes of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) order: usize,
    pub(crate) task: usize,
    /// A charge that is claimed and not yet made.
    pub(crate) claim: usize,
    /// A charge that is made.
    pub(crate) charge: usize,
}

/// How long an answer of this amount takes at the sandbox: time to look at the claim.
const SLOW_CHARGE: &str = r#"{"amount":40800,"currency":"EUR","reference":"bench"}"#;
const CHARGE: &str = r#"{"amount":19990,"currency":"EUR","reference":"bench"}"#;
/// A key as long as those of the load.
const KEY: &str = "bench-00000000000000000000000000000000";
const PATIENCE: Duration = Duration::from_secs(10);

impl Lengths {
    /// Has Reprise store one of each, on a server whose state is in this folder.
    pub(crate) fn measure(server: &Server, state: &Path) -> Result<Self> {
        let file = state.join(KEY_VALUE);
        let client = server.client();
        let mut known = Known::default();
        let key = |kind: char| KEY.replacen('0', &kind.to_string(), 1);
        let posted = |path: &str, key: Option<&str>, body: &str| -> Result<()> {
            let answer = client.post(path, key, body);
            ensure!(answer.status == 201, "POST {path}: {answer:?}");
            Ok(())
        };
        known.newest(&file)?;
        posted("/orders", Some(&key('o')), Filling::Orders.body())?;
        let order = known.newest(&file)?;
        posted("/tasks", None, Filling::Tasks.body())?;
        let task = known.newest(&file)?;
        posted("/charge", Some(&key('c')), CHARGE)?;
        let charge = known.newest(&file)?;
        let _unheard = client.post_unheard("/charge", &key('s'), SLOW_CHARGE);
        let claim = known.newest(&file)?;
        ensure!(
            claim > 0 && claim < charge,
            "a claim of {claim} bytes, a charge of {charge}"
        );
        Ok(Self {
            order,
            task,
            claim,
            charge,
        })
    }
}

/// How many nodes there are.
#[derive(Debug, Default)]
struct Known {
    nodes: Option<u32>,
}

impl Known {
    /// Waits for one more node than there was, and tells its length.
    fn newest(&mut self, file: &Path) -> Result<usize> {
        let connection = Connection::open(file)?;
        let start = Instant::now();
        loop {
            let (nodes, length): (u32, u32) = connection.query_row(
                "SELECT (SELECT count(*) FROM spin_key_value WHERE key LIKE 'n/%'),
                        coalesce((SELECT length(value) FROM spin_key_value WHERE key LIKE 'n/%'
                                  ORDER BY rowid DESC LIMIT 1), 0)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            if self.nodes.is_none_or(|before| before < nodes) {
                self.nodes = Some(nodes);
                return Ok(usize::try_from(length)?);
            }
            ensure!(start.elapsed() < PATIENCE, "no record appears in the store");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
