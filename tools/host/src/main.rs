//! Placeholder for the first build of the workspace.
fn main() {}
