//! The machine's monotonic clock as the engine's time.

use loadline_base::Time;
use std::time::Instant;

/// Nanoseconds since the clock was made. Copies of one clock agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    #[expect(clippy::disallowed_methods, reason = "this is where the engine's time comes from")]
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let passed = self.start.elapsed().as_nanos();
        Time::from_nanos(u64::try_from(passed).expect("a process runs less than 500 years"))
    }
}
