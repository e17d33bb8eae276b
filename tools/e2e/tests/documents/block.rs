//! Documents and their fenced blocks.

use std::fs;
use std::path::{Path, PathBuf};

/// One fenced block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The line of its fence, counted from 1.
    pub(crate) line: usize,
    /// What stands behind the fence.
    pub(crate) kind: String,
    /// What is in it.
    pub(crate) text: String,
}

/// The repository's top level.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All documents, as paths from the top level.
pub(crate) fn documents() -> Vec<String> {
    let root = root();
    let mut found: Vec<PathBuf> = entries(&root);
    found.retain(|path| path.is_file());
    found.extend(files_below(&root.join("docs")));
    found.extend(files_below(&root.join("deploy")));
    found.retain(|path| path.extension().is_some_and(|end| end == "md"));
    let name = |path: &PathBuf| {
        let path = path.strip_prefix(&root).expect("it is below the top level");
        path.display().to_string()
    };
    found.iter().map(name).collect()
}

/// All files in a folder and below it.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (folders, mut files): (Vec<_>, Vec<_>) =
        entries(folder).into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

/// The fenced blocks of a document.
///
/// # Panics
/// When a fence is never closed.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((opening, line)) = lines.next() {
        let Some(kind) = opening.trim_start().strip_prefix("```") else {
            continue;
        };
        let indent = opening.len() - opening.trim_start().len();
        let mut text = String::new();
        loop {
            let (inner, _) = lines
                .next()
                .unwrap_or_else(|| panic!("the fence in line {line} is never closed"));
            if inner.trim() == "```" {
                break;
            }
            text.push_str(inner.get(indent..).unwrap_or_default());
            text.push('\n');
        }
        let kind = kind.trim().to_owned();
        blocks.push(Block { line, kind, text });
    }
    blocks
}

/// The commands that a file names in its comments: set in by three spaces, as `#   kubectl apply …`.
pub(crate) fn commented_commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut is_continued = false;
    for line in text.lines() {
        let Some(words) = line.strip_prefix("#   ") else {
            is_continued = false;
            continue;
        };
        let words = words.trim();
        // A table of settings is set in as well: its first word is a name in capitals.
        let name = words.split_whitespace().next().unwrap_or_default();
        if !is_continued && name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
            continue;
        }
        if line.starts_with("#    ") && !is_continued {
            continue;
        }
        match commands.last_mut() {
            Some(last) if is_continued => {
                last.truncate(last.len() - 1);
                last.push_str(words);
            }
            Some(_) | None => commands.push(words.to_owned()),
        }
        is_continued = words.ends_with('\\');
    }
    commands
}

/// Where the links of a document lead, as far as that is in the repository, without fragments.
pub(crate) fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains(':') && !target.contains(' '))
        .collect()
}

/// A place in the sources, as a document names it: a path, and perhaps what is in the file, as `tests/a.rs` `a_test`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) name: Option<&'a str>,
}

/// The places in the sources that a text names.
pub(crate) fn sources(text: &str) -> Vec<Source<'_>> {
    const FOLDERS: [&str; 5] = ["src/", "tests/", "tools/", "deploy/", "wit/"];
    // Between two marks there is code, and then text, and then code.
    let spans: Vec<&str> = text.split('`').collect();
    let is_path = |span: &str| {
        FOLDERS.iter().any(|folder| span.starts_with(folder))
            && !span.contains([' ', '*', '{', '…', '\n'])
    };
    let mut found = Vec::new();
    for (at, path) in spans.iter().enumerate().skip(1).step_by(2) {
        if is_path(path) {
            let name = match spans[at + 1..] {
                [" ", name, ..] if !is_path(name) => Some(name),
                _ => None,
            };
            found.push(Source { path, name });
        }
    }
    found
}

#[test]
fn blocks_are_read_with_their_lines_and_without_their_indent() {
    let text = "a\n```console\n$ x\n```\n- b\n  ```sh\n  y\n    z\n  ```\n";
    let block = |line, kind: &str, text: &str| Block {
        line,
        kind: kind.to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(
        blocks(text),
        [block(2, "console", "$ x\n"), block(6, "sh", "y\n  z\n")]
    );
}

#[test]
fn commands_in_comments_are_those_that_are_set_in() {
    let text = "# Text.\n#\n#   kubectl a \\\n#     b\n#   kubectl c\n#   NAME   a setting\n#          that goes on\nx: 1 #   no\n";
    assert_eq!(commented_commands(text), ["kubectl a b", "kubectl c"]);
}

#[test]
fn links_are_those_within_the_repository() {
    let text = "[a](docs/a.md) ![b](b.png) [c](https://example.com) [d](e.md#part) [f](#here)";
    assert_eq!(links(text), ["docs/a.md", "b.png", "e.md"]);
}

#[test]
fn sources_are_paths_and_what_is_named_behind_them() {
    let line = "| a | `tests/a.rs` `b_c`, `tests/d.rs`; `x` and `src/e` |";
    let source = |path, name| Source { path, name };
    assert_eq!(
        sources(line),
        [
            source("tests/a.rs", Some("b_c")),
            source("tests/d.rs", None),
            source("src/e", None)
        ]
    );
}
