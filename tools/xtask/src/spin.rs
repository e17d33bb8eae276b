//! Which Spin is on the PATH, if any.

use std::fmt;

use crate::process;
use crate::workspace::Workspace;

/// The first Spin that has the interfaces that the component imports.
pub(crate) const NEEDED: Version = Version { major: 4, minor: 1 };

/// As much of a Spin's version as decides here.
///
/// A pre-release counts as its release: `4.1.0-pre0` already has what the component needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u64,
    minor: u64,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The version of the Spin on the PATH, or nothing when there is none or it does not say.
pub(crate) fn on_path(workspace: &Workspace) -> Option<Version> {
    let mut command = workspace.command("spin");
    command.arg("--version");
    parse(&process::answer(command)?)
}

/// Reads what `spin --version` prints, for instance `spin 4.1.0-pre0 (1f2a8c5 2026-05-01)`.
fn parse(line: &str) -> Option<Version> {
    let mut words = line.split_whitespace();
    if words.next()? != "spin" {
        return None;
    }
    let mut numbers = words.next()?.split(['.', '-', '+']);
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some(Version { major, minor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_spin_prints_them() {
        for (line, major, minor) in [
            ("spin 4.1.0 (1f2a8c5 2026-05-01)\n", 4, 1),
            ("spin 4.1.0-pre0 (1f2a8c5 2026-05-01)", 4, 1),
            ("spin 3.5.1", 3, 5),
            ("spin 10.0.0+local", 10, 0),
        ] {
            assert_eq!(parse(line), Some(Version { major, minor }), "{line}");
        }
    }

    #[test]
    fn another_program_of_that_name_is_no_spin() {
        // The model checker Spin is packaged under the same name.
        for line in [
            "",
            "spin",
            "Spin Version 6.5.2 -- 6 December 2019",
            "spin four.one",
            "spin 4",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_pre_release_of_the_needed_version_is_enough() {
        let enough = |line| parse(line).is_some_and(|version| version >= NEEDED);
        assert!(enough("spin 4.1.0-pre0"));
        assert!(enough("spin 4.10.0"));
        assert!(enough("spin 5.0.0"));
        assert!(!enough("spin 4.0.9"));
        assert!(!enough("spin 3.9.0"));
    }
}
