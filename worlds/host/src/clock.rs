//! The machine's monotonic clock as the engine's time.

use loadline_base::{Span, Time};
use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// Nanoseconds since the clock was made. Copies of one clock agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    #[expect(clippy::disallowed_methods, reason = "this is where the engine's time comes from")]
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    /// Processor time that this process has used, the kernel's work for it included.
    pub fn processor_time() -> Span {
        used(ClockId::ProcessCPUTime)
    }

    /// Processor time that this thread has used, the kernel's work for it included.
    pub fn thread_time() -> Span {
        used(ClockId::ThreadCPUTime)
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let passed = self.start.elapsed().as_nanos();
        Time::from_nanos(u64::try_from(passed).expect("a process runs less than 500 years"))
    }
}

fn used(of: ClockId) -> Span {
    let used = clock_gettime(of);
    let whole = u64::try_from(used.tv_sec).expect("nobody uses negative time");
    Span::from_secs(whole) + Span::from_nanos(used.tv_nsec as u64)
}
