//! Target ratio (checkpoint.md 11.5): the share of dirty pages may grow with the checkpoint's progress; above it, back-off.

use super::backoff::Backoff;
use super::{DIRTY_MAX, Pressure};
use loadline_base::Span;

/// The policy's state: one back-off.
#[derive(Clone, Debug)]
pub(super) struct TargetRatio {
    backoff: Backoff,
}

impl TargetRatio {
    pub(super) const fn new() -> TargetRatio {
        TargetRatio { backoff: Backoff::new() }
    }

    pub(super) const fn reset(&mut self) {
        self.backoff.reset();
    }

    /// The sleep for this many clean pages.
    pub(super) fn sleep(&mut self, pressure: &Pressure, pages: u32) -> Span {
        if pages == 0 || !pressure.has_pages() {
            return Span::ZERO;
        }
        self.backoff.sleeps_above(pressure.dirty_share(), limit(pressure), pages)
    }
}

/// The share of dirty pages above which updates sleep.
pub(super) fn limit(pressure: &Pressure) -> f64 {
    let total = pressure.pages_total as f64;
    let (images, pages) = (pressure.images_written as f64, pressure.pages_written as f64);
    let progress =
        if pressure.with_images { (images + pages) / (2.0 * total) } else { pages / total };
    if pressure.pages_written >= pressure.pages_total {
        DIRTY_MAX
    } else {
        (0.95 * progress + 0.05) * 7.0 / 12.0
    }
}
