//! The component's imports, all that it can reach, and their comparison with the checked-in list.
//!
//! A wasm component can do nothing but compute and call what it imports, so this list is the exact inventory of its
//! powers: an import that appears unnoticed, with a dependency for instance, fails the checks.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context as _, Result, bail};
use wasmparser::{Parser, Payload};

/// What a new list starts with.
const LIST_HEADER: &str = "\
# Everything that the built component imports, one interface a line. `cargo xtask imports` compares the two exactly, and
# with --bless writes this file.
";

/// Interface names, sorted, as the list has them.
pub(crate) type Imports = BTreeSet<String>;

/// Reads the imports of a component.
pub(crate) fn of_component(bytes: &[u8]) -> Result<Imports> {
    if !Parser::is_component(bytes) {
        bail!("this is no WebAssembly component");
    }
    let mut imports = Imports::new();
    // Components and modules nest, each closed by its own end; only what the outermost imports comes from outside.
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        #[allow(
            clippy::wildcard_enum_match_arm,
            reason = "the parser has dozens of sections that say nothing here"
        )]
        match payload.context("the component cannot be read")? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    imports.insert(without_std_patch(import?.name.0));
                }
            }
            _ => {}
        }
    }
    Ok(imports)
}

/// Reads a checked-in list: a name a line, `#` starts a comment.
pub(crate) fn from_list(text: &str) -> Imports {
    let names = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    names
        .filter(|name| !name.is_empty())
        .map(without_std_patch)
        .collect()
}

/// Writes a list for checking in.
pub(crate) fn to_list(imports: &Imports) -> String {
    let mut list = LIST_HEADER.to_owned();
    for name in imports {
        list.push_str(name);
        list.push('\n');
    }
    list
}

/// The difference between what is expected and what is there; nothing when they are equal.
pub(crate) fn difference(expected: &Imports, actual: &Imports) -> Option<Difference> {
    let difference = Difference {
        added: actual.difference(expected).cloned().collect(),
        missing: expected.difference(actual).cloned().collect(),
    };
    (!difference.added.is_empty() || !difference.missing.is_empty()).then_some(difference)
}

/// What a list and a component do not have in common.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    added: Vec<String>,
    missing: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.added {
            write!(f, "\n  + {name} (imported, not in the list)")?;
        }
        for name in &self.missing {
            write!(f, "\n  - {name} (in the list, not imported)")?;
        }
        Ok(())
    }
}

/// The name with the patch of a WASI 0.2 version replaced by `x`.
///
/// The 0.2 interfaces are those of the standard library, and its patch differs between releases of the compiler. A
/// patch adds nothing to an interface that the host would have to have. Every other version is compared whole: 0.3
/// interfaces come from a crate that Cargo.lock pins, and a pre-release such as `0.2.0-draft2` names one exact text.
fn without_std_patch(name: &str) -> String {
    if let Some((interface, version)) = name.split_once('@')
        && interface.starts_with("wasi:")
        && let Some(patch) = version.strip_prefix("0.2.")
        && !patch.is_empty()
        && patch.bytes().all(|byte| byte.is_ascii_digit())
    {
        return format!("{interface}@0.2.x");
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component that imports an empty instance under each name, and has an empty component inside.
    fn component(names: &[&str]) -> Vec<u8> {
        let preamble = b"\0asm\x0d\0\x01\0";
        let mut bytes = preamble.to_vec();
        // One type: an instance that exports nothing.
        bytes.extend([7, 3, 1, 0x42, 0]);
        let mut section = vec![u8::try_from(names.len()).unwrap()];
        for name in names {
            section.extend([0, u8::try_from(name.len()).unwrap()]);
            section.extend(name.bytes());
            section.extend([5, 0]);
        }
        bytes.extend([10, u8::try_from(section.len()).unwrap()]);
        bytes.extend(section);
        let mut inner = preamble.to_vec();
        inner.extend([7, 3, 1, 0x42, 0]);
        inner.extend(*b"\x0a\x0c\x01\x00\x07a:b/own\x05\x00");
        bytes.extend([4, u8::try_from(inner.len()).unwrap()]);
        bytes.extend(inner);
        bytes
    }

    fn list(names: &[&str]) -> Imports {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_component_s_own_imports_are_read_and_not_those_inside_it() {
        let bytes = component(&["wasi:io/poll@0.2.6", "wasi:http/types@0.3.0", "root"]);
        let expected = list(&["root", "wasi:http/types@0.3.0", "wasi:io/poll@0.2.x"]);
        assert_eq!(of_component(&bytes).unwrap(), expected);
    }

    #[test]
    fn what_is_no_component_is_refused() {
        let module = b"\0asm\x01\0\0\0";
        assert!(of_component(module).is_err());
        assert!(of_component(b"").is_err());
        let mut cut = component(&["wasi:io/poll@0.2.6"]);
        cut.truncate(cut.len() - 1);
        assert!(of_component(&cut).is_err());
    }

    #[test]
    fn only_the_patch_of_wasi_0_2_is_left_out() {
        assert_eq!(
            without_std_patch("wasi:cli/environment@0.2.6"),
            "wasi:cli/environment@0.2.x"
        );
        assert_eq!(
            without_std_patch("wasi:cli/environment@0.2.10"),
            "wasi:cli/environment@0.2.x"
        );
        for whole in [
            "wasi:cli/environment@0.2.x",
            "wasi:http/types@0.3.0",
            "wasi:keyvalue/store@0.2.0-draft2",
            "spin:variables/variables@0.2.1",
            "wasi:cli/environment@0.20.1",
            "wasi:cli/environment@0.2.",
            "plain",
        ] {
            assert_eq!(without_std_patch(whole), whole);
        }
    }

    #[test]
    fn a_list_is_read_back_as_it_was_written() {
        let imports = list(&["a:b/c", "wasi:io/poll@0.2.x"]);
        assert_eq!(from_list(&to_list(&imports)), imports);
        let by_hand = "# why\n\nwasi:io/poll@0.2.1 # std\r\n  a:b/c\n";
        assert_eq!(from_list(by_hand), imports);
    }

    #[test]
    fn a_difference_names_both_sides() {
        let expected = list(&["a", "b"]);
        assert_eq!(difference(&expected, &expected), None);
        let found = difference(&expected, &list(&["b", "c"])).expect("they differ");
        let said = found.to_string();
        assert!(said.contains("+ c") && said.contains("- a"), "{said}");
        assert!(difference(&expected, &list(&["a"])).is_some());
        assert!(difference(&expected, &list(&["a", "b", "c"])).is_some());
    }
}
