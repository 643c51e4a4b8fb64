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

/// Measures the processor time of the thread that starts it: what a run takes of a core, however many others
/// want it. Where the system does not tell, wall-clock time stands for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreTime {
    wall: Stopwatch,
    began: Option<Duration>,
}

impl CoreTime {
    pub(crate) fn start() -> CoreTime {
        CoreTime { wall: Stopwatch::start(), began: of_this_thread() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let spent = of_this_thread().zip(self.began).map(|(now, began)| now.saturating_sub(began));
        spent.filter(|spent| !spent.is_zero()).unwrap_or_else(|| self.wall.elapsed())
    }
}

/// Linux counts it in nanoseconds, as the first number of this file.
fn of_this_thread() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
