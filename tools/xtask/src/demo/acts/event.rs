//! An event that is delivered twice, and counted once.

use anyhow::{Result, bail};

use super::Act;
use crate::demo::gate::{Mode, Outcome};
use crate::demo::post::Post;
use crate::demo::stage::Stage;
use crate::json;
use crate::workspace::Workspace;

pub(super) const ACT: Act = Act {
    title: "An event that comes twice",
    story: "An order is told to an inbox by an event. The inbox takes it, but its answer gets lost, so it is told again.",
    play,
};

fn play(stage: &mut Stage, _: &Workspace) -> Result<()> {
    stage.events.set(Mode::LoseOne);
    stage.ask(&Post::order("checkout-6", 42))?;
    let mut ids = Vec::new();
    loop {
        let passage = stage.next_at(|stage| &stage.events, "the event")?;
        let id = passage.name;
        let (text, is_told) = match passage.outcome {
            Outcome::Lost(status) => (format!("{status}, but that gets lost"), false),
            Outcome::Passed(status) => (format!("{status}"), true),
            Outcome::Unanswered | Outcome::Refused | Outcome::Held(_) => {
                bail!("the inbox did not answer");
            }
        };
        ids.push(id.clone());
        let number = ids.len();
        stage.tell_event(&format!("delivery {number} of event {id}: {text}"))?;
        if is_told {
            break;
        }
    }
    let projection = stage.look_at("/inbox/orders/projection")?;
    stage.tell_event(&format!("the inbox has counted {projection}"))?;

    let deliveries = ids.len();
    ids.dedup();
    let orders = json::number(&projection, "orders").unwrap_or_default();
    let promises = &mut stage.promises;
    let is_kept = [
        promises.enter("An event: deliveries", &2, &deliveries),
        promises.enter("An event: ids that were delivered", &1, &ids.len()),
        promises.enter("An event: orders that the inbox has counted", &1, &orders),
    ];
    stage.tell_outcome(
        is_kept == [true; 3],
        "It was delivered until the inbox's answer arrived, and the inbox knew it again by its id.",
    )
}
