//! The fuzz targets' properties, which are those of the tests: see `tests/fuzz/properties` in the root package.

#![expect(
    unreachable_pub,
    dead_code,
    reason = "the app and the model of the stores are shared with other tests, and this crate uses a part"
)]

#[path = "../../../tests/app/mod.rs"]
mod app;
#[path = "../../../tests/model/mod.rs"]
mod model;
#[path = "../../../tests/fuzz/properties/mod.rs"]
mod properties;

pub use properties::check;
