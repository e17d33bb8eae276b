//! What the end-to-end tests stand on: real processes on loopback, and a client that speaks HTTP to them.
//!
//! `cargo xtask test` builds the component and the host, and names them in `REPRISE_HOST` and `REPRISE_MANIFEST`. Without
//! these the tests look where it puts them. The Python of some tests it names in `REPRISE_PYTHON`, and the checker of pages
//! in `REPRISE_AXE`; these have no default. A browser's driver is on the PATH, or what `REPRISE_CHROMEDRIVER` names; so are
//! the proxies, or what `REPRISE_NGINX` and `REPRISE_CADDY` name.
//! `REPRISE_E2E_STORE` chooses the store, and how many hosts use it: `sqlite`, the default, `redis`, or `redis-two`.

mod browser;
mod client;
pub mod fill;
mod front;
mod host;
mod httpbin;
mod python;
pub mod raw;
mod redis;
mod state;
mod upstream;
pub mod wire;

pub use browser::{Browser, keys};
pub use client::{Answer, Client};
pub use front::Front;
pub use host::{Host, Options, component, host_program};
pub use httpbin::Httpbin;
pub use python::{python, python_program};
pub use redis::Redis;
pub use state::{Arrangement, State};
pub use upstream::{Seen, Sent, Upstream};

use reprise::machine::Timestamp;
use std::net::TcpListener;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a process may take to come up. Generous, because a cold start compiles the component.
pub(crate) const START: Duration = Duration::from_mins(2);

/// The time, by this machine's clock.
///
/// # Panics
/// When that clock is before 1970.
#[must_use]
pub fn now() -> Timestamp {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("it is after 1970");
    Timestamp::from_unix_ms(
        u64::try_from(now.as_millis()).expect("it is before the year 500 million"),
    )
}

/// A loopback port that is free now.
///
/// # Panics
/// When none is.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener
        .local_addr()
        .expect("a bound listener has an address")
        .port()
}

/// Asks until the answer is yes, for at most this long.
///
/// # Panics
/// When the time is over.
pub fn wait_until(what: &str, limit: Duration, mut yes: impl FnMut() -> bool) {
    let start = Instant::now();
    while !yes() {
        assert!(
            start.elapsed() < limit,
            "{what} did not happen within {limit:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
