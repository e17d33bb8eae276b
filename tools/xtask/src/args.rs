//! The command line of `cargo xtask`, parsed once into a [`Task`]. Nothing here acts.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, bail};
use lexopt::{Arg, Parser, ValueExt as _};

use crate::checks::Checks;
use crate::{bench, demo, help, serve, tick, watch};

/// Where `up` serves unless told otherwise.
pub(crate) const DEFAULT_LISTEN: &str = "127.0.0.1:3000";

/// How often ticks come unless told otherwise: a retry or a delivery is then late by a second at most.
pub(crate) const DEFAULT_TICK: Duration = Duration::from_secs(1);

/// One command with its options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Print what is known of everything, or of one command.
    Help(String),
    /// Build and serve.
    Up(serve::Options),
    /// Call a served application's tick, again and again.
    Tick(tick::Options),
    /// Build, and play the story.
    Demo(demo::Options),
    /// Show a served application's counters, again and again.
    Watch(watch::Options),
    /// Build only.
    Wasm,
    /// Compare the component's imports with the checked-in list, or replace the list.
    Imports {
        /// Write the list instead of comparing with it.
        bless: bool,
    },
    /// Hold the dependencies against their policies.
    Deny,
    /// Measure.
    Bench(bench::Options),
    /// Install the Python programs of the end-to-end tests.
    Python,
    /// Install the accessibility checker of the end-to-end tests.
    Axe,
    /// Say whether this can be released.
    ReleaseCheck,
    /// Run checks.
    Test(Checks),
}

/// Parses the arguments that follow the program's name.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Task> {
    let args: Vec<OsString> = args.into_iter().collect();
    let (known, passed_on) = split_at_double_dash(args);
    let known_after_name: Vec<OsString> = known.iter().skip(1).cloned().collect();
    let is_help = known_after_name
        .iter()
        .any(|word| word == "--help" || word == "-h");
    let mut parser = Parser::from_args(known);
    let name = match parser.next()? {
        None | Some(Arg::Long("help") | Arg::Short('h')) => {
            return Ok(Task::Help(help::USAGE.to_owned()));
        }
        Some(Arg::Value(name)) => name.string()?,
        Some(option @ (Arg::Long(_) | Arg::Short(_))) => return Err(option.unexpected().into()),
    };
    if is_help {
        return help::of(&name).map(Task::Help);
    }
    if name != "up" && !passed_on.is_empty() {
        bail!("only `up` passes arguments on after `--`");
    }
    match name.as_str() {
        "help" => match parser.next()? {
            None => Ok(Task::Help(help::USAGE.to_owned())),
            Some(Arg::Value(name)) => help::of(&name.string()?).map(Task::Help),
            Some(option @ (Arg::Long(_) | Arg::Short(_))) => Err(option.unexpected().into()),
        },
        "up" => serve::Options::parse(&mut parser, passed_on).map(Task::Up),
        "tick" => tick::Options::parse(&mut parser).map(Task::Tick),
        "demo" => demo::Options::parse(&mut parser).map(Task::Demo),
        "watch" => watch::Options::parse(&mut parser).map(Task::Watch),
        "wasm" => flag(&mut parser, None).map(|_| Task::Wasm),
        "imports" => flag(&mut parser, Some("bless")).map(|bless| Task::Imports { bless }),
        "deny" => flag(&mut parser, None).map(|_| Task::Deny),
        "bench" => Ok(Task::Bench(bench::Options::of(known_after_name))),
        "python" => flag(&mut parser, None).map(|_| Task::Python),
        "axe" => flag(&mut parser, None).map(|_| Task::Axe),
        "release-check" => flag(&mut parser, None).map(|_| Task::ReleaseCheck),
        "test" => Checks::parse(&mut parser).map(Task::Test),
        other => bail!("no command `{other}`; `cargo xtask help` lists them"),
    }
}

/// The arguments before the first `--`, and those after it.
///
/// The parser itself would take what follows `--` for values of ours, and an option there, meant for the server,
/// must not be looked at.
fn split_at_double_dash(mut args: Vec<OsString>) -> (Vec<OsString>, Vec<OsString>) {
    let Some(at) = args.iter().position(|arg| arg == "--") else {
        return (args, Vec::new());
    };
    let passed_on = args.split_off(at + 1);
    args.truncate(at);
    (args, passed_on)
}

