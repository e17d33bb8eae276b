//! What the component's linker is told.
//!
//! Here and not in `.cargo/config.toml`, whose flags an environment's `RUSTFLAGS` would replace, and which cannot tell
//! a build with debug information from one without.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells build scripts by the environment"
    )]
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|set| set == value);
    // Debug information refers to the code's places, which compressing moves: the linker refuses both at once.
    if is("CARGO_CFG_TARGET_FAMILY", "wasm") && is("DEBUG", "false") {
        // The linker leaves five bytes for each index of a function, a type or a global, and for each address, where
        // most take two. That is a twelfth of the component.
        for flag in ["--strip-debug", "--compress-relocations"] {
            println!("cargo::rustc-link-arg-cdylib={flag}");
        }
    }
}
