//! Exponential back-off (checkpoint.md 11.3): each sleep is a twentieth longer than the one before, until a reset.
//!
//! It corrects itself where slots come free all the time. While images are written none comes free, nothing resets it,
//! and after some hundred pages every updater sleeps; the published formula has no upper limit at all, so here
//! [`SLEEP_MAX`] ends it.

use super::SLEEP_MAX;
use loadline_base::Span;

/// The share of the buffer above which updates sleep.
pub(super) const START_ABOVE: f64 = 2.0 / 3.0;
/// The share of the buffer at which sleepers are woken.
pub(super) const WAKE_AT: f64 = 0.5;

const FIRST: f64 = 4e-6;
const GROWTH: f64 = 1.05;

/// A back-off, shared by all updaters.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    /// The next sleep in seconds, kept as a product: the same on every machine, which a power function is not.
    next: f64,
}

impl Backoff {
    pub(super) const fn new() -> Backoff {
        Backoff { next: FIRST }
    }

    pub(super) const fn reset(&mut self) {
        self.next = FIRST;
    }

    /// The next sleep.
    pub(super) fn sleep(&mut self) -> Span {
        let limit = SLEEP_MAX.as_secs_f64();
        let sleep = self.next;
        self.next = (sleep * GROWTH).min(limit);
        Span::from_secs_f64(sleep)
    }

    /// The sleeps of this many pages if `share` is above `threshold`; otherwise a reset.
    pub(super) fn sleeps_above(&mut self, share: f64, threshold: f64, pages: u32) -> Span {
        if share <= threshold {
            self.reset();
            return Span::ZERO;
        }
        (0..pages).fold(Span::ZERO, |sum, _| sum + self.sleep())
    }
}
