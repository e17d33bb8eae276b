//! The operators' page in a real browser: what an operator sees and does, by mouse and by keyboard alone, in light and dark,
//! on a desk and on a phone.

#![expect(
    unreachable_pub,
    reason = "what one module of a test offers to another is public in the sense of the test"
)]

mod access;
mod keyboard;
mod operator;
mod setting;
