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
mod pressure;
#[cfg(test)]
mod simulation;
mod speed;
mod target_ratio;
#[cfg(test)]
mod tests;

pub use policy::ThrottlePolicy;
use pressure::DIRTY_MAX;
pub use pressure::{CheckpointPhase, Dirtied, Pressure, SLEEP_MAX};

use backoff::Backoff;
use loadline_base::{Span, Time};
use paced::Paced;
use speed::Speed;
use target_ratio::TargetRatio;

/// The throttle of one store.
#[derive(Clone, Debug)]
pub struct Throttle {
    policy: ThrottlePolicy,
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
    pub fn new(policy: ThrottlePolicy) -> Throttle {
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
    pub fn charge(&mut self, now: Time, pressure: &Pressure, touch: Dirtied) -> Span {
        self.with_images = pressure.with_images;
        self.look_at_buffer(pressure.buffer_used, pressure.buffer_slots);
        if self.policy == ThrottlePolicy::None {
            return Span::ZERO;
        }
        if self.policy == ThrottlePolicy::Paced {
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
        wakes && !matches!(self.policy, ThrottlePolicy::None | ThrottlePolicy::Paced)
    }

    fn look_at_buffer(&mut self, used: u64, slots: u64) {
        let threshold = if self.by_fill_rate() { fill_rate::WAKE_AT } else { backoff::WAKE_AT };
        self.above_waking = used as f64 > threshold * slots as f64;
    }

    /// Which of the two protects the buffer (11.2).
    fn by_fill_rate(&self) -> bool {
        match self.policy {
            ThrottlePolicy::FillRate => true,
            ThrottlePolicy::TargetRatio | ThrottlePolicy::Speed => self.with_images,
            ThrottlePolicy::None | ThrottlePolicy::Exponential | ThrottlePolicy::Paced => false,
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
    fn clean_sleep(&mut self, now: Time, pressure: &Pressure, touch: Dirtied) -> Span {
        match self.policy {
            ThrottlePolicy::TargetRatio => self.target_ratio.sleep(pressure, touch.clean),
            ThrottlePolicy::Speed => self.speed.sleep(now, pressure, touch),
            _ => Span::ZERO,
        }
    }
}
