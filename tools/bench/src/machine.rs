//! What the numbers were measured on.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::median::median;

/// How often the disk is waited for to learn how long that takes.
const WAITS: usize = 200;

/// A description of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) file_system: String,
    /// The median time of a write and its `fsync`.
    pub(crate) fsync_us: u64,
}

impl Machine {
    /// Describes it; files are written in this folder.
    pub(crate) fn describe(folder: &Path) -> Result<Self> {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Ok(Self {
            cores: thread::available_parallelism()?.get(),
            kernel: kernel.trim().to_owned(),
            file_system: file_system(folder).unwrap_or_else(|| "unknown".to_owned()),
            fsync_us: fsync_us(folder)?,
        })
    }
}

/// What `stat` calls the file system of a folder.
fn file_system(folder: &Path) -> Option<String> {
    let mut stat = Command::new("stat");
    stat.args(["--file-system", "--format", "%T"]).arg(folder);
    let output = stat.output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn fsync_us(folder: &Path) -> Result<u64> {
    let path = folder.join("fsync");
    let mut file = File::create(&path)?;
    let mut times_us = Vec::with_capacity(WAITS);
    for _ in 0..WAITS {
        let start = Instant::now();
        file.write_all(&[0; 4_096])?;
        file.sync_data()?;
        times_us.push(u64::try_from(start.elapsed().as_micros())?);
    }
    fs::remove_file(path)?;
    median(times_us).context("it was waited for at least once")
}
