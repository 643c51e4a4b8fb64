//! What clients that put keys saw.

use loadline_base::{Span, Time};
use loadline_osd::PutEnd;
use loadline_stats::{CountSeries, LatencyHistogram, LatencySecond, LatencySeries};

/// Nanoseconds of the second that [`LatencySeries`] counts by.
const SERIES_SECOND_NS: u128 = 1_000_000_000;

/// By which lengths of time ends are counted.
#[derive(Clone, Copy, Debug)]
pub struct PutClock {
    /// Of the course over time.
    pub second: Span,
    /// Of what the lowest one is asked for.
    pub stretch: Span,
}

impl PutClock {
    /// The same length for both.
    pub const fn by(second: Span) -> PutClock {
        PutClock { second, stretch: second }
    }
}

/// Counts ends of ops from the moment that the study names.
#[derive(Clone, Debug)]
pub(super) struct PutRecorder {
    since: Time,
    clock: PutClock,
    latency: LatencyHistogram,
    seconds: LatencySeries,
    stretches: CountSeries,
    /// When an op was carried out last.
    last: Time,
    gap_max: Span,
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
    /// Ops that were carried out in each whole stretch of it; the load was told how long one is.
    pub stretches: Vec<u64>,
    /// The longest time in which none was carried out.
    pub gap_max: Span,
    /// Ops that ended with an error.
    pub failed: u64,
    /// Ops that had begun and not ended when the window closed. What they have waited by then is in no latency.
    pub under_way: u64,
    /// How long the oldest of them had waited since it was to start.
    pub waited_max: Span,
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
    pub(super) fn new(since: Time, clock: PutClock) -> PutRecorder {
        assert!(clock.second > Span::ZERO && clock.stretch > Span::ZERO, "they have a length");
        PutRecorder {
            since,
            clock,
            latency: LatencyHistogram::new(),
            seconds: LatencySeries::new(),
            stretches: CountSeries::new(),
            last: since,
            gap_max: Span::ZERO,
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
        let by = |length: Span| (at / u128::from(length.nanos())) as u64;
        self.seconds.record(by(self.clock.second), latency);
        self.stretches.add(by(self.clock.stretch), 1);
        self.gap_max = self.gap_max.max(now.since(self.last));
        self.last = now;
    }

    /// What was seen until now, with what is under way: how many, and for how long the oldest.
    pub(super) fn until(&self, now: Time, (under_way, waited_max): (u64, Span)) -> PutRecord {
        let window = now.since(self.since);
        let whole = |length: Span| (window.nanos() / length.nanos()) as usize;
        PutRecord {
            window,
            latency: self.latency.clone(),
            seconds: self.seconds.clone().finish(whole(self.clock.second)),
            stretches: self.stretches.clone().finish(whole(self.clock.stretch)),
            gap_max: self.gap_max.max(now.since(self.last)),
            failed: self.failed,
            under_way,
            waited_max,
        }
    }
}
