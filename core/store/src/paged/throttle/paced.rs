//! Loadline's own: updates go on at the pace that the checkpoint's real progress allows, evenly, from its first moment.
//!
//! Four things may run out while a checkpoint runs, and for each the pace is what is left of it, divided by the time until
//! more comes ([`ahead`]):
//!
//! | what | left | until |
//! |---|---|---|
//! | slots for old versions | free slots | the images are written; from then on each written page can give one back |
//! | dirty pages | the cap less those dirty since the instant | the checkpoint's end |
//! | room in the log | what is free of it | the checkpoint's end |
//! | frames that can be given up | frames less dirty ones and those of the checkpoint | the images are written; from then on each written page frees one |
//!
//! Times are remaining work divided by speeds that are measured while the work runs ([`measured`]); each is remembered for
//! the next checkpoint. For each of the four a virtual clock says when the next page may be touched, or the next byte logged: an
//! update reserves its time on it and sleeps until its turn. So sleeps are equal for equal updates, updates pass in order, and a
//! checkpoint that is faster than expected shortens the next sleeps by itself. A fifth clock keeps the rate of updates after
//! the images below 1.6 times that during them: more would be allowed, but then the seconds with images would be the hole in
//! everybody's curve. An update that makes nothing dirty sleeps for the log alone, but counts.
//!
//! A closed loop of 64 updaters that could do 50,000 updates per second, each of one page out of 80,000, on 100,000 frames with
//! 25,000 slots, 20,000 images/s and 10,000 pages/s (`throttle/simulation.rs`); updates per second over 100 s
//! without the first 20:
//!
//! | policy | lowest / median / mean | with a sixth of the speeds | without images |
//! |---|---|---|---|
//! | `none` | 0 / 18,645 / 18,900 | 0 / 0 / 4,614 | 0 / 30,954 / 27,764 |
//! | `exponential` | 0 / 17,113 / 18,351 | 0 / 2,805 / 4,469 | 0 / 28,780 / 27,761 |
//! | `target-ratio` | 6,952 / 10,847 / 12,535 | 245 / 1,917 / 2,248 | 4,356 / 15,852 / 18,737 |
//! | `speed` | 2,195 / 16,816 / 17,717 | 143 / 3,588 / 4,256 | 12,399 / 13,959 / 14,571 |
//! | `fill-rate` | 0 / 17,634 / 18,777 | 0 / 2,359 / 4,717 | 0 / 27,047 / 27,770 |
//! | `paced` | 9,898 / 16,042 / 14,078 | 1,786 / 2,882 / 2,623 | 16,848 / 23,600 / 26,049 |
//!
//! What evenness costs stands in the means. It costs most here, where the data fits in the cache: whoever runs into the cap
//! has touched nearly every page, and the last pages before the cap are worth the most updates.

mod ahead;
mod measured;

use super::{CheckpointPhase, Dirtied, Pressure};
use ahead::Ahead;
use loadline_base::{Span, Time};
use measured::{MeasuredSpeed, Surge};

/// The longest sleep: four updates per second and client go on, whatever happens.
const SLEEP_MAX: Span = Span::from_millis(250);
/// Pages per second before the first 50 ms of the first checkpoint are measured: 100 MiB/s in pages of 4 KiB, a disk's.
const ASSUMED_SPEED: f64 = 25_600.0;
/// Planned for this share of the images more than there are: so the pace is the same to the last image, and slots are left
/// for updates of several pages and for errors of measurement.
const SLACK: f64 = 1.0 / 16.0;
/// Time for syncing, as a share of that for writing the pages, before it is measured (checkpoint.md 14.1).
const ASSUMED_SYNC: f64 = 0.5;
/// Syncing that takes longer than expected is expected to go on for this share of the time that it took so far.
const OVERRUN: f64 = 0.25;

/// The policy's state: what was measured, and the clocks.
#[derive(Clone, Debug)]
pub(super) struct Paced {
    phase: CheckpointPhase,
    phase_began: Time,
    images: MeasuredSpeed,
    pages: MeasuredSpeed,
    sync: Option<Span>,
    surge: Surge,
    clocks: Clocks,
}

/// When the next page, and of the last one the next update, may go on.
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    slots: Time,
    dirty: Time,
    frames: Time,
    log: Time,
    updates: Time,
}

impl Paced {
    pub(super) fn new() -> Paced {
        Paced {
            phase: CheckpointPhase::Idle,
            phase_began: Time::ZERO,
            images: MeasuredSpeed::default(),
            pages: MeasuredSpeed::default(),
            sync: None,
            surge: Surge::default(),
            clocks: Clocks::default(),
        }
    }

    pub(super) fn checkpoint_began(&mut self, now: Time) {
        self.surge = Surge::default();
        self.enter(now, CheckpointPhase::Preparing);
    }

