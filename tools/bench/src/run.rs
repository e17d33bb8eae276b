//! One run, from the files that everybody starts from to the table.

use std::fs;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::cells::{Cells, Place, Samples};
use crate::extras::Extras;
use crate::lengths::Lengths;
use crate::machine::Machine;
use crate::options::Options;
use crate::programs::{Events, Programs};
use crate::restate::Restate;
use crate::rows::Row;
use crate::store::Stores;
use crate::subject::Subject;
use crate::summary::Summary;
use crate::world::World;
use crate::wrk::Wrk;
use crate::{json, table};

/// Measures what the options say, and prints the table.
pub(crate) fn run(mut options: Options) -> Result<()> {
    let programs = Programs::find(options.spin.clone())?;
    let folder = TempDir::new_in(&programs.scratch)?;
    let machine = Machine::describe(folder.path())?;
    eprintln!("filling the stores with {} live orders", options.live);
    let stores = Stores::prepare(folder.path(), options.live, options.journal)?;
    if options.subjects.contains(&Subject::Restate) && programs.restate.is_none() {
        eprintln!("(d) is left out: Restate is not installed");
        options
            .subjects
            .retain(|subject| *subject != Subject::Restate);
    }
    let mut world = World {
        programs,
        stores,
        folder: folder.path().to_owned(),
        restate: None,
    };
    if options.subjects.contains(&Subject::Restate) {
        world.restate = Some(start_restate(&world)?);
    }
    let wrk = Wrk::prepare(folder.path())?;
    let cells = Cells {
        options: &options,
        lengths: lengths(&world)?,
        world: &world,
        wrk: &wrk,
    };
    let mut samples = Samples::new();
    for repetition in 1..=options.repetitions {
        eprintln!("repetition {repetition} of {}", options.repetitions);
        cells.repetition(repetition, &mut samples)?;
    }
    // Nothing else runs beside what follows.
    world.restate = None;
    let extras = Extras::measure(&options, &world, &wrk)?;
    let summary = Summary::of(&samples);
    let report = table::Report {
        options: &options,
        machine: &machine,
        summary: &summary,
        extras: &extras,
    };
    println!("{}", report.markdown());
    if let Some(path) = &options.json {
        let numbers = json::document(&report, &samples);
        fs::write(path, numbers.to_string()).with_context(|| path.display().to_string())?;
    }
    check_calls(&summary, options.is_quick)
}

fn start_restate(world: &World) -> Result<Restate> {
    let installed = world.programs.restate.as_ref();
    let installed = installed.context("Restate is not installed")?;
    eprintln!("starting Restate");
    Restate::start(installed, &world.folder.join("d"), &world.stores.live_keys)
}

/// Learns from Reprise how long its values are.
fn lengths(world: &World) -> Result<Lengths> {
    let file = &world.stores.used;
    let server = world.component(Subject::Reprise, "lengths", file, Events::Off)?;
    let lengths = Lengths::measure(&server, &world.folder.join("lengths"))?;
    eprintln!("{lengths:?}");
    Ok(lengths)
}

/// The bare component is a floor as long as it makes the calls that Reprise makes. On an empty store it does not: who is
/// faster uses more buckets again, which costs less than their first use.
fn check_calls(summary: &Summary, is_strict: bool) -> Result<()> {
    let mut differences = Vec::new();
    let lines = summary.lines.iter();
    for (place, line) in lines.filter(|(place, _)| place.row != Row::OrderOnEmpty) {
        let bare = Place {
            subject: Subject::Bare,
            ..*place
        };
        let other = summary
            .lines
            .get(&bare)
            .and_then(|line| line.calls.as_ref());
        if let (Subject::Reprise, Some(calls), Some(other)) = (place.subject, &line.calls, other)
            && let Some(difference) = calls.difference(other)
        {
            differences.push(format!(
                "{} at {} connections: {difference}",
                place.row.title(),
                place.connections
            ));
        }
    }
    if differences.is_empty() {
        return Ok(());
    }
    let differences = differences.join("\n");
    let told = format!("(b) does not make the calls of (a), so it is no floor:\n{differences}");
    if is_strict {
        bail!(told);
    }
    eprintln!("warning: {told}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::counters::Calls;
    use crate::summary::Line;

    fn summary(row: Row, swaps_of_bare: u64) -> Summary {
        let line = |subject, swaps| {
            let place = Place {
                row,
                connections: 4,
                subject,
            };
            let calls = Calls {
                reads: 0,
                writes: swaps,
                by_call: BTreeMap::from([("swap".to_owned(), swaps)]),
            };
            let line = Line {
                requests_per_s: 100,
                p50_us: 1,
                p99_us: 2,
                calls: Some(calls),
            };
            (place, line)
        };
        Summary {
            lines: BTreeMap::from([
                line(Subject::Reprise, 100),
                line(Subject::Bare, swaps_of_bare),
            ]),
            ratios: BTreeMap::new(),
        }
    }

    #[test]
    fn a_floor_that_does_less_is_none() {
        assert!(check_calls(&summary(Row::Order, 101), true).is_ok());
        let error =
            check_calls(&summary(Row::Order, 50), true).expect_err("it swaps half as often");
        let told = "new order, fresh key at 4 connections: swap: 1.00 and 0.50 per request";
        assert!(error.to_string().ends_with(told), "{error}");
        assert!(check_calls(&summary(Row::Order, 50), false).is_ok());
        assert!(check_calls(&summary(Row::OrderOnEmpty, 50), true).is_ok());
    }
}
