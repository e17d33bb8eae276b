//! Every example in every document is held against what is built.
//!
//! A document is read for its fenced blocks, and each block is accounted for by its kind (`play.rs`): transcripts are
//! replayed against a running instance and compared, scripts are run, pieces of configuration are read by what reads them
//! in earnest, and Rust is compiled. A block of another kind fails its document, so none is left out in silence. What no
//! test can run is in one list, with the reason and with what is checked instead (`elsewhere.rs`).
//!
//! What is normalised is in one small table too (`pattern.rs`): names, times and durations, which no two runs share. One
//! name in a document stands for one name of the run, wherever it comes, so "the same answer" is checked and not assumed.

mod block;
mod elsewhere;
mod pattern;
mod play;
mod snippets;
mod transcript;
mod world;

use block::{documents, root};

/// Documents with a test of their own, because what they have to play takes a while.
const LONG: [&str; 2] = ["README.md", "docs/guarantees.md"];

#[test]
fn the_readme_is_true() {
    play::document(LONG[0]);
}

#[test]
fn the_guarantees_are_true() {
    play::document(LONG[1]);
}

#[test]
fn every_other_document_is_true() {
    for document in documents() {
        if !LONG.contains(&document.as_str()) {
            play::document(&document);
        }
    }
}

/// The commands in the comments at the top of files in `deploy`.
#[test]
fn commands_in_the_comments_of_deploy_files_are_known() {
    let mut commands = 0;
    for file in block::files_below(&root().join("deploy")) {
        let text = std::fs::read_to_string(&file).expect("a text file");
        for command in block::commented_commands(&text) {
            elsewhere::check_comment(&command)
                .unwrap_or_else(|problem| panic!("{}: {command}: {problem}", file.display()));
            commands += 1;
        }
    }
    assert!(commands > 0, "no command was found at all");
}

#[test]
fn links_between_documents_lead_somewhere() {
    for document in documents() {
        let path = root().join(&document);
        let text = std::fs::read_to_string(&path).expect("a document");
        for link in block::links(&text) {
            let target = path.parent().expect("a file is in a folder").join(link);
            assert!(target.exists(), "{document}: {link} leads nowhere");
        }
    }
}

/// A document that says which test shows something, or where a limit is, is right about it.
#[test]
fn sources_that_documents_name_are_there() {
    for document in documents() {
        let text = std::fs::read_to_string(root().join(&document)).expect("a document");
        for line in text.lines() {
            for source in block::sources(line) {
                let path = root().join(source.path);
                assert!(path.exists(), "{document}: {} is not there", source.path);
                if let Some(name) = source.name {
                    let code = std::fs::read_to_string(&path).expect("a source file");
                    let is_there = code.contains(&format!("fn {name}("))
                        || code.contains(&format!("const {name}:"));
                    assert!(is_there, "{document}: {} has no {name}", source.path);
                }
            }
        }
    }
}

/// A metric that a document names is one that the page has.
#[test]
fn metrics_that_documents_name_are_there() {
    /// A crate's name, as Rust spells it.
    const CRATE: &str = "client";
    let code = std::fs::read_to_string(root().join("src/shell/metrics.rs")).expect("the source");
    let mut found = 0;
    for document in documents() {
        let text = std::fs::read_to_string(root().join(&document)).expect("a document");
        let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
        for name in words.filter_map(|word| word.strip_prefix("reprise_")) {
            if name != CRATE {
                assert!(
                    code.contains(&format!("\"{name}\"")),
                    "{document}: reprise_{name}"
                );
                found += 1;
            }
        }
    }
    assert!(found > 5, "only {found} were found");
}
