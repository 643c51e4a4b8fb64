//! Stacked horizontal bars: of what a total is made.

use super::NARROW;
use super::frame::{LegendEntry, NarrowRow, Plot, legend, value_axis};
use loadline_draw::{Anchor, Canvas, Scale, number, text_width};

/// Rows of parts that share one linear axis.
pub(crate) struct StackChart {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    /// What each part of a row is.
    pub(crate) names: Vec<&'static str>,
    pub(crate) rows: Vec<StackRow>,
}

/// One setup's parts, one per name.
pub(crate) struct StackRow {
    pub(crate) label: String,
    pub(crate) setup: usize,
    pub(crate) parts: Vec<f64>,
}

impl StackRow {
    fn total(&self) -> f64 {
        self.parts.iter().sum()
    }
}

impl StackChart {
    pub(crate) fn svg(&self, width: f64) -> String {
        let narrow = (width < NARROW).then(|| NarrowRow::of(self.rows.len()));
        let mut canvas = Canvas::new(width, &self.title);
        let shown = |n: &usize| self.rows.iter().any(|row| row.parts[*n] > 0.0);
        let entries: Vec<_> = (0..self.names.len())
            .filter(shown)
            .map(|n| LegendEntry { class: format!("s{n}"), text: self.names[n], setup: None })
            .collect();
        let top = legend(&mut canvas, width, 0.0, &entries);
        let row = narrow.map_or(30.0, |row| row.height);
        let labels = self.rows.iter().map(|row| text_width(&row.label)).fold(0.0, f64::max);
        let left = if narrow.is_some() { 2.0 } else { labels + 10.0 };
        let bottom = top + row * self.rows.len() as f64;
        let plot = Plot { left, right: width - 8.0, top, bottom };
        let max = self.rows.iter().map(StackRow::total).fold(0.0, f64::max);
        // The total stands behind the bar; 12 % keep room for it behind the longest.
        let scale = Scale::linear(max * 1.12, 5).between(plot.left, plot.right);
        let height = value_axis(&mut canvas, &plot, &scale, self.unit, false);
        for (place, setup) in self.rows.iter().enumerate() {
            self.draw_row(&mut canvas, setup, &plot, &scale, top + row * place as f64, narrow);
        }
        canvas.finish(height)
    }

    fn draw_row(
        &self,
        canvas: &mut Canvas,
        row: &StackRow,
        plot: &Plot,
        scale: &Scale,
        top: f64,
        narrow: Option<NarrowRow>,
    ) {
        let (y, thick) = narrow.map_or((top + 5.0, 18.0), |of| (top + of.bar, of.thick));
        canvas.open_group("row", Some(row.setup), &row.label);
        match narrow {
            Some(of) => canvas.text("t", plot.left, top + of.label, Anchor::Start, &row.label),
            None => canvas.text("t", plot.left - 10.0, y + 14.0, Anchor::End, &row.label),
        }
        let mut before = 0.0;
        for (n, part) in row.parts.iter().enumerate().filter(|(_, part)| **part > 0.0) {
            let text = format!("{} {} {}", self.names[n], number::plain(*part), self.unit);
            canvas.open_group(&format!("s{n}"), None, &format!("{}: {text}", row.label));
            let (from, to) = (scale.at(before), scale.at(before + part));
            canvas.rect("bar", from, y, to - from, thick);
            canvas.close_group();
            before += part;
        }
        let total = number::plain(row.total());
        canvas.text("t b", scale.at(before) + 7.0, y + thick / 2.0 + 4.5, Anchor::Start, &total);
        canvas.close_group();
    }
}
