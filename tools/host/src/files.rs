//! The files that a component may read.
//!
//! They are copied at start into a directory of their own, which the guest sees as `/`, read-only: what the guest
//! reads does not change under it, and nothing that the manifest does not name is within its reach.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::manifest::{Component, Files, Placement};

/// Copies a component's files below `target`. `application` is the manifest's directory; nothing outside of it is
/// copied.
///
/// Fails on a source that does not exist or lies outside, and on a pattern that is not one.
pub fn copy(component: &Component, application: &Path, target: &Path) -> Result<()> {
    let copier = Copier {
        // Patterns are expanded below it, so it must not hold links that the expansion would resolve.
        application: application.canonicalize()?,
        excluded: component
            .exclude_files
            .iter()
            .map(|pattern| {
                glob::Pattern::new(pattern).with_context(|| format!("exclude_files: {pattern:?}"))
            })
            .collect::<Result<_>>()?,
        target,
    };
    fs::create_dir_all(target)?;
    for entry in &component.files {
        match entry {
            Files::Pattern(pattern) => copier.pattern(pattern),
            Files::Placement(placement) => copier.placement(placement),
        }
        .with_context(|| format!("files: {entry:?}"))?;
    }
    Ok(())
}

struct Copier<'a> {
    application: PathBuf,
    excluded: Vec<glob::Pattern>,
    target: &'a Path,
}

impl Copier<'_> {
    /// A file or a glob pattern. A directory is refused: Spin would put its files below its path twice.
    fn pattern(&self, pattern: &str) -> Result<()> {
        let path = self.application.join(pattern);
        ensure!(
            !path.is_dir(),
            "{pattern:?} is a directory; use \"{pattern}/**/*\", or source and destination"
        );
        if path.is_file() {
            return self.file(&path, &self.target.join(pattern));
        }
        let is_glob = glob::Pattern::escape(pattern) != pattern;
        ensure!(is_glob, "{pattern:?} does not exist");
        self.all(&path, &self.application, self.target)
    }

    /// A file or directory under another name.
    fn placement(
        &self,
        Placement {
            source,
            destination,
        }: &Placement,
    ) -> Result<()> {
        let from = self.application.join(source);
        let to = self.target.join(destination.trim_start_matches('/'));
        ensure!(from.exists(), "{source:?} does not exist");
        if from.is_file() {
            ensure!(
                !destination.ends_with('/'),
                "{destination:?} is not the name of a file"
            );
            return self.file(&from, &to);
        }
        self.all(&from.join("**/*"), &from, &to)
    }

    /// All files that match, each to its path relative to `prefix` below `target`.
    fn all(&self, glob: &Path, prefix: &Path, target: &Path) -> Result<()> {
        let glob = glob.to_str().context("the path is not valid UTF-8")?;
        for found in glob::glob(glob)? {
            let found = found?;
            if found.is_file() && !self.is_excluded(&found) {
                self.file(&found, &target.join(found.strip_prefix(prefix)?))?;
            }
        }
        Ok(())
    }

    fn is_excluded(&self, path: &Path) -> bool {
        let relative = path.strip_prefix(&self.application).unwrap_or(path);
        self.excluded
            .iter()
            .any(|pattern| pattern.matches_path(relative))
    }

    fn file(&self, from: &Path, to: &Path) -> Result<()> {
        let inside = |path: &Path, root: &Path| {
            path.starts_with(root)
                && !path
                    .components()
                    .any(|part| part == std::path::Component::ParentDir)
        };
        ensure!(
            inside(from, &self.application),
            "{} is outside of the application",
            from.display()
        );
        ensure!(
            inside(to, self.target),
            "{} is outside of the guest's root",
            to.display()
        );
        if let Some(directory) = to.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::copy(from, to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An application directory with some files, and an empty target.
    fn application() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let (application, target) = (
            directory.path().join("app"),
            directory.path().join("target"),
        );
        for file in [
            "reprise.toml",
            "assets/a.txt",
            "assets/deep/b.txt",
            "assets/secret.txt",
        ] {
            let path = application.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        fs::write(directory.path().join("outside.txt"), "outside").unwrap();
        (directory, application, target)
    }

    fn component(files: &str) -> Component {
        toml::from_str(&format!("source = \"x\"\n{files}")).unwrap()
    }

    /// The copied files, relative to the target, sorted.
    fn copied(files: &str) -> Vec<String> {
        let (_directory, application, target) = application();
        copy(&component(files), &application, &target).unwrap();
        let mut found: Vec<String> = glob::glob(&format!("{}/**/*", target.display()))
            .unwrap()
            .map(|path| path.unwrap())
            .filter(|path| path.is_file())
            .map(|path| path.strip_prefix(&target).unwrap().display().to_string())
            .collect();
        found.sort();
        found
    }

    #[test]
    fn entries_name_files_directories_and_patterns() {
        for (files, expected) in [
            ("", vec![]),
            (r#"files = ["reprise.toml"]"#, vec!["reprise.toml"]),
            (
                r#"files = ["assets/*.txt"]"#,
                vec!["assets/a.txt", "assets/secret.txt"],
            ),
            (
                r#"files = ["assets/**/*"]"#,
                vec!["assets/a.txt", "assets/deep/b.txt", "assets/secret.txt"],
            ),
            (
                r#"files = [{ source = "reprise.toml", destination = "/etc/r.toml" }]"#,
                vec!["etc/r.toml"],
            ),
            (
                r#"files = [{ source = "assets", destination = "/" }]"#,
                vec!["a.txt", "deep/b.txt", "secret.txt"],
            ),
            (
                "files = [\"assets/**/*\"]\nexclude_files = [\"**/secret*\"]",
                vec!["assets/a.txt", "assets/deep/b.txt"],
            ),
            (r#"files = ["*.nothing"]"#, vec![]),
        ] {
            assert_eq!(copied(files), expected, "{files}");
        }
    }

    #[test]
    fn what_cannot_be_mounted_is_an_error() {
        for (files, message) in [
            (
                r#"files = ["missing.toml"]"#,
                "\"missing.toml\" does not exist",
            ),
            (
                r#"files = [{ source = "missing", destination = "/" }]"#,
                "\"missing\" does not exist",
            ),
            (
                r#"files = ["../outside.txt"]"#,
                "is outside of the application",
            ),
            (
                r#"files = [{ source = "../outside.txt", destination = "/x" }]"#,
                "is outside of the application",
            ),
            (
                r#"files = [{ source = "reprise.toml", destination = "../x" }]"#,
                "is outside of the guest's root",
            ),
            (
                r#"files = [{ source = "reprise.toml", destination = "/etc/" }]"#,
                "is not the name of a file",
            ),
            (r#"files = ["assets"]"#, "is a directory"),
            (
                "files = [\"assets/*\"]\nexclude_files = [\"***\"]",
                "exclude_files",
            ),
        ] {
            let (_directory, application, target) = application();
            let error = copy(&component(files), &application, &target).unwrap_err();
            let error = format!("{error:#}");
            assert!(
                error.contains(message),
                "{files} gave {error:?}, not {message:?}"
            );
        }
    }
}
