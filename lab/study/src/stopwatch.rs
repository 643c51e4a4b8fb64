//! Wall-clock time: how long a study takes, which nothing simulated ever sees.

use std::time::{Duration, Instant};

/// Measures from a moment on.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins now.
    #[expect(clippy::disallowed_methods, reason = "the lab tells people how long they wait")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// How long ago it began.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
