//! The wheel's histories: timers are pushed and taken at a time, with one crash and with one fault, on every store.
//!
//! A timer may ring twice and may be lost with the client that pushed it. What is in the wheel rings until it is taken,
//! and nothing is taken that did not ring.

use crate::clients::{arming, laid_out, left_to_take, taker, timed, with_timers};
use crate::explorer::{End, Task, Told};
use crate::invariants::check_structure;
use crate::model::{Client, Model, Rules};
use crate::scenarios::{ALL_RULES, cover, cover_with, scenario};
use reprise::driver::store::Layout;
use std::collections::BTreeSet;
use uuid::Uuid;

/// Checks that every timer that somebody was told of, or that was there before, rang or rings yet.
fn check(end: &End, layout: Layout, before: &[Uuid]) -> Result<(), String> {
    let snapshot = check_structure(end)?;
    let left = left_to_take(&end.model, layout).map_err(|error| error.to_string())?;
    let there: Vec<Uuid> = snapshot
        .slots
        .values()
        .flatten()
        .map(|pointer| snapshot.timers[pointer].id)
        .collect();
    if there.len() != left.len() {
        return Err(format!("{there:?} are there, {left:?} ring"));
    }
    let mut rang: BTreeSet<Uuid> = left.into_iter().collect();
    let mut expected: BTreeSet<Uuid> = before.iter().copied().collect();
    for (client, told) in end.told.iter().enumerate() {
        match told {
            Some(Told::Rang(ids)) => rang.extend(ids),
            Some(Told::TimerSet) => drop(expected.insert(timed(client))),
            // One that crashed, or was told of a fault, may have rung some.
            None | Some(Told::Failed(_)) if client > 0 => return Ok(()),
            None | Some(_) => {}
        }
    }
    match expected.difference(&rang).next() {
        Some(lost) => Err(format!("the timer of {lost} is lost")),
        None => Ok(()),
    }
}

/// How often timers rang, counting those that are left.
fn rings(end: &End, layout: Layout) -> usize {
    let told = end.told.iter().flatten();
    let rang = told.map(|told| match told {
        Told::Rang(ids) => ids.len(),
        _ => 0,
    });
    rang.sum::<usize>() + left_to_take(&end.model, layout).map_or(0, |left| left.len())
}

#[test]
fn two_that_push() {
    for rules in ALL_RULES {
        let (start, layout) = laid_out(rules, 2, 0);
        let push = arming(layout);
        cover(scenario("two that push", start, &[&push, &push], &|end| {
            check(end, layout, &[])?;
            let whole = end.crashes == 0 && end.faults == 0;
            if whole && rings(end, layout) != 2 {
                return Err(format!("two timers ring {} times", rings(end, layout)));
            }
            Ok(())
        }));
    }
}

#[test]
fn one_that_pushes_and_one_that_takes() {
    let before = [timed(10), timed(11)];
    for rules in ALL_RULES {
        let (start, layout) = laid_out(rules, 2, 0);
        let start = with_timers(&start, layout, &before);
        let (push, take) = (arming(layout), taker(layout));
        cover(scenario("push and take", start, &[&push, &take], &|end| {
            check(end, layout, &before)?;
            let whole = end.crashes == 0 && end.faults == 0;
            if whole && rings(end, layout) != 3 {
                return Err(format!("three timers ring {} times", rings(end, layout)));
            }
            Ok(())
        }));
    }
}

#[test]
fn two_that_push_and_one_that_takes() {
    for rules in ALL_RULES {
        let (start, layout) = laid_out(rules, 3, 0);
        let start = with_timers(&start, layout, &[timed(10)]);
        let (push, take) = (arming(layout), taker(layout));
        let clients: &[&dyn Fn(Client) -> Task] = &[&push, &push, &take];
        // With a fault as well these are too many to run each time; on Redis each swap is a fault of its own.
        cover_with(
            &[(0, 0), (1, 0)],
            scenario("two push, one takes", start, clients, &|end| {
                check(end, layout, &[timed(10)])
            }),
        );
    }
}

#[test]
fn one_that_pushes_and_two_that_take() {
    for rules in ALL_RULES {
        let (start, layout) = laid_out(rules, 3, 0);
        let start = with_timers(&start, layout, &[timed(10)]);
        let (push, take) = (arming(layout), taker(layout));
        let clients: &[&dyn Fn(Client) -> Task] = &[&push, &take, &take];
        cover_with(
            &[(0, 0), (1, 0)],
            scenario("one pushes, two take", start, clients, &|end| {
                check(end, layout, &[timed(10)])
            }),
        );
    }
}

#[test]
fn two_that_take() {
    let before = [timed(10), timed(11), timed(12)];
    for rules in ALL_RULES {
        let (start, layout) = laid_out(rules, 2, 0);
        let start = with_timers(&start, layout, &before);
        let take = taker(layout);
        cover(scenario("two that take", start, &[&take, &take], &|end| {
            let snapshot = check_structure(end)?;
            let whole = end.crashes == 0 && end.faults == 0;
            if whole && !snapshot.timers.is_empty() {
                return Err("a timer is left over".to_owned());
            }
            // Whoever was answered has rung all that the other one had not taken before.
            let survivor = end.told.iter().flatten().next();
            if let (Some(Told::Rang(_)), false) = (survivor, snapshot.timers.is_empty()) {
                return Err("one took all it saw, and a timer is left over".to_owned());
            }
            Ok(())
        }));
    }
}

/// A chain longer than one look takes is told from its oldest timer on, each timer once.
#[test]
fn a_long_chain_is_taken_from_its_end() {
    for length in [1_u32, 63, 64, 65, 66, 128, 129, 1_000] {
        let (start, layout) = laid_out(Rules::Sqlite, 1, 0);
        let ids: Vec<Uuid> = (0..length).map(|id| Uuid::from_u128(id.into())).collect();
        let start: Model = with_timers(&start, layout, &ids);
        let rang = left_to_take(&start, layout).expect("the store works");
        assert_eq!(rang, ids, "{length} timers");
    }
}

/// Bytes that are no timer are left alone. What is newer rings, and what is older where a milestone leads there.
#[test]
fn a_broken_timer_stops_nobody() {
    let (start, layout) = laid_out(Rules::Sqlite, 1, 0);
    let ids = [timed(10), timed(11), timed(12)];
    let mut start = with_timers(&start, layout, &ids);
    let (_, broken) = start
        .data
        .iter_mut()
        .find(|(key, value)| key.starts_with("t/") && value[24..40] == *timed(11).as_bytes())
        .expect("it is there");
    broken.truncate(20);
    let left = left_to_take(&start, layout);
    assert_eq!(left, Ok(vec![timed(10), timed(12)]));
}
