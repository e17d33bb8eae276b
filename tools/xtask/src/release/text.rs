//! What the checks of a release read from files: versions, entries of a change log, constants.

/// The value of the first line that begins with `name` behind the line `section`, without quotes.
pub(super) fn value(text: &str, section: &str, name: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| *line != section);
    lines.next()?;
    let value = lines.find_map(|line| line.strip_prefix(name))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// The members of a workspace, by its manifest.
pub(super) fn members(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| *line != "members = [");
    let lines = lines.skip(1).take_while(|line| *line != "]");
    let member = |line: &str| line.trim().trim_matches(['"', ',']).to_owned();
    lines.map(member).collect()
}

/// The tags of our images, as `reprise:0.1.0`.
pub(super) fn image_tags(text: &str) -> Vec<&str> {
    let tags = text.split("reprise:").skip(1);
    let tags = tags.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next());
    tags.map(|tag| tag.trim_end_matches('.'))
        .filter(|tag| tag.contains('.'))
        .collect()
}

/// An entry of a change log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) version: &'a str,
    pub(super) date: &'a str,
    pub(super) text: &'a str,
}

/// The first entry with a version: one of what is not released yet may stand before it.
pub(super) fn newest_entry(log: &str) -> Option<Entry<'_>> {
    let entries = log.split("\n## [").skip(1);
    let entry = entries.filter_map(|entry| {
        let (version, rest) = entry.split_once(']')?;
        let (date, text) = rest.split_once('\n')?;
        let date = date.trim_start_matches(" - ").trim();
        Some(Entry {
            version,
            date,
            text,
        })
    });
    entry
        .filter(|entry| entry.version != "Unreleased")
        .take(1)
        .next()
}

/// Whether a text is a date as in 2026-11-30.
pub(super) fn is_date(text: &str) -> bool {
    let is_number =
        |part: &str, digits| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split('-').collect::<Vec<_>>()[..] {
        [year, month, day] => is_number(year, 4) && is_number(month, 2) && is_number(day, 2),
        _ => false,
    }
}

/// The value of a constant that is a number.
pub(super) fn constant(source: &str, name: &str) -> Option<u64> {
    let (_, rest) = source.split_once(&format!("const {name}: "))?;
    let (_, value) = rest.split_once("= ")?;
    value.split_once(';')?.0.parse().ok()
}

/// The first path that `git status --porcelain` names.
pub(super) fn first_path(changes: &str) -> &str {
    let line = changes.lines().next().unwrap_or_default();
    line.get(3..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_where_they_are() {
        let toml = "[a]\nversion = \"1\"\n[b]\nname = \"x\"\nversion = \"2\"\n";
        assert_eq!(value(toml, "[b]", "version = "), Some("2".to_owned()));
        assert_eq!(value(toml, "[c]", "version = "), None);
        assert_eq!(
            value("info:\n  version: 3\n", "info:", "  version: "),
            Some("3".to_owned())
        );
        assert_eq!(
            members("members = [\n    \"a\",\n    \"b/c\",\n]\nx = 1\n"),
            ["a", "b/c"]
        );
        assert_eq!(
            image_tags("reprise:0.1.0. urn:reprise:problem:x reprise:2.0 "),
            ["0.1.0", "2.0"]
        );
        assert_eq!(
            constant("pub const VERSION: u64 = 2;\n", "VERSION"),
            Some(2)
        );
        assert_eq!(
            constant("const VERSION_OLDEST: u64 = 1;\n", "VERSION"),
            None
        );
    }

    #[test]
    fn the_newest_entry_is_the_first_that_is_released() {
        let log = "# Changes\n\n## [Unreleased]\n\n- x\n\n## [0.2.0] - 2026-12-01\n\n- y\n\n## [0.1.0] - z\n";
        let entry = Entry {
            version: "0.2.0",
            date: "2026-12-01",
            text: "\n- y\n",
        };
        assert_eq!(newest_entry(log), Some(entry));
        assert_eq!(newest_entry("# Changes\n"), None);
        for (text, expected) in [
            ("2026-11-30", true),
            ("2026-11-3", false),
            ("", false),
            ("soon", false),
        ] {
            assert_eq!(is_date(text), expected, "{text}");
        }
    }

    #[test]
    fn a_change_is_told_by_its_path() {
        assert_eq!(first_path(" M a/b.rs\n?? c\n"), "a/b.rs");
        assert_eq!(first_path(""), "");
    }
}
