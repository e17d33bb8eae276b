//! Whether the memory of the host, and of the instances in it, grows with the requests.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::cells::CONNECTIONS;
use crate::lengths::Lengths;
use crate::programs::Events;
use crate::rows::Row;
use crate::server::Server;
use crate::subject::Subject;
use crate::world::World;
use crate::wrk::Wrk;

/// How many replays come between the first look and the last, at least.
const REQUESTS: u64 = 100_000;
/// How many come before the first: caches are then full, and instances have come and gone many times.
const WARM_UP: u64 = 20_000;
/// The time between two looks.
const STEP: Duration = Duration::from_secs(2);

/// The resident memory of the host's process, with all that lives in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    /// In the order in which they were seen, the first one after [`WARM_UP`].
    pub(crate) seen: Vec<Seen>,
}

/// One look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Replays since the first look.
    pub(crate) requests: u64,
    pub(crate) resident_kib: u64,
}

impl Memory {
    pub(crate) fn measure(world: &World, wrk: &Wrk) -> Result<Self> {
        let file = &world.stores.used;
        let server = world.component(Subject::Reprise, "memory", file, Events::Off)?;
        let shot = Row::Replay.shot(Subject::Reprise, Lengths::default());
        let shot = shot.context("Reprise has this row")?;
        let replay = || {
            let live = &world.stores.live;
            let report = wrk.run(server.address(), &shot, live, CONNECTIONS, STEP)?;
            anyhow::Ok(report.requests)
        };
        let mut before = 0;
        while before < WARM_UP {
            before += replay()?;
        }
        let mut requests = 0;
        let mut seen = Vec::new();
        loop {
            let resident_kib = resident_kib(&server)?;
            eprintln!("memory after {requests} replays: {resident_kib} KiB");
            seen.push(Seen {
                requests,
                resident_kib,
            });
            if requests >= REQUESTS {
                return Ok(Self { seen });
            }
            requests += replay()?;
        }
    }

    /// The most that was seen in the first half, and in the second: how many instances there are at a moment is chance.
    pub(crate) fn highest_kib(&self) -> Option<(u64, u64)> {
        let (first, second) = self.seen.split_at(self.seen.len() / 2);
        let highest = |seen: &[Seen]| seen.iter().map(|seen| seen.resident_kib).max();
        Some((highest(first)?, highest(second)?))
    }
}

/// The resident memory of a process, as the kernel tells it.
fn resident_kib(server: &Server) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    let number = number.context("the kernel does not tell the resident memory")?;
    Ok(number.parse()?)
}
