//! The load generator: wrk, with one thread and a script that makes the requests and checks the answers.
//!
//! It has a part of the same two cores as what it measures: that is the same for all subjects, and what a request costs
//! without a network. Its percentiles are corrected for the requests that it could not send while it waited.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::rows::Shot;

/// The script, as wrk reads it.
const SCRIPT: &str = include_str!("load.lua");

/// How long one answer may take: 64 connections, each of which waits for the slowest disk that was seen.
const TIMEOUT: &str = "30s";

/// No two cells draw the same fresh keys.
static SEED: AtomicU64 = AtomicU64::new(1);

/// Where wrk finds what it sends.
#[derive(Debug)]
pub(crate) struct Wrk {
    script: PathBuf,
}

/// What wrk measured in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) requests: u64,
    pub(crate) requests_per_s: u64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
}

/// What the script prints.
#[derive(Debug, Deserialize)]
struct Printed {
    requests: u64,
    duration_us: u64,
    p50_us: u64,
    p99_us: u64,
    unanswered: u64,
    wrong: u64,
    first_wrong: String,
}

impl Wrk {
    /// Writes the script into this folder.
    pub(crate) fn prepare(folder: &Path) -> Result<Self> {
        let script = folder.join("load.lua");
        std::fs::write(&script, SCRIPT)?;
        Ok(Self { script })
    }

    /// Sends requests of this kind for so long, and fails if one is not answered as it should be.
    pub(crate) fn run(
        &self,
        address: &str,
        shot: &Shot,
        records: &Path,
        connections: usize,
        time: Duration,
    ) -> Result<Report> {
        let mut command = Command::new("wrk");
        command
            .args(["--threads", "1", "--timeout", TIMEOUT, "--connections"])
            .arg(connections.to_string())
            .args(["--duration", &format!("{}s", time.as_secs())])
            .arg("--script")
            .arg(&self.script)
            .arg(format!("http://{address}/"))
            .arg("--")
            .arg(shot.status.to_string())
            .args([shot.method, &shot.path, shot.body, shot.key])
            .arg(records)
            .arg(seed().to_string())
            .stdin(Stdio::null());
        let output = command.output().context("wrk cannot be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.starts_with('{'));
        let Some(line) = line.filter(|_| output.status.success()) else {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!("wrk reports nothing: {text}{complaint}");
        };
        let printed: Printed = serde_json::from_str(line).with_context(|| line.to_owned())?;
        printed.checked(shot)
    }
}

impl Printed {
    /// Answers that are wrong or missing are no requests, and end the benchmark.
    fn checked(self, shot: &Shot) -> Result<Report> {
        ensure!(
            self.wrong == 0,
            "{} {}: {} of {} answers are not {}; the first one: {}",
            shot.method,
            shot.path,
            self.wrong,
            self.requests,
            shot.status,
            self.first_wrong
        );
        ensure!(
            self.unanswered == 0,
            "{} {}: {} requests were not answered",
            shot.method,
            shot.path,
            self.unanswered
        );
        ensure!(
            self.requests > 0 && self.duration_us > 0,
            "{} {}: no request was answered",
            shot.method,
            shot.path
        );
        Ok(Report {
            requests: self.requests,
            requests_per_s: self.requests * 1_000_000 / self.duration_us,
            p50_us: self.p50_us,
            p99_us: self.p99_us,
        })
    }
}

/// A seed for the script's random numbers: another one for each cell, and in each run.
fn seed() -> u64 {
    let run = reprise_e2e::now().as_unix_ms() % 1_000_000_000;
    run * 1_000 + SEED.fetch_add(1, Ordering::Relaxed) % 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shot() -> Shot {
        Shot {
            status: 201,
            method: "POST",
            path: "/orders".to_owned(),
            body: "{}",
            key: "$F",
        }
    }

    fn printed(wrong: u64, unanswered: u64, requests: u64) -> Printed {
        Printed {
            requests,
            duration_us: 2_000_000,
            p50_us: 900,
            p99_us: 2_000,
            unanswered,
            wrong,
            first_wrong: "503 the store is away".to_owned(),
        }
    }

    #[test]
    fn only_right_answers_are_counted() {
        let report = printed(0, 0, 5_001).checked(&shot()).unwrap();
        assert_eq!(
            (
                report.requests,
                report.requests_per_s,
                report.p50_us,
                report.p99_us
            ),
            (5_001, 2_500, 900, 2_000)
        );
        for (printed, complaint) in [
            (
                printed(2, 0, 10),
                "POST /orders: 2 of 10 answers are not 201; the first one: 503 the store is away",
            ),
            (
                printed(0, 1, 10),
                "POST /orders: 1 requests were not answered",
            ),
            (printed(0, 0, 0), "POST /orders: no request was answered"),
        ] {
            let error = printed.checked(&shot()).expect_err(complaint);
            assert_eq!(error.to_string(), complaint);
        }
    }
}
