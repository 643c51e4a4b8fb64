//! The box that data is drawn in, its axes and its legend.

use crate::palette::Look;
use loadline_draw::{Anchor, Canvas, Scale, text_width};

/// The data's box in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// Where a row of a narrow chart has its label and its bar, below its own top.
#[derive(Clone, Copy)]
pub(super) struct NarrowRow {
    pub(super) height: f64,
    /// Base line of the label.
    pub(super) label: f64,
    pub(super) bar: f64,
    pub(super) thick: f64,
}

/// More rows than this stand closer, so that a chart of them fits on a page beside others.
const ROOMY_ROWS: usize = 8;

pub(super) fn is_crowded(rows: usize) -> bool {
    rows > ROOMY_ROWS
}

impl NarrowRow {
    pub(super) fn of(rows: usize) -> NarrowRow {
        match is_crowded(rows) {
            false => NarrowRow { height: 44.0, label: 14.0, bar: 20.0, thick: 18.0 },
            true => NarrowRow { height: 31.0, label: 11.0, bar: 14.0, thick: 12.0 },
        }
    }
}

/// Pixels between two ticks' labels, so that none touch.
const TICK_PIXELS: f64 = 64.0;

impl Plot {
    fn ticks_across(&self) -> usize {
        (((self.right - self.left) / TICK_PIXELS) as usize).clamp(2, 10)
    }
}

/// Half the width of a mark, in pixels.
pub(super) const MARK: f64 = 5.5;

/// The sign of a published value.
pub(super) fn diamond(canvas: &mut Canvas, x: f64, y: f64) {
    let (left, right, top, bottom) = (x - MARK, x + MARK, y - MARK, y + MARK);
    let data = format!("M{left:.1} {y:.1}L{x:.1} {top:.1}L{right:.1} {y:.1}L{x:.1} {bottom:.1}Z");
    canvas.path("pub", &data);
}

/// Draws the horizontal value axis below the plot; returns the height of the drawing.
pub(super) fn value_axis(
    canvas: &mut Canvas,
    plot: &Plot,
    scale: &Scale,
    unit: &str,
    with_published: bool,
) -> f64 {
    across(canvas, plot, scale);
    canvas.line("axis", (plot.left, plot.top), (plot.left, plot.bottom));
    let base = plot.bottom + 34.0;
    canvas.text("q", plot.right, base, Anchor::End, unit);
    if with_published {
        diamond(canvas, plot.left + 6.0, base - 4.0);
        canvas.text("q", plot.left + 17.0, base, Anchor::Start, "published");
    }
    base + 8.0
}

/// Draws a time axis below and a value axis left of the plot; returns the drawing's height.
pub(super) fn time_axes(canvas: &mut Canvas, plot: &Plot, x: &Scale, y: &Scale, unit: &str) -> f64 {
    let count = (((plot.bottom - plot.top) / 42.0) as usize).clamp(3, 8);
    for (value, label) in y.ticks(count) {
        let at = y.at(value);
        canvas.line("grid", (plot.left, at), (plot.right, at));
        canvas.text("q", plot.left - 6.0, at + 4.0, Anchor::End, &label);
    }
    across(canvas, plot, x);
    canvas.line("axis", (plot.left, plot.bottom), (plot.right, plot.bottom));
    canvas.text("q", plot.right, plot.bottom + 32.0, Anchor::End, unit);
    plot.bottom + 40.0
}

fn across(canvas: &mut Canvas, plot: &Plot, scale: &Scale) {
    for (value, label) in scale.ticks(plot.ticks_across()) {
        let at = scale.at(value);
        canvas.line("grid", (at, plot.top), (at, plot.bottom));
        // The labels at both ends stay inside the drawing.
        let half = text_width(&label) / 2.0;
        let (x, anchor) = if at - half < 0.0 {
            (at.max(0.0), Anchor::Start)
        } else if at + half > plot.right + 8.0 {
            (plot.right + 6.0, Anchor::End)
        } else {
            (at, Anchor::Middle)
        };
        canvas.text("q", x, plot.bottom + 16.0, anchor, &label);
    }
}

/// One entry of a legend: the class of its swatch, its text, the setup it stands for.
pub(super) struct LegendEntry<'a> {
    pub(super) class: String,
    pub(super) text: &'a str,
    pub(super) setup: Option<usize>,
}

impl<'a> LegendEntry<'a> {
    pub(super) fn setup(look: Look, text: &'a str) -> LegendEntry<'a> {
        LegendEntry { class: look.classes(), text, setup: Some(look.setup) }
    }
}

/// Draws a legend in rows below `top`, from the left edge on; returns the `y` below it.
pub(super) fn legend(
    canvas: &mut Canvas,
    width: f64,
    top: f64,
    entries: &[LegendEntry<'_>],
) -> f64 {
    let (mut x, mut y) = (2.0, top + 4.0);
    for entry in entries {
        let needed = 18.0 + text_width(entry.text) + 12.0;
        if x + needed > width && x > 2.0 {
            (x, y) = (2.0, y + 20.0);
        }
        canvas.open_group(&format!("key {}", entry.class), entry.setup, entry.text);
        canvas.rect("bar", x, y + 2.0, 12.0, 12.0);
        canvas.text("t", x + 17.0, y + 12.5, Anchor::Start, entry.text);
        canvas.close_group();
        x += needed;
    }
    y + 26.0
}
