//! The door of an instance: closed while those inside may need all the conditional writes that are left.
//!
//! Spin lets an instance make 256 of them (see [`crate::driver::ration`]) and gives it up to 128 requests. A component
//! may say that it takes no call now: that is the component model's *backpressure*. Spin asks before it gives an
//! instance a request (wasmtime's proxy handler does, from version 47 on), gives it to another one or starts one, and
//! lets an instance that takes none and has none go.
//!
//! - The door is closed as soon as a request has come in behind which there is no [room](Ration::has_room), and opened
//!   when enough was given back.
//! - A request may have been given to the instance just before, and then waits at the door. So the last one that leaves
//!   opens it in any case, and closes it for good once nobody has come in.
//! - Nobody is ever sent away: what waits at the door comes in, to the spare.

use crate::driver::kv::KvError;
use crate::driver::ration::{Ration, Share};
use spin_sdk::wasip3::wit_bindgen::{backpressure_dec, backpressure_inc, spawn, yield_async};
use std::cell::Cell;
use std::rc::Rc;

thread_local! {
    static RATION: Ration = const { Ration::new() };
    static IS_CLOSED: Cell<bool> = const { Cell::new(false) };
}

/// A request inside, with all that is done on its account.
pub(super) struct Inside(Share);

impl Inside {
    /// Takes a request in. Nothing of it may have waited for anything before this, or others came in unseen.
    pub(super) fn enter() -> Rc<Self> {
        let share = RATION.with(Ration::enter);
        tend();
        Rc::new(Self(share))
    }

    /// See [`Ration::check`].
    pub(super) fn check(&self) -> Result<(), KvError> {
        RATION.with(|ration| ration.check(&self.0))
    }

    /// See [`Ration::reserve`].
    pub(super) fn reserve(&self, swaps: u32) -> bool {
        let is_there = RATION.with(|ration| ration.reserve(&self.0, swaps));
        tend();
        is_there
    }

    /// See [`Ration::take`].
    pub(super) fn take(&self) {
        RATION.with(|ration| ration.take(&self.0));
        tend();
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        RATION.with(|ration| ration.leave(&self.0));
        tend();
        if RATION.with(|ration| ration.is_empty() && !ration.has_room()) {
            spawn(end());
        }
    }
}

/// Opens or closes the door.
fn tend() {
    let is_full = RATION.with(|ration| !ration.is_empty() && !ration.has_room());
    set_closed(is_full);
}

fn set_closed(is_closed: bool) {
    if IS_CLOSED.replace(is_closed) != is_closed {
        if is_closed {
            backpressure_inc();
        } else {
            backpressure_dec();
        }
    }
}

/// Closes the door of a worn instance that is empty, for good. It then ends.
async fn end() {
    // This goes on when there is nothing else to do: whoever was given to this instance has come in by then.
    yield_async().await;
    if RATION.with(Ration::is_empty) {
        set_closed(true);
    }
}
