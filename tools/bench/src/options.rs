//! The command line of the benchmark.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use lexopt::{Arg, Parser, ValueExt as _};

use crate::rows::Row;
use crate::store::Journal;
use crate::subject::Subject;

/// What `--help` prints, and `cargo xtask bench --help` without a benchmark.
pub(crate) const USAGE: &str = include_str!("usage.txt");

/// A measurement that is not a row of the table of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extra {
    /// How a replay's time grows with the records.
    Growth,
    /// Whether an instance's memory does with its requests.
    Memory,
    /// How long the first answer takes.
    Start,
}

impl Extra {
    pub(crate) const ALL: [Self; 3] = [Self::Growth, Self::Memory, Self::Start];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Growth => "growth",
            Self::Memory => "memory",
            Self::Start => "start",
        }
    }
}

/// What is to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) is_quick: bool,
    pub(crate) cell: Duration,
    pub(crate) repetitions: usize,
    pub(crate) rows: Vec<Row>,
    pub(crate) extras: Vec<Extra>,
    pub(crate) connections: Vec<usize>,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) live: u64,
    pub(crate) journal: Journal,
    pub(crate) spin: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    fn full() -> Self {
        Self {
            is_quick: false,
            cell: Duration::from_secs(2),
            repetitions: 5,
            rows: Row::ALL.to_vec(),
            extras: Extra::ALL.to_vec(),
            connections: vec![1, 16, 64],
            subjects: Subject::ALL.to_vec(),
            live: 20_000,
            journal: Journal::Wal,
            spin: None,
            json: None,
        }
    }

    fn quick() -> Self {
        Self {
            is_quick: true,
            cell: Duration::from_secs(1),
            repetitions: 1,
            rows: Row::MAIN.to_vec(),
            extras: Vec::new(),
            connections: vec![4],
            subjects: vec![Subject::Reprise, Subject::Bare, Subject::Twin],
            live: 2_000,
            ..Self::full()
        }
    }
}

/// Parses the arguments that follow the program's name; nothing when help is asked for.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Options>> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut options = if arguments.iter().any(|argument| argument == "--quick") {
        Options::quick()
    } else {
        Options::full()
    };
    let mut parser = Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("help") | Arg::Short('h') => return Ok(None),
            Arg::Long("quick") => {}
            Arg::Long("seconds") => {
                let seconds = number(&mut parser).context("--seconds")?;
                options.cell = Duration::from_secs(seconds);
            }
            Arg::Long("repetitions") => {
                let times = number(&mut parser).context("--repetitions")?;
                options.repetitions = usize::try_from(times)?;
            }
            Arg::Long("rows") => {
                (options.rows, options.extras) = rows(&list(&mut parser)?).context("--rows")?;
            }
            Arg::Long("connections") => {
                options.connections = numbers(&list(&mut parser)?).context("--connections")?;
            }
            Arg::Long("subjects") => {
                let letters = list(&mut parser)?;
                let subjects = letters.iter().map(|letter| {
                    let named = |subject: &Subject| subject.letter() == letter;
                    let found = Subject::ALL.into_iter().find(named);
                    found.with_context(|| format!("no subject {letter:?}"))
                });
                options.subjects = subjects.collect::<Result<_>>().context("--subjects")?;
            }
            Arg::Long("live") => options.live = number(&mut parser).context("--live")?,
            Arg::Long("journal") => {
                options.journal = match parser.value()?.string()?.as_str() {
                    "wal" => Journal::Wal,
                    "delete" => Journal::Delete,
                    other => bail!("--journal: {other:?} is neither wal nor delete"),
                };
            }
            Arg::Long("spin") => options.spin = Some(std::path::absolute(parser.value()?)?),
            Arg::Long("json") => options.json = Some(std::path::absolute(parser.value()?)?),
            other @ (Arg::Long(_) | Arg::Short(_) | Arg::Value(_)) => {
                return Err(other.unexpected().into());
            }
        }
    }
    Ok(Some(options))
}

/// A whole number that is not zero.
fn number(parser: &mut Parser) -> Result<u64> {
    let number = parser.value()?.parse()?;
    ensure!(number > 0, "must not be zero");
    Ok(number)
}

fn numbers(texts: &[String]) -> Result<Vec<usize>> {
    let numbers = texts.iter().map(|text| Ok(text.parse()?));
    let numbers: Vec<usize> = numbers.collect::<Result<_>>()?;
    ensure!(numbers.iter().all(|number| *number > 0), "must not be zero");
    Ok(numbers)
}

fn list(parser: &mut Parser) -> Result<Vec<String>> {
    let text = parser.value()?.string()?;
    Ok(text.split(',').map(str::to_owned).collect())
}

fn rows(names: &[String]) -> Result<(Vec<Row>, Vec<Extra>)> {
    let (mut rows, mut extras) = (Vec::new(), Vec::new());
    for name in names {
        let row = Row::ALL.into_iter().find(|row| row.name() == name);
        let extra = Extra::ALL.into_iter().find(|extra| extra.name() == name);
        match (row, extra) {
            (Some(row), _) => rows.push(row),
            (None, Some(extra)) => extras.push(extra),
            (None, None) => bail!("no row {name:?}"),
        }
    }
    Ok((rows, extras))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Options>, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn options_change_the_full_run_or_the_quick_one() {
        assert_eq!(parsed("--help"), Ok(None));
        assert_eq!(parsed(""), Ok(Some(Options::full())));
        assert_eq!(parsed("--quick"), Ok(Some(Options::quick())));
        let expected = Options {
            cell: Duration::from_secs(7),
            repetitions: 3,
            rows: vec![Row::Replay, Row::OrderOnEmpty],
            extras: vec![Extra::Start],
            connections: vec![2, 8],
            subjects: vec![Subject::Restate, Subject::Reprise],
            live: 10,
            journal: Journal::Delete,
            spin: Some("/bin/spin".into()),
            json: Some("/tmp/numbers.json".into()),
            ..Options::quick()
        };
        let line = "--seconds 7 --repetitions 3 --rows replay,empty,start --connections=2,8 --subjects d,a --live 10 \
                    --journal delete --spin /bin/spin --json /tmp/numbers.json --quick";
        assert_eq!(parsed(line), Ok(Some(expected)));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_name() {
        for (line, named) in [
            ("--seconds 0", "--seconds: must not be zero"),
            ("--rows replay,none", "--rows: no row \"none\""),
            ("--subjects e", "--subjects: no subject \"e\""),
            ("--connections 0", "--connections: must not be zero"),
            ("--journal truncate", "--journal: \"truncate\""),
            ("now", "now"),
            ("--fast", "--fast"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
