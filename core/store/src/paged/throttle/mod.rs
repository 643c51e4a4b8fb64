//! How updates are slowed down while a checkpoint runs, so that neither the old versions' buffer nor the clean pages run out.
//!
//! The owner asks [`Throttle::charge`] before an update makes pages dirty, and lets the update sleep for the answer. A
//! throttle is a pure value: all that it knows came through its arguments. Whatever it answers, the store stays safe: an
//! update that finds the buffer full waits for a slot.
//!
//! | policy | pages of the checkpoint | other clean pages |
//! |---|---|---|
//! | `none` | free | free |
//! | `exponential` | back-off above 2/3 of the buffer (checkpoint.md 11.3) | free |
//! | `fill-rate` | by the gap between fill and progress (11.4) | free |
//! | `target-ratio` | 11.4 with images, 11.3 without | back-off above a growing share of dirty pages (11.5) |
//! | `speed` | the same | by the speeds of checkpoint and updates (11.6) |
//! | `paced` | at the rate that the checkpoint's progress allows (`paced.rs`) | the same |

mod backoff;
mod fill_rate;
mod paced;
mod policy;
#[cfg(test)]
mod simulation;
mod speed;
mod target_ratio;
#[cfg(test)]
mod tests;

pub use policy::Policy;

use backoff::Backoff;
use loadline_base::{Span, Time};
use paced::Paced;
use speed::Speed;
use target_ratio::TargetRatio;

/// The longest sleep. The published back-off has no limit (11.3) and the published clean-page formulas none either; a
/// sleep without one can outlast its reason by hours (checkpoint.md 16.15).
pub const SLEEP_MAX: Span = Span::from_secs(1);

/// How far a checkpoint is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// None runs.
    #[default]
    Idle,
    /// The instant is past; the log is being flushed and the pages are being sorted.
    Preparing,
    /// Images are being written. No old version is given back.
    Images,
    /// Pages are being written to their places. Old versions are given back.
    Pages,
    /// All pages are written; they are being made durable.
    Syncing,
}

/// What presses on a store at one moment. All counts are of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// How far the checkpoint is.
    pub phase: Phase,
    /// Whether it writes images before the pages.
    pub with_images: bool,
    /// Images written.
    pub images_written: u64,
    /// Pages written to their places.
    pub pages_written: u64,
    /// Pages durable in their places.
    pub pages_synced: u64,
    /// Pages written early, to make room in the cache.
    pub pages_evicted: u64,
    /// Pages of the checkpoint.
    pub pages_total: u64,
    /// Slots of the old versions' buffer that are taken.
    pub buffer_used: u64,
    /// Slots of that buffer.
    pub buffer_slots: u64,
    /// Pages made dirty since the checkpoint's instant.
    pub dirty: u64,
    /// Frames of the page cache.
    pub frames: u64,
    /// Clients that have made a page dirty during this checkpoint.
    pub updaters: u64,
    /// Bytes that the log has room for until the checkpoint gives some back.
    pub log_room: u64,
}

impl Pressure {
    /// The share of the buffer that is taken.
    fn fill(&self) -> f64 {
        self.buffer_used as f64 / self.buffer_slots.max(1) as f64
    }

    /// The share of the cache that is dirty.
    fn dirty_share(&self) -> f64 {
        self.dirty as f64 / self.frames.max(1) as f64
    }

    /// Whether a checkpoint runs whose pages are known.
    fn has_pages(&self) -> bool {
        self.phase != Phase::Idle && self.pages_total > 0
    }
}

/// The share of dirty pages at which updates stop until the next checkpoint (checkpoint.md 3.4).
const DIRTY_MAX: f64 = 0.75;

/// What an update makes dirty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    /// Pages of the running checkpoint whose old version must be kept.
    pub in_checkpoint: u32,
    /// Other clean pages.
    pub clean: u32,
    /// Bytes that it takes of the log.
    pub log_bytes: u32,
}

/// The throttle of one store.
#[derive(Clone, Debug)]
pub struct Throttle {
    policy: Policy,
    buffer: Backoff,
    target_ratio: TargetRatio,
    speed: Speed,
    paced: Paced,
    /// The buffer was above the waking threshold when it was last looked at.
    above_waking: bool,
    with_images: bool,
}

impl Throttle {
    /// A throttle that has seen nothing yet.
    pub fn new(policy: Policy) -> Throttle {
        Throttle {
            policy,
            buffer: Backoff::new(),
            target_ratio: TargetRatio::new(),
            speed: Speed::new(),
            paced: Paced::new(),
            above_waking: false,
            with_images: false,
        }
    }

    /// How long an update must sleep before it makes these pages dirty.
    pub fn charge(&mut self, now: Time, pressure: &Pressure, touch: Touch) -> Span {
        self.with_images = pressure.with_images;
        self.look_at_buffer(pressure.buffer_used, pressure.buffer_slots);
        if self.policy == Policy::None {
            return Span::ZERO;
        }
        if self.policy == Policy::Paced {
            return self.paced.charge(now, pressure, touch);
        }
        let kept = self.kept_sleep(pressure, touch.in_checkpoint);
        (kept + self.clean_sleep(now, pressure, touch)).min(SLEEP_MAX)
    }

    /// A checkpoint has taken its instant.
    pub fn checkpoint_began(&mut self, now: Time) {
        self.speed.checkpoint_began(now);
        self.paced.checkpoint_began(now);
    }

    /// The checkpoint has ended. The owner wakes all sleepers.
    pub fn checkpoint_ended(&mut self, now: Time) {
        self.buffer.reset();
        self.target_ratio.reset();
        self.paced.checkpoint_ended(now);
    }

    /// Old versions were given back. True if all sleepers are to be woken now: once each time that the buffer comes down
    /// to the policy's waking threshold.
    pub fn buffer_released(&mut self, used: u64, slots: u64) -> bool {
        let was_above = self.above_waking;
        self.look_at_buffer(used, slots);
        let wakes = was_above && !self.above_waking;
        if wakes {
            self.buffer.reset();
        }
        wakes && !matches!(self.policy, Policy::None | Policy::Paced)
    }

    fn look_at_buffer(&mut self, used: u64, slots: u64) {
        let threshold = if self.by_fill_rate() { fill_rate::WAKE_AT } else { backoff::WAKE_AT };
        self.above_waking = used as f64 > threshold * slots as f64;
    }

    /// Which of the two protects the buffer (11.2).
    fn by_fill_rate(&self) -> bool {
        match self.policy {
            Policy::FillRate => true,
            Policy::TargetRatio | Policy::Speed => self.with_images,
            Policy::None | Policy::Exponential | Policy::Paced => false,
        }
    }

    /// The sleep for pages whose old version must be kept.
    fn kept_sleep(&mut self, pressure: &Pressure, pages: u32) -> Span {
        if pages == 0 {
            Span::ZERO
        } else if self.by_fill_rate() {
            fill_rate::sleep(pressure) * u64::from(pages)
        } else {
            self.buffer.sleeps_above(pressure.fill(), backoff::START_ABOVE, pages)
        }
    }

    /// The sleep for the other pages.
    fn clean_sleep(&mut self, now: Time, pressure: &Pressure, touch: Touch) -> Span {
        match self.policy {
            Policy::TargetRatio => self.target_ratio.sleep(pressure, touch.clean),
            Policy::Speed => self.speed.sleep(now, pressure, touch),
            _ => Span::ZERO,
        }
    }
}
