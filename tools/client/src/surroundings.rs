//! What a client takes from the world around it, the network aside: time, sleep and randomness.

use reprise::machine::{Millis, Timestamp};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Time, sleep and randomness. Tests bring their own, and never wait.
pub trait Surroundings {
    /// The time of day, to which a date in `Retry-After` refers.
    fn now(&self) -> Timestamp;
    /// A time that only goes forward, for deadlines. What it counts from does not matter.
    fn elapsed(&self) -> Millis;
    /// Waits.
    fn sleep(&self, wait: Millis);
    /// Random bytes. Keys come from here, so nobody must be able to guess them.
    fn random(&self) -> [u8; 16];
}

/// The clocks, the scheduler and the random source of this machine.
#[derive(Clone, Copy, Debug)]
pub struct System {
    start: Instant,
}

impl Default for System {
    fn default() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Surroundings for System {
    fn now(&self) -> Timestamp {
        // A clock before 1970 knows no date that is still to come.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let ms = since_epoch.map_or(0, |since_epoch| since_epoch.as_millis());
        Timestamp::from_unix_ms(u64::try_from(ms).unwrap_or(u64::MAX))
    }

    fn elapsed(&self) -> Millis {
        let ms = self.start.elapsed().as_millis();
        Millis::new(u64::try_from(ms).unwrap_or(u64::MAX))
    }

    fn sleep(&self, wait: Millis) {
        std::thread::sleep(std::time::Duration::from_millis(wait.get()));
    }

    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("an operating system has a source of randomness");
        bytes
    }
}
