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

/// How many replays come between the two looks, at least.
const REQUESTS: u64 = 100_000;
/// How many come before: caches are then full, and instances have come and gone.
const WARM_UP: u64 = 5_000;
const STEP: Duration = Duration::from_secs(2);

/// The resident memory of the host's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) requests: u64,
    pub(crate) before_kib: u64,
    pub(crate) after_kib: u64,
}

impl Memory {
    pub(crate) fn measure(world: &World, wrk: &Wrk) -> Result<Self> {
        let file = &world.stores.used;
        let server = world.component(Subject::Reprise, "memory", file, Events::Off)?;
        let shot = Row::Replay.shot(Subject::Reprise, Lengths::default());
        let shot = shot.context("Reprise has this row")?;
        let replay = |at_least: u64| -> Result<u64> {
            let mut requests = 0;
            while requests < at_least {
                let live = &world.stores.live;
                requests += wrk
                    .run(server.address(), &shot, live, CONNECTIONS, STEP)?
                    .requests;
            }
            Ok(requests)
        };
        replay(WARM_UP)?;
        let before_kib = resident_kib(&server)?;
        let requests = replay(REQUESTS)?;
        let after_kib = resident_kib(&server)?;
        eprintln!("memory: {before_kib} KiB, and after {requests} replays {after_kib} KiB");
        Ok(Self {
            requests,
            before_kib,
            after_kib,
        })
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