/// Reads an option's value as a time that is not zero, written as in `reprise.toml`.
pub(crate) fn duration(parser: &mut Parser) -> Result<Duration> {
    let text = parser.value()?.string()?;
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => bail!("{text:?} is not a whole number with a unit: ms, s, m or h"),
    };
    let ms = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit_ms));
    match ms {
        Some(ms) if ms > 0 => Ok(Duration::from_millis(ms)),
        Some(_) => bail!("the time must not be zero"),
        None => bail!("{text:?} is not a time"),
    }
}

/// Reads the rest of a command that knows at most one option, and tells whether that was given.
fn flag(parser: &mut Parser, known: Option<&str>) -> Result<bool> {
    let mut given = false;
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long(name) if Some(name) == known => given = true,
            other @ (Arg::Long(_) | Arg::Short(_) | Arg::Value(_)) => {
                return Err(other.unexpected().into());
            }
        }
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Store;
    use std::path::PathBuf;

    fn parsed(line: &str) -> Result<Task, String> {
        parse(line.split_whitespace().map(OsString::from)).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn each_command_with_and_without_its_options() {
        for line in ["", "--help", "help"] {
            assert_eq!(
                parsed(line),
                Ok(Task::Help(help::USAGE.to_owned())),
                "{line}"
            );
        }
        assert_eq!(parsed("wasm"), Ok(Task::Wasm));
        assert_eq!(parsed("imports"), Ok(Task::Imports { bless: false }));
        assert_eq!(parsed("imports --bless"), Ok(Task::Imports { bless: true }));
        assert_eq!(parsed("deny"), Ok(Task::Deny));
        assert_eq!(parsed("python"), Ok(Task::Python));
        assert_eq!(parsed("axe"), Ok(Task::Axe));
        assert_eq!(parsed("release-check"), Ok(Task::ReleaseCheck));
        assert_eq!(parsed("test"), Ok(Task::Test(Checks::All)));
        assert_eq!(parsed("test --quick"), Ok(Task::Test(Checks::Quick)));
        for (name, store) in [
            ("sqlite", Store::Sqlite),
            ("redis", Store::Redis),
            ("redis-two", Store::RedisTwo),
        ] {
            let task = Task::Test(Checks::EndToEnd(store));
            assert_eq!(parsed(&format!("test --store {name}")), Ok(task));
        }
        assert_eq!(parsed("up"), Ok(Task::Up(serve::Options::default())));
        assert_eq!(parsed("tick"), Ok(Task::Tick(tick::Options::default())));
    }

    #[test]
    fn every_command_tells_its_own_paragraph() {
        let told = |line: &str| match parsed(line) {
            Ok(Task::Help(text)) => text,
            other => panic!("{line}: {other:?}"),
        };
        let names = help::USAGE.split(help::PARAGRAPH).skip(1);
        let names: Vec<_> = names
            .filter_map(|text| text.split_whitespace().next())
            .collect();
        assert!(names.len() > 12, "{names:?}");
        for name in names {
            let text = told(&format!("{name} --help"));
            assert!(text.contains(&format!("cargo xtask {name}")), "{text}");
            assert_eq!(
                text.matches("  cargo xtask ").count(),
                usize::from(name == "bench")
            );
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
            for line in [format!("help {name}"), format!("{name} -h")] {
                assert_eq!(told(&line), text, "{line}");
            }
        }
        assert_eq!(told("up --listen x --help -- --stats"), told("up --help"));
        assert!(told("bench --quick --help").contains("--repetitions N"));
    }

    #[test]
    fn up_takes_its_own_options_and_leaves_the_rest_alone() {
        let expected = serve::Options {
            own_host: true,
            listen: "127.0.0.1:4000".parse().unwrap(),
            state_dir: Some(PathBuf::from("state")),
            tick: Some(Duration::from_secs(5)),
            passed_on: ["--listen", "-x", "--", "--host"]
                .map(OsString::from)
                .to_vec(),
        };
        assert_eq!(
            parsed(
                "up --listen=127.0.0.1:4000 --host --state-dir state --tick 5s -- --listen -x -- --host"
            ),
            Ok(Task::Up(expected))
        );
    }

    #[test]
    fn the_benchmark_reads_its_own_options() {
        assert_eq!(parsed("bench"), Ok(Task::Bench(bench::Options::default())));
        let expected = bench::Options {
            quick: true,
            passed_on: ["--seconds", "3", "--quick"].map(OsString::from).to_vec(),
        };
        assert_eq!(
            parsed("bench --seconds 3 --quick"),
            Ok(Task::Bench(expected))
        );
    }

    #[test]
    fn ticks_are_on_and_can_be_timed_and_turned_off() {
        let pace = |line| match parsed(line) {
            Ok(Task::Up(options)) => Ok(options.tick.map(|pace| pace.as_millis())),
            other => Err(format!("{other:?}")),
        };
        for (line, pace_ms) in [
            ("up", Some(1_000)),
            ("up --tick 200ms", Some(200)),
            ("up --tick=2m", Some(120_000)),
            ("up --tick 1h", Some(3_600_000)),
            ("up --no-tick", None),
        ] {
            assert_eq!(pace(line), Ok(pace_ms), "{line}");
        }
        let expected = tick::Options {
            listen: "127.0.0.1:4000".to_owned(),
            every: Duration::from_millis(50),
            beside: Some(17),
        };
        assert_eq!(
            parsed("tick --listen 127.0.0.1:4000 --every 50ms --beside 17"),
            Ok(Task::Tick(expected))
        );
    }

    #[test]
    fn the_demo_and_the_watch_take_their_options() {
        let demo = |step, keep| Ok(Task::Demo(demo::Options { keep, step }));
        assert_eq!(parsed("demo"), demo(false, false));
        assert_eq!(parsed("demo --step"), demo(true, false));
        assert_eq!(parsed("demo --keep --step"), demo(true, true));
        let watch = |listen: &str, every| {
            let listen = listen.to_owned();
            let every = Duration::from_millis(every);
            Ok(Task::Watch(watch::Options { listen, every }))
        };
        assert_eq!(parsed("watch"), watch("127.0.0.1:3000", 1_000));
        let line = "watch --every 250ms --listen=[::1]:80";
        assert_eq!(parsed(line), watch("[::1]:80", 250));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_name() {
        for (line, named) in [
            ("serve", "`serve`"),
            ("--quick", "--quick"),
            ("wasm --bless", "--bless"),
            ("release-check --quick", "--quick"),
            ("imports --quick", "--quick"),
            ("test now", "now"),
            (
                "test --store x",
                "\"x\" is not one of sqlite, redis, redis-two",
            ),
            ("test --quick --store redis", "--store"),
            ("up --variable a=b", "--variable"),
            ("up --listen", "--listen"),
            (
                "up --listen localhost:3077",
                "--listen: \"localhost:3077\" is not ADDRESS:PORT, such as 127.0.0.1:3077",
            ),
            ("serve --help", "no command `serve`"),
            ("help serve", "no command `serve`"),
            ("help --quick", "--quick"),
            ("test -- --nocapture", "only `up`"),
            ("up --tick", "--tick"),
            (
                "up --tick 1",
                "--tick: \"1\" is not a whole number with a unit",
            ),
            ("up --tick s", "--tick: \"s\" is not a time"),
            ("up --tick 0s", "--tick: the time must not be zero"),
            ("up --tick 1.5s", "--tick: \"1.5s\""),
            ("up --tick 99999999999999999999s", "is not a time"),
            ("up --tick 9999999999999999h", "is not a time"),
            ("tick --every -1s", "--every"),
            ("tick --beside x", "--beside"),
            ("tick --tick 1s", "--tick"),
            ("demo --host", "--host"),
            ("demo now", "now"),
            ("watch --every 0s", "--every: the time must not be zero"),
            ("watch --beside 1", "--beside"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(named), "{line}: {error}");
        }
    }
}
