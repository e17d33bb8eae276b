//! The numbers for machines: every single measurement, the medians, the ratios and the goals.

use serde_json::{Map, Value, json};

use crate::cells::{Place, Samples};
use crate::counters::Calls;
use crate::extras::growth::Size;
use crate::extras::memory::Seen;
use crate::goals;
use crate::table::Report;

/// The document. Ratios, and calls per request, are in hundredths.
pub(crate) fn document(report: &Report<'_>, samples: &Samples) -> Value {
    let Report {
        options,
        machine,
        summary,
        extras,
    } = report;
    let cells = samples.iter().map(|(at, cell)| {
        let measured = cell.iter().map(|sample| {
            json!({
                "requests": sample.report.requests,
                "requests_per_s": sample.report.requests_per_s,
                "p50_us": sample.report.p50_us,
                "p99_us": sample.report.p99_us,
                "calls_percent": sample.calls.as_ref().map(calls),
            })
        });
        let mut cell = place(*at);
        cell.insert("samples".to_owned(), measured.collect());
        if let Some(line) = summary.lines.get(at) {
            let median = json!({
                "requests_per_s": line.requests_per_s,
                "p50_us": line.p50_us,
                "p99_us": line.p99_us,
                "calls_percent": line.calls.as_ref().map(calls),
            });
            cell.insert("median".to_owned(), median);
        }
        if let Some(ratio) = summary.ratios.get(at) {
            cell.insert("reprise_to_this_percent".to_owned(), json!(ratio));
        }
        Value::Object(cell)
    });
    let cells: Vec<Value> = cells.collect();
    let goals = goals::judge(summary, extras).into_iter().map(|goal| {
        json!({
            "what": goal.what, "wanted": goal.wanted, "measured": goal.measured, "is_met": goal.is_met,
        })
    });
    let goals: Vec<Value> = goals.collect();
    json!({
        "machine": {
            "cores": machine.cores,
            "kernel": machine.kernel,
            "file_system": machine.file_system,
            "fsync_us": machine.fsync_us,
        },
        "cell_s": options.cell.as_secs(),
        "repetitions": options.repetitions,
        "live_records": options.live,
        "journal": options.journal.name(),
        "spin": options.spin,
        "cells": cells,
        "growth": extras.growth.as_ref().map(|growth| {
            let size = |size: &Size| {
                json!({ "live_records": size.live, "p50_us": size.p50_us, "reads_percent": size.reads })
            };
            growth.sizes.iter().map(size).collect::<Vec<Value>>()
        }),
        "memory": extras.memory.as_ref().map(|memory| {
            let seen = |seen: &Seen| {
                json!({ "requests": seen.requests, "resident_kib": seen.resident_kib })
            };
            memory.seen.iter().map(seen).collect::<Vec<Value>>()
        }),
        "start": extras.start.map(|start| json!({
            "health_ms": start.health_ms, "replay_ms": start.replay_ms,
        })),
        "goals": goals,
    })
}

fn place(place: Place) -> Map<String, Value> {
    let members = [
        ("row", json!(place.row.name())),
        ("connections", json!(place.connections)),
        ("subject", json!(place.subject.letter())),
    ];
    members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn calls(calls: &Calls) -> Value {
    json!({ "reads": calls.reads, "writes": calls.writes, "by_call": calls.by_call })
}