    pub(super) fn checkpoint_ended(&mut self, now: Time) {
        if self.phase == CheckpointPhase::Syncing {
            self.sync = Some(now.since(self.phase_began));
        }
        self.enter(now, CheckpointPhase::Idle);
        self.clocks = Clocks::default();
    }

    /// How long an update sleeps before it touches these pages.
    pub(super) fn charge(&mut self, now: Time, pressure: &Pressure, touch: Dirtied) -> Span {
        if !pressure.has_pages() {
            return Span::ZERO;
        }
        self.observe(now, pressure);
        let update_turn = match self.surge.updates_per_second() {
            Some(rate) => turn(&mut self.clocks.updates, now, 1.0, rate),
            None => now,
        };
        let ahead = self.ahead(now, pressure);
        let log_pace = ahead.log_pace(pressure);
        let log_turn = turn(&mut self.clocks.log, now, f64::from(touch.log_bytes), log_pace);
        if touch.in_checkpoint == 0 && touch.clean == 0 {
            self.surge.count(pressure.phase, None);
            return log_turn.since(now);
        }
        let page_turn = self.page_turn(now, pressure, &ahead, touch).max(log_turn);
        self.surge.count(pressure.phase, Some(page_turn.since(now)));
        page_turn.max(update_turn).since(now)
    }

    /// Notes how far the checkpoint is.
    fn observe(&mut self, now: Time, pressure: &Pressure) {
        if self.phase != pressure.phase {
            self.enter(now, pressure.phase);
            self.images.start(now, pressure.images_written);
            self.pages.start(now, pressure.pages_written);
        }
        match pressure.phase {
            CheckpointPhase::Images => self.images.sample(now, pressure.images_written),
            CheckpointPhase::Pages => self.pages.sample(now, pressure.pages_written),
            CheckpointPhase::Idle | CheckpointPhase::Preparing | CheckpointPhase::Syncing => {}
        }
    }

    fn enter(&mut self, now: Time, phase: CheckpointPhase) {
        if self.phase == CheckpointPhase::Images {
            self.surge.images_ended(now.since(self.phase_began));
        }
        self.phase = phase;
        self.phase_began = now;
    }

    /// Reserves the pages' time on their three clocks: when the last of them comes to its turn.
    fn page_turn(&mut self, now: Time, pressure: &Pressure, ahead: &Ahead, touch: Dirtied) -> Time {
        let (kept, clean) = (f64::from(touch.in_checkpoint), f64::from(touch.clean));
        let slots = turn(&mut self.clocks.slots, now, kept, ahead.slot_pace(pressure));
        let dirty = turn(&mut self.clocks.dirty, now, kept + clean, ahead.dirty_pace(pressure));
        let frames = turn(&mut self.clocks.frames, now, clean, ahead.frame_pace(pressure));
        slots.max(dirty).max(frames)
    }

    /// The work that is left, and its time by the measured speeds. Before the first page is written, pages are taken to be
    /// as fast as images (checkpoint.md 11.4).
    fn ahead(&self, now: Time, pressure: &Pressure) -> Ahead {
        let gone = pressure.pages_written + pressure.pages_evicted;
        let pages_left = pressure.pages_total.saturating_sub(gone) as f64;
        let total = pressure.pages_total as f64;
        let images_left = match total - pressure.images_written as f64 {
            left if pressure.with_images && left > 0.0 => left + total * SLACK,
            _ => 0.0,
        };
        let image_speed = self.images.per_second().unwrap_or(ASSUMED_SPEED);
        let page_speed = self.pages.per_second().unwrap_or(image_speed);
        Ahead {
            images: images_left / image_speed,
            pages: pages_left / page_speed,
            sync: self.sync_left(now, pressure, page_speed),
            pages_left,
            page_speed,
        }
    }

    /// Seconds of syncing to come, by the last checkpoint's.
    fn sync_left(&self, now: Time, pressure: &Pressure, page_speed: f64) -> f64 {
        let assumed = pressure.pages_total as f64 / page_speed * ASSUMED_SYNC;
        let whole = self.sync.map_or(assumed, Span::as_secs_f64);
        if pressure.phase != CheckpointPhase::Syncing {
            return whole;
        }
        let passed = now.since(self.phase_began).as_secs_f64();
        (whole - passed).max(passed * OVERRUN)
    }
}

/// Moves a clock on by the time of `count` things at `per_second` and says when their turn comes. A debt beyond the longest
/// sleep is forgiven.
fn turn(clock: &mut Time, now: Time, count: f64, per_second: f64) -> Time {
    if count == 0.0 {
        return now;
    }
    let turn = (*clock).clamp(now, now + SLEEP_MAX);
    *clock = turn + Span::from_secs_f64(count / per_second);
    turn
}
