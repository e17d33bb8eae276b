//! An answer that nobody reads, and the repeat.

use anyhow::{Context as _, Result};

use super::Act;
use crate::demo::post::{Post, is_replayed};
use crate::demo::stage::Stage;
use crate::workspace::Workspace;

pub(super) const ACT: Act = Act {
    title: "The answer gets lost",
    story: "A client pays 19.99, and its connection breaks before it reads the answer. Was it charged? It asks again.",
    play,
};

const REFERENCE: &str = "order-1";

fn play(stage: &mut Stage, _: &Workspace) -> Result<()> {
    let charge = Post::charge("pay-1", 1_999, REFERENCE);
    stage.tell_request(&charge)?;
    let connection = charge.send(stage.address())?;
    // The answer is there once its first byte is; it stays unread.
    let peeked = connection.peek(&mut [0]).context("no answer comes")?;
    drop(connection);
    stage.tell_event("the connection breaks with the answer in it")?;
    let repeat = stage.ask(&charge)?;
    let again = charge.ask(stage.address())?;
    let counted = stage.counted(REFERENCE)?;

    let promises = &mut stage.promises;
    let is_same = is_replayed(&repeat) && repeat.body == again.body && peeked > 0;
    let is_kept = [
        promises.enter("A lost answer: status of the repeat", &201, &repeat.status),
        promises.enter(
            "A lost answer: repeats get the first answer",
            &true,
            &is_same,
        ),
        promises.enter(
            "A lost answer: calls of the payment API",
            &1,
            &counted.calls,
        ),
        promises.enter("A lost answer: charges", &1, &counted.charges),
    ];
    stage.tell_outcome(
        is_kept == [true; 4],
        "The repeat got the answer that was lost; the payment API was called once and charged once.",
    )
}
