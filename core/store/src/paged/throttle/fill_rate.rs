//! Fill rate (checkpoint.md 11.4): the buffer may fill as fast as the checkpoint advances; being ahead of it costs.
//!
//! Images weigh twice as much as pages, because the buffer is free by the time the pages are durable and until then two
//! thirds of the time go into images.

use super::{CheckpointPhase, Pressure};
use loadline_base::Span;

/// The share of the buffer up to which nobody sleeps.
const START_ABOVE: f64 = 0.25;
/// The share of the buffer at which sleepers are woken.
pub(super) const WAKE_AT: f64 = 0.2;

const SHORTEST: f64 = 10e-6;
/// The longest sleep is one second.
const LONGEST_TO_SHORTEST: f64 = 1.0 / SHORTEST;

/// The sleep for one page of the checkpoint.
pub(super) fn sleep(pressure: &Pressure) -> Span {
    let counted = matches!(
        pressure.phase,
        CheckpointPhase::Images | CheckpointPhase::Pages | CheckpointPhase::Syncing
    );
    if !counted || pressure.pages_total == 0 || pressure.fill() <= START_ABOVE {
        return Span::ZERO;
    }
    let progress = progress(pressure);
    let fill = pressure.fill();
    if fill <= progress || progress >= 1.0 {
        return Span::ZERO;
    }
    by_gap((fill - progress) / (1.0 - progress))
}

/// How far the checkpoint is, as the buffer sees it. Without images the published formula has no image term to count.
fn progress(pressure: &Pressure) -> f64 {
    let (images, pages) = (pressure.images_written as f64, pressure.pages_written as f64);
    let total = pressure.pages_total as f64;
    if pressure.with_images { (2.0 * images + pages) / (3.0 * total) } else { pages / total }
}

/// `10 us * 100000^x` for x in 0 to 1.
pub(super) fn by_gap(x: f64) -> Span {
    Span::from_secs_f64(SHORTEST * power(LONGEST_TO_SHORTEST, x))
}

/// `base^x` for x in 0 to 1, by square roots: they are exact in IEEE arithmetic, so every machine gets the same sleep,
/// which the exponential function of its mathematics library does not promise.
fn power(base: f64, x: f64) -> f64 {
    if x >= 1.0 {
        return base;
    }
    let (mut result, mut root, mut rest) = (1.0, base, x);
    for _ in 0..32 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            rest -= 1.0;
            result *= root;
        }
    }
    result
}
