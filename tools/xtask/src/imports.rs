//! The component's imports, all that it can reach, and their comparison with the checked-in list.
//!
//! A wasm component can do nothing but compute and call what it imports, so this list is the inventory of its powers: an
//! import that appears unnoticed, with a dependency for instance, fails the checks.
//!
//! The WASI 0.2 interfaces among them are the standard library's, and they depend on how that was built: rustup's calls
//! WASI 0.2 directly, while the one that is built over Debian's C library speaks an older WASI, which the linker adapts.
//! So for these the list is a limit, what any standard library may import, while every other line must be there.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context as _, Result, bail};
use wasmparser::{Parser, Payload};

/// What stands above the component's own imports.
const OWN_HEADER: &str = "\
# Everything that the built component imports, one interface a line. `cargo xtask imports` compares the two, and with
# --bless writes this file. These lines must match exactly:
";

/// What stands above the standard library's imports.
const STD_HEADER: &str = "
# The standard library's own. Which of these it imports depends on the toolchain; others it must not:
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

/// The list for checking in of a component with these imports.
///
/// What another toolchain's standard library is known to import stays in it.
pub(crate) fn to_list(actual: &Imports, former: &Imports) -> String {
    let (mut of_std, own): (Imports, Imports) =
        actual.iter().cloned().partition(|name| is_of_std(name));
    of_std.extend(former.iter().filter(|name| is_of_std(name)).cloned());
    let mut list = String::new();
    for (header, names) in [(OWN_HEADER, own), (STD_HEADER, of_std)] {
        list.push_str(header);
        for name in names {
            list.push_str(&name);
            list.push('\n');
        }
    }
    list
}

/// The difference between a list and a component's imports; nothing when they agree.
pub(crate) fn difference(listed: &Imports, actual: &Imports) -> Option<Difference> {
    let difference = Difference {
        added: actual.difference(listed).cloned().collect(),
        missing: listed
            .difference(actual)
            .filter(|name| !is_of_std(name))
            .cloned()
            .collect(),
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

/// What a WASI 0.2 interface's name ends with here, whatever its patch.
const STD_VERSION: &str = "@0.2.x";

/// Whether the interface, named as [`without_std_patch`] does, is one of WASI 0.2: nothing but the standard library uses
/// those, as Spin's own interfaces for a component of this kind are all later ones.
fn is_of_std(name: &str) -> bool {
    name.starts_with("wasi:") && name.ends_with(STD_VERSION)
}

/// The name with the patch of a WASI 0.2 version replaced by `x`.
///
/// The patch is the one that the standard library was built against, and it differs between releases of the compiler,
/// even within one component. It adds nothing to an interface that a host would have to have. Every other version is
/// compared whole: the 0.3 interfaces come from a crate that Cargo.lock pins, and a pre-release such as `0.2.0-draft2`
/// names one exact text.
fn without_std_patch(name: &str) -> String {
    if let Some((interface, version)) = name.split_once('@')
        && interface.starts_with("wasi:")
        && let Some(patch) = version.strip_prefix("0.2.")
        && !patch.is_empty()
        && patch.bytes().all(|byte| byte.is_ascii_digit())
    {
        return format!("{interface}{STD_VERSION}");
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
        let imports = list(&["a:b/c", "wasi:http/types@0.3.0", "wasi:io/poll@0.2.x"]);
        assert_eq!(from_list(&to_list(&imports, &Imports::new())), imports);
        let by_hand = "# why\n\nwasi:io/poll@0.2.1 # std\n  a:b/c\nwasi:http/types@0.3.0";
        assert_eq!(from_list(by_hand), imports);
    }

    #[test]
    fn a_new_list_keeps_only_what_another_standard_library_may_import() {
        let former = list(&["a:b/old", "wasi:io/error@0.2.x"]);
        let actual = list(&["a:b/new", "wasi:io/poll@0.2.x"]);
        let expected = list(&["a:b/new", "wasi:io/error@0.2.x", "wasi:io/poll@0.2.x"]);
        assert_eq!(from_list(&to_list(&actual, &former)), expected);
    }

    #[test]
    fn a_difference_names_both_sides() {
        let listed = list(&["a:b/one", "a:b/two"]);
        assert_eq!(difference(&listed, &listed), None);
        let found = difference(&listed, &list(&["a:b/two", "a:b/three"])).expect("they differ");
        assert_eq!(found.added, ["a:b/three"]);
        assert_eq!(found.missing, ["a:b/one"]);
        let said = found.to_string();
        assert!(
            said.contains("+ a:b/three") && said.contains("- a:b/one"),
            "{said}"
        );
    }

    #[test]
    fn one_side_is_enough_for_a_difference() {
        let two = list(&["a:b/one", "a:b/two"]);
        let one = list(&["a:b/one"]);
        assert!(difference(&two, &one).is_some());
        assert!(difference(&one, &two).is_some());
    }

    #[test]
    fn of_the_standard_library_s_imports_a_listed_one_may_be_missing_and_no_other_may_be_there() {
        let listed = list(&["a:b/own", "wasi:io/error@0.2.x", "wasi:io/poll@0.2.x"]);
        assert_eq!(
            difference(&listed, &list(&["a:b/own", "wasi:io/error@0.2.x"])),
            None
        );
        let sockets = list(&["a:b/own", "wasi:sockets/tcp@0.2.x"]);
        assert_eq!(
            difference(&listed, &sockets).expect("not listed").added,
            ["wasi:sockets/tcp@0.2.x"]
        );
    }
}
