//! How long it takes from starting the host, with the components compiled before, to its first answer.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reprise_e2e::fill::Filling;

use crate::median::median;
use crate::programs::Events;
use crate::server::{Server, answered};
use crate::store::{self, KEY_VALUE};
use crate::subject::Subject;
use crate::world::World;

/// The medians, from the start of the process to the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) health_ms: u64,
    pub(crate) replay_ms: u64,
}

impl Start {
    pub(crate) fn measure(repetitions: usize, world: &World) -> Result<Self> {
        let health = |address: &str| {
            format!("GET /-/healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        };
        let key = world.stores.live_keys.first().context("no live record")?;
        let replay = |address: &str| {
            let body = Filling::Orders.body();
            format!(
                "POST /orders HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
                 Content-Type: application/json\r\nIdempotency-Key: {key}\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        // The first one compiles, should nothing else have done so before.
        first_answer(world, health, 200)?;
        let (mut health_ms, mut replay_ms) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            health_ms.push(first_answer(world, health, 200)?);
            replay_ms.push(first_answer(world, replay, 201)?);
        }
        let start = Self {
            health_ms: median(health_ms).context("it was measured at least once")?,
            replay_ms: median(replay_ms).context("it was measured at least once")?,
        };
        eprintln!(
            "first answer: {} ms, to a replay {} ms",
            start.health_ms, start.replay_ms
        );
        Ok(start)
    }
}

/// Starts the host and sends it this request as soon as it listens.
fn first_answer(world: &World, request: impl Fn(&str) -> String, expected: u16) -> Result<u64> {
    let state = world.folder.join("start");
    store::copy(&world.stores.used, &state, KEY_VALUE)?;
    let programs = &world.programs;
    let manifest = programs.application(Subject::Reprise, &state, Events::Off)?;
    let start = Instant::now();
    let (server, log) = Server::launch(&world.folder, "start", |address| {
        programs.server(&manifest, &state, address)
    })?;
    let request = request(server.address());
    loop {
        if let Some(status) = answered(server.address(), &request) {
            let took = start.elapsed();
            ensure!(status == expected, "the first answer is {status}");
            return Ok(u64::try_from(took.as_millis())?);
        }
        ensure!(
            start.elapsed() < Duration::from_mins(5),
            "the host does not come up: {}",
            fs::read_to_string(&log).unwrap_or_default()
        );
        std::thread::sleep(Duration::from_micros(200));
    }
}
