//! What the fuzzer has kept, again: every input of every corpus under `tools/fuzz` is held against its target's
//! properties, by the same functions.

#![expect(
    unreachable_pub,
    dead_code,
    reason = "the app and the model of the stores are shared with other tests, and this one uses a part"
)]

#[path = "../app/mod.rs"]
mod app;
#[path = "../model/mod.rs"]
mod model;

mod found;
mod properties;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use properties::TARGETS;

/// Inputs of one corpus, and bytes of them: what a repository may hold, and a test may run each time.
const INPUTS_MAX: usize = 60;
const BYTES_MAX: usize = 100_000;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/fuzz")
}

/// The names in a folder, without their extension.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        path.file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    entries.map(name).collect()
}

#[test]
fn every_target_has_a_program_and_a_corpus_and_nothing_else_has() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len(), "no name comes twice");
    for folder in ["corpus", "fuzz_targets"] {
        assert_eq!(names(&fuzz_folder().join(folder)), targets, "{folder}");
    }
    let manifest = fs::read_to_string(fuzz_folder().join("Cargo.toml")).expect("the manifest");
    let programs: BTreeSet<String> = manifest
        .split("[[bin]]")
        .skip(1)
        .filter_map(|text| {
            Some(
                text.split_once("name = \"")?
                    .1
                    .split_once('"')?
                    .0
                    .to_owned(),
            )
        })
        .collect();
    assert_eq!(programs, targets, "tools/fuzz/Cargo.toml");
    for name in targets {
        let program = fuzz_folder().join(format!("fuzz_targets/{name}.rs"));
        let program = fs::read_to_string(program).expect("a program");
        assert!(
            program.contains(&format!("check(\"{name}\", data)")),
            "{program}"
        );
    }
}

#[test]
fn what_the_fuzzer_has_kept_breaks_nothing() {
    for (target, check) in TARGETS {
        let corpus = fuzz_folder().join("corpus").join(target);
        let files = fs::read_dir(&corpus).expect("a corpus");
        let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        files.sort();
        let inputs: Vec<Vec<u8>> = files
            .iter()
            .map(|file| fs::read(file).expect("an input"))
            .collect();
        let bytes: usize = inputs.iter().map(Vec::len).sum();
        assert!(
            (1..=INPUTS_MAX).contains(&inputs.len()),
            "{target}: {} inputs",
            inputs.len()
        );
        assert!(bytes <= BYTES_MAX, "{target}: {bytes} bytes");
        for (file, input) in files.iter().zip(&inputs) {
            eprintln!("{}", file.display());
            check(input);
        }
    }
}
