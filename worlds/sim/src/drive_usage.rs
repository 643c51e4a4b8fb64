//! How much a drive is used, as the system counts it of a real one: requests, and the time in which it has any.

use loadline_base::{Span, Time};

/// What one drive was asked, whatever it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DriveUsage {
    /// Submitted so far.
    pub(crate) requests: u64,
    /// Of these, not answered.
    in_flight: u64,
    /// Since when there has been one.
    since: Time,
    /// Earlier times with one together.
    busy: Span,
}

impl DriveUsage {
    /// A request comes.
    #[inline]
    pub(crate) fn began(&mut self, now: Time) {
        self.requests += 1;
        if self.in_flight == 0 {
            self.since = now;
        }
        self.in_flight += 1;
    }

    /// A request is answered.
    #[inline]
    pub(crate) fn ended(&mut self, now: Time) {
        self.in_flight -= 1;
        if self.in_flight == 0 {
            self.busy += now.since(self.since);
        }
    }

    /// How long it has had something to do until now.
    pub(crate) fn busy(&self, now: Time) -> Span {
        let running = if self.in_flight > 0 { now.since(self.since) } else { Span::ZERO };
        self.busy + running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_with_several_requests_counts_once_and_idle_time_does_not() {
        let mut usage = DriveUsage::default();
        let at = Time::from_nanos;
        usage.began(at(10));
        usage.began(at(12));
        usage.ended(at(15));
        assert_eq!(usage.busy(at(16)), Span::from_nanos(6), "one is in flight");
        usage.ended(at(20));
        assert_eq!(usage.busy(at(100)), Span::from_nanos(10));
        usage.began(at(200));
        assert_eq!((usage.busy(at(201)), usage.requests), (Span::from_nanos(11), 3));
    }
}
