//! Many first requests with one key, at the same time.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::Act;
use crate::demo::gate::Mode;
use crate::demo::post::{Post, is_replayed};
use crate::demo::stage::Stage;
use crate::http::{Answer, Failure};
use crate::workspace::Workspace;

pub(super) const ACT: Act = Act {
    title: "Twenty at once",
    story: "A button is pressed twenty times: twenty first requests with one key, at the same moment.",
    play,
};

/// How many there are.
const CLIENTS: usize = 20;

/// How long the payment API takes, so that there is a time in which the charge is in progress.
const SLOWNESS: Duration = Duration::from_millis(500);

const REFERENCE: &str = "order-2";

fn play(stage: &mut Stage, _: &Workspace) -> Result<()> {
    let charge = Post::charge("pay-2", 2_999, REFERENCE);
    stage.payments.set(Mode::Slow(SLOWNESS));
    stage.tell_request(&charge)?;
    stage.tell_event("and nineteen times the same; the payment API takes half a second")?;
    let first = at_once(&charge, stage.address())?;
    stage.payments.set(Mode::Open);
    let told = Told::of(&first);
    if let Some(made) = first.iter().find(|answer| is_made(answer)) {
        stage.tell_answer(made)?;
    }
    stage.tell_event(&format!(
        "{} made the charge, {} got its answer, {} were told that it is in progress: 409",
        told.made, told.replayed, told.in_progress
    ))?;
    let last = at_once(&charge, stage.address())?;
    stage.tell_event("each asks once more")?;
    let counted = stage.counted(REFERENCE)?;

    let body = last.first().map(|answer| &answer.body);
    let same = last
        .iter()
        .filter(|answer| is_replayed(answer) && Some(&answer.body) == body);
    let (same, promises) = (same.count(), &mut stage.promises);
    let is_kept = [
        promises.enter(
            "Twenty at once: told that they made the charge",
            &1,
            &told.made,
        ),
        promises.enter("Twenty at once: told anything unexpected", &0, &told.others),
        promises.enter(
            "Twenty at once: told the one answer in the end",
            &CLIENTS,
            &same,
        ),
        promises.enter(
            "Twenty at once: calls of the payment API",
            &1,
            &counted.calls,
        ),
        promises.enter("Twenty at once: charges", &1, &counted.charges),
    ];
    stage.tell_outcome(
        is_kept == [true; 5],
        "One request made the charge, nobody waited in line, and all twenty have the same answer.",
    )
}

/// Sends the request from each client when all are connected and ready.
fn at_once(charge: &Post, address: &str) -> Result<Vec<Answer>, Failure> {
    let ready = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        let client = || {
            ready.wait();
            charge.ask(address)
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        let answers = clients.into_iter().map(|client| {
            let lost = |_| Err(Failure::Other("a client is lost".to_owned()));
            client.join().unwrap_or_else(lost)
        });
        answers.collect()
    })
}

fn is_made(answer: &Answer) -> bool {
    answer.status == 201 && !is_replayed(answer)
}

/// What the first requests were told.
#[derive(Debug, Default)]
struct Told {
    made: usize,
    replayed: usize,
    in_progress: usize,
    others: usize,
}

impl Told {
    fn of(answers: &[Answer]) -> Self {
        let mut told = Self::default();
        for answer in answers {
            let count = match answer.status {
                201 if is_replayed(answer) => &mut told.replayed,
                201 => &mut told.made,
                409 if answer.header("retry-after").is_some() => &mut told.in_progress,
                _ => &mut told.others,
            };
            *count += 1;
        }
        told
    }
}
