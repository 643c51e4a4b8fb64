//! Speeds, measured while the work runs.

use crate::paged::throttle::CheckpointPhase;
use loadline_base::{Span, Time};

/// Time between two looks at a speed: long against a request, short against a checkpoint.
const SAMPLE: Span = Span::from_millis(50);
/// A new measurement's share of a speed. Four samples make most of it.
const SAMPLE_SHARE: f64 = 0.25;
/// How much faster updates may be after the images than during them. Two would make the lowest second half of the others; the
/// rest is for errors of measurement.
const SURGE: f64 = 1.6;

/// The speed of one kind of work: a moving average that outlives the checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeasuredSpeed {
    per_second: Option<f64>,
    since: Time,
    count: u64,
}

impl MeasuredSpeed {
    /// What is known of it.
    pub(super) fn per_second(&self) -> Option<f64> {
        self.per_second
    }

    /// Begins a measurement without forgetting the speed.
    pub(super) fn start(&mut self, now: Time, count: u64) {
        self.since = now;
        self.count = count;
    }

    /// Takes the speed since the last look into account, if that is long enough ago. A standstill counts as one per second,
    /// so that a time to come is long, not endless.
    pub(super) fn sample(&mut self, now: Time, count: u64) {
        let passed = now.since(self.since);
        if passed < SAMPLE {
            return;
        }
        let sample = (count.saturating_sub(self.count) as f64 / passed.as_secs_f64()).max(1.0);
        let before = self.per_second.unwrap_or(sample);
        self.per_second = Some(before + (sample - before) * SAMPLE_SHARE);
        self.start(now, count);
    }
}

/// The rate of updates while images are written, and what it allows afterwards.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Surge {
    updates: u64,
    touching: u64,
    slept: u64,
    updates_per_second: Option<f64>,
}

impl Surge {
    /// The most updates per second, if the images slowed them down.
    pub(super) fn updates_per_second(&self) -> Option<f64> {
        self.updates_per_second
    }

    /// Counts an update, with its sleep if it touches a page.
    pub(super) fn count(&mut self, phase: CheckpointPhase, sleep: Option<Span>) {
        if phase == CheckpointPhase::Images {
            self.updates += 1;
            self.touching += u64::from(sleep.is_some());
            self.slept += u64::from(sleep.is_some_and(|sleep| sleep > Span::ZERO));
        }
    }

    /// The images took this long. Updates that mostly passed without a sleep came as fast as they wanted to, and say nothing
    /// about how fast they may become.
    pub(super) fn images_ended(&mut self, passed: Span) {
        if self.slept * 2 > self.touching {
            self.updates_per_second = Some(SURGE * self.updates as f64 / passed.as_secs_f64());
        }
    }
}
