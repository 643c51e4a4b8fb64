//! Percentiles on one logarithmic axis: a row per setup, a dot per percentile.

use super::NARROW;
use super::frame::{Plot, is_crowded, value_axis};
use crate::palette::Look;
use loadline_draw::{Anchor, Canvas, Scale, number, text_width};

/// Rows of dots that share a logarithmic axis.
pub(crate) struct DotChart {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    /// What each dot of a row stands for, in rising order.
    pub(crate) names: Vec<&'static str>,
    pub(crate) rows: Vec<DotRow>,
}

/// One setup's values, one per name.
pub(crate) struct DotRow {
    pub(crate) label: String,
    pub(crate) look: Look,
    pub(crate) values: Vec<f64>,
}

impl DotChart {
    pub(crate) fn svg(&self, width: f64) -> String {
        let narrow = width < NARROW;
        let row = if narrow && !is_crowded(self.rows.len()) { 68.0 } else { 50.0 };
        let labels = self.rows.iter().map(|row| text_width(&row.label)).fold(0.0, f64::max);
        let left = if narrow { 6.0 } else { labels + 14.0 };
        let bottom = 4.0 + row * self.rows.len() as f64;
        let plot = Plot { left, right: width - 14.0, top: 4.0, bottom };
        let values = || self.rows.iter().flat_map(|row| &row.values).copied().filter(|v| *v > 0.0);
        let (min, max) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let mut canvas = Canvas::new(width, &self.title);
        if max == 0.0 {
            canvas.text("q", 2.0, 20.0, Anchor::Start, "no operation completed");
            return canvas.finish(30.0);
        }
        let scale = Scale::log(min, max).between(plot.left, plot.right);
        let height = value_axis(&mut canvas, &plot, &scale, self.unit, false);
        for (place, setup) in self.rows.iter().enumerate() {
            self.draw_row(&mut canvas, setup, &plot, &scale, plot.top + row * place as f64);
        }
        canvas.finish(height)
    }

    fn draw_row(&self, canvas: &mut Canvas, row: &DotRow, plot: &Plot, scale: &Scale, top: f64) {
        let pairs = || self.names.iter().zip(&row.values);
        let told: Vec<_> =
            pairs().map(|(name, value)| format!("{name} {}", number::plain(*value))).collect();
        let title = format!("{}: {} {}", row.label, told.join(", "), self.unit);
        canvas.open_group(&format!("row {}", row.look.classes()), Some(row.look.setup), &title);
        let y = if plot.left < 20.0 {
            canvas.text("t", plot.left, top + 11.0, Anchor::Start, &row.label);
            top + if is_crowded(self.rows.len()) { 30.0 } else { 42.0 }
        } else {
            canvas.text("t", plot.left - 12.0, top + 29.0, Anchor::End, &row.label);
            top + 25.0
        };
        if let (Some(first), Some(last)) = (row.values.first(), row.values.last()) {
            canvas.line("range", (scale.at(*first), y), (scale.at(*last), y));
        }
        let mut above = f64::NEG_INFINITY;
        let mut below = f64::NEG_INFINITY;
        for (name, value) in pairs() {
            let x = scale.at(*value);
            canvas.circle("dot", x, y, 4.5);
            let half = text_width(name) / 2.0;
            let x = x.clamp(half, plot.right + 13.0 - half);
            // A name stands above its dot; below it where the one before leaves no room.
            if x - half > above {
                canvas.text("q", x, y - 9.0, Anchor::Middle, name);
                above = x + half + 6.0;
            } else if x - half > below {
                canvas.text("q", x, y + 17.0, Anchor::Middle, name);
                below = x + half + 6.0;
            }
        }
        canvas.close_group();
    }
}
