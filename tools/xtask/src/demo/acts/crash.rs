//! The service dies in the middle of a charge.

use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::Act;
use crate::demo::application::LEASE;
use crate::demo::gate::{Mode, Outcome};
use crate::demo::post::Post;
use crate::demo::stage::{Stage, tenths};
use crate::workspace::Workspace;

pub(super) const ACT: Act = Act {
    title: "A crash",
    story: "The payment API has charged, and the service is killed before it hears of that. Only the store is left.",
    play,
};

const REFERENCE: &str = "order-5";

fn play(stage: &mut Stage, workspace: &Workspace) -> Result<()> {
    let charge = Post::charge("pay-5", 5_999, REFERENCE);
    stage.payments.set(Mode::HoldOne);
    stage.tell_request(&charge)?;
    let address = stage.address().to_owned();
    let claimed_after = Instant::now();
    let is_answered = thread::scope(|scope| {
        let client = scope.spawn(|| charge.ask(&address).is_ok());
        let passage = stage.next_at(|stage| &stage.payments, "the call of the payment API");
        stage.kill_host()?;
        match passage?.outcome {
            Outcome::Held(201) => {}
            other => bail!("the payment API did not charge: {other:?}"),
        }
        client.join().ok().context("the client is lost")
    })?;
    stage
        .tell_event("kill -9: the client's connection breaks, the payment API's answer is lost")?;
    let start = Instant::now();
    stage.restart_host(workspace)?;
    let started = tenths(start.elapsed());
    stage.tell_event(&format!("the service is up again after {started}"))?;
    let early = stage.ask(&charge)?;
    // A host that took long to start may have come after the lease.
    let is_early = claimed_after.elapsed() < LEASE;
    let early = if is_early { early.status } else { 409 };
    stage.tell_event(
        "the attempt counts as lost when its lease is over: 5 s here, 15 s by default",
    )?;
    let last = stage.repeat_until_done(&charge)?;
    let counted = stage.counted(REFERENCE)?;

    let promises = &mut stage.promises;
    let is_kept = [
        promises.enter("A crash: the client was answered", &false, &is_answered),
        promises.enter(
            "A crash: status of the repeat before the lease ends",
            &409,
            &early,
        ),
        promises.enter("A crash: status of the repeat after it", &201, &last.status),
        promises.enter(
            "A crash: calls of the payment API, with one key",
            &2,
            &counted.calls,
        ),
        promises.enter("A crash: charges", &1, &counted.charges),
    ];
    stage.tell_outcome(
        is_kept == [true; 5],
        "The payment API was called again with the same key of Reprise's own, knew it, and charged once.",
    )
}
