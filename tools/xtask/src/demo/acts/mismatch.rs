//! A key that comes back with other content.

use anyhow::Result;

use super::Act;
use crate::demo::post::Post;
use crate::demo::stage::Stage;
use crate::json;
use crate::workspace::Workspace;

pub(super) const ACT: Act = Act {
    title: "The same key, another amount",
    story: "A client's mistake: the key of the second act comes back with another amount. It must not be taken for a repeat.",
    play,
};

const REFERENCE: &str = "order-2";

fn play(stage: &mut Stage, _: &Workspace) -> Result<()> {
    let before = stage.counted(REFERENCE)?;
    let answer = stage.ask(&Post::charge("pay-2", 9_999, REFERENCE))?;
    let after = stage.counted(REFERENCE)?;

    let problem = json::text(&answer.body, "type").unwrap_or_default();
    let is_told = problem == "urn:reprise:problem:idempotency-key-reused";
    let more = after.calls.saturating_sub(before.calls);
    let promises = &mut stage.promises;
    let is_kept = [
        promises.enter("Another amount: status", &422, &answer.status),
        promises.enter(
            "Another amount: told that the key is taken",
            &true,
            &is_told,
        ),
        promises.enter("Another amount: calls of the payment API", &0, &more),
    ];
    stage.tell_outcome(
        is_kept == [true; 3],
        "It was refused, and the payment API never heard of it.",
    )
}
