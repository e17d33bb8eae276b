//! What is promised, and whether it was kept: the table at the end of the demo.

use std::fmt::Display;

use anyhow::{Result, bail};

use crate::screen::{Ink, Screen};

/// A number or an answer that was promised, beside the one that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Promise {
    what: &'static str,
    promised: String,
    seen: String,
}

impl Promise {
    fn is_kept(&self) -> bool {
        self.promised == self.seen
    }
}

/// All promises so far.
#[derive(Debug, Default)]
pub(crate) struct Promises(Vec<Promise>);

impl Promises {
    /// Enters one, and says whether it was kept.
    pub(crate) fn enter<T: Display>(&mut self, what: &'static str, promised: &T, seen: &T) -> bool {
        let promise = Promise {
            what,
            promised: promised.to_string(),
            seen: seen.to_string(),
        };
        let is_kept = promise.is_kept();
        self.0.push(promise);
        is_kept
    }

    /// The table, a line for each.
    pub(crate) fn table(&self, screen: &Screen) -> Vec<String> {
        let width = |text: fn(&Promise) -> &str, head: &str| {
            let widths = self.0.iter().map(|promise| text(promise).chars().count());
            widths.chain([head.len()]).max().unwrap_or_default()
        };
        let heads = ["What was promised", "expected", "seen"];
        let what = width(|promise| promise.what, heads[0]);
        let promised = width(|promise| &promise.promised, heads[1]);
        let seen = width(|promise| &promise.seen, heads[2]);
        let row = |cells: [&str; 3], end: &str| {
            let [a, b, c] = cells;
            format!("{a:<what$}  {b:>promised$}  {c:>seen$}{end}")
        };
        let mut lines = vec![screen.painted(Ink::Bold, &row(heads, ""))];
        for promise in &self.0 {
            let verdict = if promise.is_kept() {
                screen.painted(Ink::Good, "kept")
            } else {
                screen.painted(Ink::Bad, "BROKEN")
            };
            let cells = [promise.what, &promise.promised, &promise.seen];
            lines.push(row(cells, &format!("  {verdict}")));
        }
        lines
    }

    /// Fails with the names of those that were broken.
    pub(crate) fn settle(&self) -> Result<()> {
        let broken = self.0.iter().filter(|promise| !promise.is_kept());
        let broken: Vec<String> = broken
            .map(|promise| {
                format!(
                    "\n  {}: {} instead of {}",
                    promise.what, promise.seen, promise.promised
                )
            })
            .collect();
        if !broken.is_empty() {
            bail!("not every promise was kept:{}", broken.concat());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::tests::Written;

    #[test]
    fn the_table_tells_which_were_broken_and_so_does_the_verdict() {
        let mut promises = Promises::default();
        assert!(promises.enter("A lost answer: charges made", &1, &1));
        assert!(promises.settle().is_ok());
        assert!(!promises.enter("A crash: charges made", &1, &12_345_678));
        assert!(promises.enter("Other content", &"422 refused", &"422 refused"));
        let screen = Written::default().screen(false, false);
        let expected = "\
What was promised               expected         seen
A lost answer: charges made            1            1  kept
A crash: charges made                  1     12345678  BROKEN
Other content                422 refused  422 refused  kept";
        assert_eq!(promises.table(&screen).join("\n"), expected);
        let error = promises.settle().expect_err("one was broken");
        assert_eq!(
            error.to_string(),
            "not every promise was kept:\n  A crash: charges made: 12345678 instead of 1"
        );
    }
}
