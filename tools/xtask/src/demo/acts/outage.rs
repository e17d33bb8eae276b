//! A payment API that is down for a while.

use std::time::Instant;

use anyhow::{Result, bail};

use super::Act;
use crate::demo::gate::{Mode, Outcome};
use crate::demo::post::{Post, is_replayed};
use crate::demo::stage::{Stage, tenths};
use crate::json;
use crate::workspace::Workspace;

pub(super) const ACT: Act = Act {
    title: "An outage",
    story: "The payment API is down. Nobody waits for it: the client is told to come back, and ticks retry meanwhile.",
    play,
};

/// How many attempts find the API down. The configuration allows four attempts.
const FAILURES: u64 = 3;

const REFERENCE: &str = "order-4";

fn play(stage: &mut Stage, _: &Workspace) -> Result<()> {
    let charge = Post::charge("pay-4", 4_999, REFERENCE);
    stage.payments.set(Mode::Down);
    let first = stage.ask(&charge)?;
    let record = first.header("location").unwrap_or_default().to_owned();
    let attempts = follow(stage)?;
    stage.tell_event("the client asks again")?;
    let last = stage.repeat_until_done(&charge)?;
    let counted = stage.counted(REFERENCE)?;
    let recorded = json::number(&stage.look_at(&record)?, "attempts").unwrap_or_default();

    let promises = &mut stage.promises;
    let is_kept = [
        promises.enter("An outage: status of the first answer", &202, &first.status),
        promises.enter(
            "An outage: attempts until it was over",
            &(FAILURES + 1),
            &attempts,
        ),
        promises.enter("An outage: attempts in the record", &attempts, &recorded),
        promises.enter("An outage: status of the repeat", &201, &last.status),
        promises.enter(
            "An outage: it is the finished charge",
            &true,
            &is_replayed(&last),
        ),
        promises.enter("An outage: charges", &1, &counted.charges),
    ];
    stage.tell_outcome(
        is_kept == [true; 6],
        "The charge was made by a tick when the API was back, once, and the repeat got its answer.",
    )
}

/// Tells of each attempt as it comes, ends the outage after the last that is to fail, and counts them.
fn follow(stage: &mut Stage) -> Result<u64> {
    let mut before: Option<Instant> = None;
    for attempt in 1.. {
        let passage = stage.next_at(|stage| &stage.payments, "the next attempt")?;
        let when = match before.replace(passage.at) {
            Some(before) => format!("{} later", tenths(passage.at.duration_since(before))),
            None => "at once".to_owned(),
        };
        match passage.outcome {
            Outcome::Refused => {
                stage.tell_event(&format!("attempt {attempt}, {when}: 503, it is down"))?;
            }
            Outcome::Passed(status) => {
                stage.tell_event(&format!("attempt {attempt}, {when}: {status}"))?;
                return Ok(attempt);
            }
            Outcome::Unanswered | Outcome::Lost(_) | Outcome::Held(_) => {
                bail!("an attempt got no answer");
            }
        }
        if attempt == FAILURES {
            stage.payments.open();
            stage.tell_event("the payment API is back")?;
        }
    }
    bail!("there are more attempts than numbers")
}
