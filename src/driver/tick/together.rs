//! Several tasks side by side within one: while one waits for the world outside, the others go on.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;

/// A task, or what came of it.
enum Side<F: Future> {
    Running(Pin<Box<F>>),
    Ended(F::Output),
}

/// Runs all of `tasks` to their ends and answers with what came of them, in their order.
///
/// Whenever one of them may go on all are looked at, so they should be few.
pub(super) async fn together<F: Future>(tasks: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut sides: Vec<Side<F>> = tasks.map(|task| Side::Running(Box::pin(task))).collect();
    poll_fn(|cx| {
        let mut is_over = true;
        for side in &mut sides {
            if let Side::Running(task) = side {
                match task.as_mut().poll(cx) {
                    Poll::Ready(output) => *side = Side::Ended(output),
                    Poll::Pending => is_over = false,
                }
            }
        }
        if is_over {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    let ended = |side| match side {
        Side::Ended(output) => Some(output),
        Side::Running(_) => None,
    };
    sides.into_iter().filter_map(ended).collect()
}
