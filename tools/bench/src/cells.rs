//! The cells of the table: each row of each subject at each number of connections, measured again and again, with the
//! subjects taking turns so that the disk's mood hits all alike.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reprise_e2e::Client;

use crate::counters::{Calls, Counters};
use crate::lengths::Lengths;
use crate::options::Options;
use crate::programs::Events;
use crate::rows::Row;
use crate::subject::Subject;
use crate::world::{From, Running, World};
use crate::wrk::{Report, Wrk};

/// Connections of the rows that are measured at one number of them only.
pub(crate) const CONNECTIONS: usize = 16;

/// A cell's place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) row: Row,
    pub(crate) connections: usize,
    pub(crate) subject: Subject,
}

/// One measurement of a cell.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) report: Report,
    pub(crate) calls: Option<Calls>,
}

/// All measurements, in the order in which they were made.
pub(crate) type Samples = BTreeMap<Place, Vec<Sample>>;

/// Measures.
#[derive(Debug)]
pub(crate) struct Cells<'a> {
    pub(crate) options: &'a Options,
    pub(crate) world: &'a World,
    pub(crate) wrk: &'a Wrk,
    pub(crate) lengths: Lengths,
}

impl Cells<'_> {
    /// Measures every cell once. Which subject comes first in a row changes with the number of the repetition: what runs
    /// before may leave the disk busy.
    pub(crate) fn repetition(&self, number: usize, samples: &mut Samples) -> Result<()> {
        let mut subjects = self.options.subjects.clone();
        if let Some(first) = number.checked_rem(subjects.len()) {
            subjects.rotate_left(first);
        }
        let rows = self
            .options
            .rows
            .iter()
            .filter(|row| Row::MAIN.contains(row));
        // In the order in which they leave the store as little changed as possible for the next one.
        let mut rows: Vec<Row> = rows.copied().collect();
        rows.sort_unstable_by_key(|row| Row::ALL.iter().position(|other| other == row));
        if !rows.is_empty() {
            let running = self.world.start(&subjects, From::Used, Events::Off)?;
            self.warm_up(&running)?;
            for row in rows {
                for connections in &self.options.connections {
                    self.turn(&running, &subjects, row, *connections, samples)?;
                }
            }
        }
        for (row, from, events) in [
            (Row::OrderOnEmpty, From::New, Events::Off),
            (Row::OrderWithEvent, From::Used, Events::On),
        ] {
            if self.options.rows.contains(&row) {
                let subjects = subjects.iter().copied();
                let subjects: Vec<Subject> = subjects
                    .filter(|subject| row.shot(*subject, self.lengths).is_some())
                    .collect();
                let running = self.world.start(&subjects, from, events)?;
                lay_out(&running)?;
                self.turn(&running, &subjects, row, CONNECTIONS, samples)?;
            }
        }
        Ok(())
    }

    /// Lets every subject have its first instances and pages.
    fn warm_up(&self, running: &Running<'_>) -> Result<()> {
        for subject in &self.options.subjects {
            self.cell(
                running,
                Row::Replay,
                CONNECTIONS,
                *subject,
                Duration::from_secs(1),
            )?;
        }
        Ok(())
    }

    fn turn(
        &self,
        running: &Running<'_>,
        subjects: &[Subject],
        row: Row,
        connections: usize,
        samples: &mut Samples,
    ) -> Result<()> {
        for subject in subjects {
            let place = Place {
                row,
                connections,
                subject: *subject,
            };
            let cell = self.cell(running, row, connections, *subject, self.options.cell);
            let cell = cell.with_context(|| {
                format!(
                    "{}, {} at {connections} connections",
                    subject.title(),
                    row.title()
                )
            });
            if let Some(sample) = cell? {
                eprintln!(
                    "{:<11} {:<33} {connections:>3} connections: {:>6} requests/s, p50 {} us, p99 {} us",
                    subject.title(),
                    row.title(),
                    sample.report.requests_per_s,
                    sample.report.p50_us,
                    sample.report.p99_us
                );
                samples.entry(place).or_default().push(sample);
            }
        }
        Ok(())
    }

    /// Measures one cell, if the subject has this row.
    fn cell(
        &self,
        running: &Running<'_>,
        row: Row,
        connections: usize,
        subject: Subject,
        time: Duration,
    ) -> Result<Option<Sample>> {
        let Some(shot) = row.shot(subject, self.lengths) else {
            return Ok(None);
        };
        let counting = running.counting(subject);
        let before = counting.as_ref().map(Counters::read).transpose()?;
        let address = running.address(subject)?;
        let live = &self.world.stores.live;
        let report = self.wrk.run(address, &shot, live, connections, time)?;
        let calls = match (counting, before) {
            (Some(client), Some(before)) => {
                let after = Counters::read_when_quiet(&client)?;
                Some(after.per_request(&before, row.requests_within()))
            }
            _ => None,
        };
        Ok(Some(Sample { report, calls }))
    }
}

/// Has Reprise look for an order that is not there. A store that was never used is laid out by that, which happens once in
/// its life.
fn lay_out(running: &Running<'_>) -> Result<()> {
    let Ok(address) = running.address(Subject::Reprise) else {
        return Ok(());
    };
    let answer = Client::new(address).get("/orders/01a22853-fd1b-7326-b8c9-b6e603792457");
    ensure!(answer.status == 404, "there is an order: {answer:?}");
    Ok(())
}
