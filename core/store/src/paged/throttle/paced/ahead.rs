//! What a checkpoint still has before it, and the paces that follow from that.

use crate::paged::throttle::{DIRTY_MAX, Pressure};

/// The share of frames that is never planned for: pages must be read, too.
const FRAME_RESERVE: f64 = 1.0 / 16.0;
/// The same of dirty pages. The end of the checkpoint gives all of them back at once, and where updates meet the same pages
/// again and again the last ones before the cap are worth the most updates.
const DIRTY_RESERVE: f64 = 1.0 / 64.0;
/// The same of the log's room: a commit that finds none waits for the checkpoint's end, and with it everybody behind.
const LOG_RESERVE: f64 = 1.0 / 16.0;
/// A time to come is never taken for shorter than this many seconds.
const HORIZON_MIN: f64 = 0.01;

/// Work before a checkpoint.
pub(super) struct Ahead {
    /// Seconds until the images are written, with some slack; none when they are.
    pub(super) images: f64,
    /// Seconds from then on until the pages are written.
    pub(super) pages: f64,
    /// Seconds from then on until they are durable.
    pub(super) sync: f64,
    /// Pages that are not in their places.
    pub(super) pages_left: f64,
    /// Pages per second.
    pub(super) page_speed: f64,
}

impl Ahead {
    /// Old versions per second that find a slot. Once pages are written, a buffer that is two thirds full is drained
    /// first (checkpoint.md 6.5), so each of them gives a slot back.
    pub(super) fn slot_pace(&self, pressure: &Pressure) -> f64 {
        let (used, slots) = (pressure.buffer_used as f64, pressure.buffer_slots as f64);
        let free = slots - used;
        let untouched = self.pages_left - used;
        if untouched <= free {
            f64::INFINITY
        } else if self.images > 0.0 {
            even(free, untouched, self.images)
        } else {
            even(free, untouched, self.pages) + self.page_speed
        }
    }

    /// Pages per second that may become dirty without reaching the cap before the end.
    pub(super) fn dirty_pace(&self, pressure: &Pressure) -> f64 {
        let (frames, dirty) = (pressure.frames as f64, pressure.dirty as f64);
        let left = (frames * DIRTY_MAX * (1.0 - DIRTY_RESERVE) - dirty).max(0.0);
        even(left, frames - dirty, self.images + self.pages + self.sync)
    }

    /// Bytes per second that find room in the log: the checkpoint gives none back before its end.
    pub(super) fn log_pace(&self, pressure: &Pressure) -> f64 {
        let left = pressure.log_room as f64 * (1.0 - LOG_RESERVE);
        left / (self.images + self.pages + self.sync).max(HORIZON_MIN)
    }

    /// Clean pages per second that find a frame. A page of the checkpoint that was touched again has one frame and counts
    /// once.
    pub(super) fn frame_pace(&self, pressure: &Pressure) -> f64 {
        let (frames, used) = (pressure.frames as f64, pressure.buffer_used as f64);
        let taken = self.pages_left + pressure.dirty as f64 - used;
        let left = (frames * (1.0 - FRAME_RESERVE) - taken).max(0.0);
        if self.images > 0.0 {
            return left / self.images.max(HORIZON_MIN);
        }
        let freed = self.page_speed * (1.0 - used / self.pages_left.max(1.0)).max(0.0);
        left / self.pages.max(HORIZON_MIN) + freed
    }
}

/// The pace at which `left` of `population` pages are used up in `seconds` by updates of equal rate. Updates meet pages that
/// were touched before more and more often, so at a constant rate of updates the pace falls like `exp`: it begins at
/// `-population * ln(1 - left / population) / seconds`. A Padé approximation stands for the logarithm, because it gives
/// the same on every machine and stays finite.
fn even(left: f64, population: f64, seconds: f64) -> f64 {
    let share = (left / population.max(1.0)).min(1.0);
    left / seconds.max(HORIZON_MIN) * (6.0 - share) / (6.0 - 4.0 * share)
}
