//! Speed based (checkpoint.md 11.6): clean pages may become dirty as fast as the checkpoint's speed allows until its end.

use super::{CheckpointPhase, DIRTY_MAX, Dirtied, Pressure, SLEEP_MAX};
use loadline_base::{Span, Time};

/// Length of a slice of the measurement of updates. The speed is that of the last three whole slices and the present one.
const SLICE: Span = Span::from_millis(250);
/// The least share of dirty pages from which the growing target starts.
const START_MIN: f64 = 0.03;
/// This close to the end of the clean pages, sleeps are three times as long.
const LOW: f64 = 0.05;

/// The policy's state: two speeds and a share.
#[derive(Clone, Debug)]
pub(super) struct Speed {
    began: Time,
    /// Share of dirty pages when the first written page was noticed.
    start_share: Option<f64>,
    marks: Marks,
}

/// Pages made dirty, in slices of time.
#[derive(Clone, Debug)]
struct Marks {
    /// The present slice's number, and the counts of it and the three before, the newest first.
    slice: u64,
    counts: [u64; 4],
}

impl Speed {
    pub(super) const fn new() -> Speed {
        Speed { began: Time::ZERO, start_share: None, marks: Marks { slice: 0, counts: [0; 4] } }
    }

    pub(super) fn checkpoint_began(&mut self, now: Time) {
        self.began = now;
        self.start_share = None;
    }

    /// The sleep for the clean pages of a touch.
    pub(super) fn sleep(&mut self, now: Time, pressure: &Pressure, touch: Dirtied) -> Span {
        self.marks.add(now, u64::from(touch.in_checkpoint) + u64::from(touch.clean));
        if pressure.phase == CheckpointPhase::Idle || touch.clean == 0 {
            return Span::ZERO;
        }
        let seconds = self.sleep_per_page(now, pressure).min(SLEEP_MAX.as_secs_f64());
        Span::from_secs_f64(seconds) * u64::from(touch.clean)
    }

    /// Seconds for one page, by the formula and in the words of checkpoint.md 11.6.
    fn sleep_per_page(&mut self, now: Time, pressure: &Pressure) -> f64 {
        let share = pressure.dirty_share();
        if pressure.pages_written + pressure.pages_evicted > 0 {
            self.start_share.get_or_insert(share);
        }
        let done = done(pressure);
        let checkpoint_speed = done / now.since(self.began).as_secs_f64();
        let mark_speed = self.marks.per_second(now);
        let updaters = pressure.updaters.max(1) as f64;
        if share >= DIRTY_MAX || done == 0.0 {
            return 0.0;
        }
        if pressure.pages_total == 0 {
            let behind = mark_speed > checkpoint_speed;
            return if behind { updaters / checkpoint_speed } else { 0.0 };
        }
        let pages = pressure.pages_total.saturating_sub(pressure.pages_evicted) as f64;
        if done >= pages {
            return 0.0;
        }
        let clean = (DIRTY_MAX - share) * pressure.frames as f64;
        let allowed = clean / ((pages - done) / checkpoint_speed);
        let start = self.start_share.unwrap_or(share).clamp(START_MIN, 1.0);
        let goal = (start + (1.0 - start) * done / pages) * DIRTY_MAX;
        let low = share > goal && share + LOW > DIRTY_MAX;
        let (strictness, factor) = if low { (0.8, 3.0) } else { (1.0, 1.0) };
        let sleeps = share > goal && mark_speed > strictness * allowed;
        if sleeps { factor * updaters / allowed } else { 0.0 }
    }
}

/// Pages that are as good as through the checkpoint.
fn done(pressure: &Pressure) -> f64 {
    let written = (pressure.pages_written + pressure.pages_synced) as f64;
    if pressure.with_images {
        (2.0 * pressure.images_written as f64 + written) / 4.0
    } else {
        written / 2.0
    }
}

impl Marks {
    fn add(&mut self, now: Time, pages: u64) {
        self.advance(now);
        self.counts[0] += pages;
    }

    fn per_second(&mut self, now: Time) -> f64 {
        self.advance(now);
        let since = Time::ZERO + SLICE * self.slice.saturating_sub(3);
        let seconds = now.since(since).max(SLICE).as_secs_f64();
        self.counts.iter().sum::<u64>() as f64 / seconds
    }

    /// Moves on to the slice of `now`.
    fn advance(&mut self, now: Time) {
        let slice = now.nanos() / SLICE.nanos();
        let steps = slice.saturating_sub(self.slice).min(4) as usize;
        self.counts.rotate_right(steps % 4);
        self.counts[..steps].fill(0);
        self.slice = self.slice.max(slice);
    }
}
