//! The guest's side of the host's interfaces, generated from the declarations that the host implements.

#![allow(
    unsafe_code,
    missing_docs,
    unused_qualifications,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "generated"
)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "reprise:host/imports",
    generate_all,
});
