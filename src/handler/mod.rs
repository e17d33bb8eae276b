//! Handlers: what an operation does. The ones here are pure functions of the request, so their first attempt runs before
//! the record is created, and there is no state in which the work is half done.

pub mod analyze;
pub mod order;
