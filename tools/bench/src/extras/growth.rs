//! How a replay's time grows with the number of live records.

use anyhow::{Context as _, Result};

use crate::counters::Counters;
use crate::lengths::Lengths;
use crate::median::median;
use crate::options::Options;
use crate::programs::Events;
use crate::rows::Row;
use crate::server::Server;
use crate::store;
use crate::subject::Subject;
use crate::world::World;
use crate::wrk::Wrk;

/// The numbers of live records that are compared.
const SIZES: [u64; 2] = [1_000, 100_000];

/// A replay at each of the sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) sizes: Vec<Size>,
}

/// A replay at one connection among so many live records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) live: u64,
    pub(crate) p50_us: u64,
    /// Reads per replay in hundredths, where the host counts.
    pub(crate) reads: Option<u64>,
}

/// A store of one size and who serves it.
struct Served {
    live: u64,
    list: std::path::PathBuf,
    server: Server,
    before: Option<Counters>,
    times_us: Vec<u64>,
}

impl Growth {
    pub(crate) fn measure(options: &Options, world: &World, wrk: &Wrk) -> Result<Self> {
        let mut served = SIZES
            .into_iter()
            .map(|live| Served::start(live, options, world))
            .collect::<Result<Vec<_>>>()?;
        let shot = Row::Replay.shot(Subject::Reprise, Lengths::default());
        let shot = shot.context("Reprise has this row")?;
        // One more, before which nothing is read into memory.
        for repetition in 0..=options.repetitions {
            for size in &mut served {
                let report = wrk.run(size.server.address(), &shot, &size.list, 1, options.cell)?;
                eprintln!(
                    "replay at {} live records: p50 {} us",
                    size.live, report.p50_us
                );
                if repetition > 0 {
                    size.times_us.push(report.p50_us);
                }
            }
        }
        let sizes = served
            .into_iter()
            .map(Served::size)
            .collect::<Result<_>>()?;
        Ok(Self { sizes })
    }
}

impl Served {
    fn start(live: u64, options: &Options, world: &World) -> Result<Self> {
        eprintln!("filling a store with {live} live records");
        let name = format!("growth-{live}");
        let (file, list) = (
            world.folder.join(format!("{name}.db")),
            world.folder.join(format!("{name}.txt")),
        );
        let ids = store::fill_used(&file, live, options.journal)?;
        store::write_live(&list, &file, &ids)?;
        let server = world.component(Subject::Reprise, &name, &file, Events::Off)?;
        let before = world
            .programs
            .counts_calls()
            .then(|| Counters::read(&server.client()))
            .transpose()?;
        Ok(Self {
            live,
            list,
            server,
            before,
            times_us: Vec::new(),
        })
    }

    fn size(self) -> Result<Size> {
        let reads = match &self.before {
            Some(before) => {
                let after = Counters::read_when_quiet(&self.server.client())?;
                Some(
                    after
                        .per_request(before, Row::Replay.requests_within())
                        .reads,
                )
            }
            None => None,
        };
        Ok(Size {
            live: self.live,
            p50_us: median(self.times_us).context("it was measured at least once")?,
            reads,
        })
    }
}
