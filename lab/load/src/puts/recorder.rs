//! What clients that put keys saw.

use loadline_base::{Span, Time};
use loadline_osd::PutEnd;
use loadline_stats::{LatencyHistogram, LatencySecond, LatencySeries};

/// Nanoseconds of the second that [`LatencySeries`] counts by.
const SERIES_SECOND_NS: u128 = 1_000_000_000;

/// Counts ends of ops from the moment that the study names.
#[derive(Clone, Debug)]
pub(super) struct PutRecorder {
    since: Time,
    second: Span,
    latency: LatencyHistogram,
    seconds: LatencySeries,
    failed: u64,
}

/// What the clients saw in a window of time.
#[derive(Clone, Debug)]
pub struct PutRecord {
    /// Length of the window.
    pub window: Span,
    /// Completion latency of every op that was carried out in it.
    pub latency: LatencyHistogram,
    /// The whole seconds of the window; the load was told how long a second is.
    pub seconds: Vec<LatencySecond>,
    /// Ops that ended with an error.
    pub failed: u64,
}

impl PutRecord {
    /// Ops carried out per second; 0 for an empty window.
    pub fn puts_per_s(&self) -> f64 {
        match self.window {
            Span::ZERO => 0.0,
            window => self.latency.count() as f64 / window.as_secs_f64(),
        }
    }
}

impl PutRecorder {
    pub(super) fn new(since: Time, second: Span) -> PutRecorder {
        assert!(second > Span::ZERO, "a second has a length");
        PutRecorder {
            since,
            second,
            latency: LatencyHistogram::new(),
            seconds: LatencySeries::new(),
            failed: 0,
        }
    }

    pub(super) fn record(&mut self, end: &PutEnd, now: Time) {
        if !end.is_kept {
            self.failed += 1;
            return;
        }
        let latency = now.since(Time::from_nanos(end.token)).nanos();
        self.latency.record(latency);
        let at = u128::from(now.since(self.since).nanos()) * SERIES_SECOND_NS;
        self.seconds.record((at / u128::from(self.second.nanos())) as u64, latency);
    }

    pub(super) fn until(&self, now: Time) -> PutRecord {
        let window = now.since(self.since);
        let whole = (window.nanos() / self.second.nanos()) as usize;
        PutRecord {
            window,
            latency: self.latency.clone(),
            seconds: self.seconds.clone().finish(whole),
            failed: self.failed,
        }
    }
}
