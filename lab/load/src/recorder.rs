//! What the clients saw: completions counted into a histogram and into seconds, without allocation per op.

use loadline_base::{Span, Time};
use loadline_stats::{LatencyHistogram, LatencySecond, LatencySeries};

/// Counts completions from the moment that the study names.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    since: Time,
    ops: LatencyHistogram,
    outside: LatencyHistogram,
    seconds: LatencySeries,
}

/// What the clients saw in a window of time.
#[derive(Clone, Debug)]
pub struct LoadRecord {
    /// Length of the window.
    pub window: Span,
    /// Completion latency of every op that completed in it.
    pub latency: LatencyHistogram,
    /// The part of it that an op spent neither in its primary nor waiting for copies: on the links, and before
    /// it was sent or admitted.
    pub outside: LatencyHistogram,
    /// The whole seconds of the window.
    pub seconds: Vec<LatencySecond>,
}

impl LoadRecord {
    /// Completed ops per second; 0 for an empty window.
    pub fn iops(&self) -> f64 {
        match self.window {
            Span::ZERO => 0.0,
            window => self.latency.count() as f64 / window.as_secs_f64(),
        }
    }
}

impl Recorder {
    pub(crate) fn new(since: Time) -> Recorder {
        let (ops, outside) = (LatencyHistogram::new(), LatencyHistogram::new());
        Recorder { since, ops, outside, seconds: LatencySeries::new() }
    }

    /// Counts an op that was meant to start at `intended`, spent `inside` in its primary and completed now.
    #[inline]
    pub(crate) fn record(&mut self, intended: Time, inside: Span, now: Time) {
        let latency = now.since(intended).nanos();
        self.ops.record(latency);
        self.outside.record(latency.saturating_sub(inside.nanos()));
        self.seconds.record(now.since(self.since).nanos(), latency);
    }

    pub(crate) fn latency(&self) -> &LatencyHistogram {
        &self.ops
    }

    pub(crate) fn until(&self, now: Time) -> LoadRecord {
        let window = now.since(self.since);
        let seconds = self.seconds.clone().finish((window.nanos() / 1_000_000_000) as usize);
        LoadRecord { window, latency: self.ops.clone(), outside: self.outside.clone(), seconds }
    }
}
