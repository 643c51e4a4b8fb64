//! Horizontal bars, one per setup, with the published value marked beside ours.

use super::NARROW;
use super::frame::{MARK, NarrowRow, Plot, diamond, value_axis};
use crate::palette::Look;
use loadline_draw::{Anchor, Canvas, Scale, text_width};

/// Bars from zero on one linear axis.
pub(crate) struct BarChart {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    pub(crate) bars: Vec<Bar>,
}

/// One setup's value.
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) look: Look,
    pub(crate) value: f64,
    pub(crate) text: String,
    /// Ends of the 95 % interval over repeats.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) published: Option<Mark>,
}

/// A published value.
pub(crate) struct Mark {
    pub(crate) value: f64,
    pub(crate) text: String,
}

impl BarChart {
    pub(crate) fn svg(&self, width: f64) -> String {
        let narrow = (width < NARROW).then(|| NarrowRow::of(self.bars.len()));
        let row = narrow.map_or(34.0, |row| row.height);
        let left = if narrow.is_some() { 2.0 } else { self.label_width() + 10.0 };
        // Room for a value behind the longest bar and behind a mark at its end.
        let texts = self.bars.iter().map(|bar| text_width(&bar.text)).fold(0.0, f64::max);
        let right = width - texts - 2.0 * MARK - 6.0;
        let plot = Plot { left, right, top: 4.0, bottom: 4.0 + row * self.rows() };
        let scale = Scale::linear(self.max(), 5).between(plot.left, plot.right);
        let mut canvas = Canvas::new(width, &self.title);
        let height = value_axis(&mut canvas, &plot, &scale, self.unit, self.has_marks());
        for (place, bar) in self.bars.iter().enumerate() {
            draw_bar(&mut canvas, bar, &plot, &scale, plot.top + row * place as f64, narrow);
        }
        canvas.finish(height)
    }

    fn rows(&self) -> f64 {
        self.bars.len() as f64
    }

    fn has_marks(&self) -> bool {
        self.bars.iter().any(|bar| bar.published.is_some())
    }

    fn max(&self) -> f64 {
        let ends = self.bars.iter().flat_map(|bar| {
            let published = bar.published.as_ref().map_or(0.0, |mark| mark.value);
            [bar.value, published, bar.interval.map_or(0.0, |(_, high)| high)]
        });
        ends.fold(0.0, f64::max)
    }

    fn label_width(&self) -> f64 {
        self.bars.iter().map(|bar| text_width(&bar.label)).fold(0.0, f64::max)
    }
}

fn draw_bar(
    canvas: &mut Canvas,
    bar: &Bar,
    plot: &Plot,
    scale: &Scale,
    top: f64,
    narrow: Option<NarrowRow>,
) {
    let (y, thick) = narrow.map_or((top + 7.0, 20.0), |row| (top + row.bar, row.thick));
    canvas.open_group(&format!("row {}", bar.look.classes()), Some(bar.look.setup), &title(bar));
    match narrow {
        Some(row) => canvas.text("t", plot.left, top + row.label, Anchor::Start, &bar.label),
        None => canvas.text("t", plot.left - 10.0, y + 14.5, Anchor::End, &bar.label),
    }
    let end = scale.at(bar.value);
    canvas.rect("bar", plot.left, y, end - plot.left, thick);
    let middle = y + thick / 2.0;
    let mut value_end = end;
    if let Some((low, high)) = bar.interval {
        whisker(canvas, scale.at(low.max(0.0)), scale.at(high), middle);
        value_end = end.max(scale.at(high));
    }
    let mark = bar.published.as_ref().map(|mark| scale.at(mark.value));
    if let Some(x) = mark {
        diamond(canvas, x, middle);
    }
    place_value(canvas, bar, value_end, mark, middle + 4.5);
    canvas.close_group();
}

/// The value stands right of the bar; where the mark would touch it, right of the mark.
fn place_value(canvas: &mut Canvas, bar: &Bar, end: f64, mark: Option<f64>, y: f64) {
    let start = end + 7.0;
    let touched =
        |mark: &f64| *mark > end - MARK && *mark < start + text_width(&bar.text) + 2.0 * MARK;
    let x = mark.filter(touched).map_or(start, |mark| start.max(mark + MARK + 4.0));
    canvas.text("t b", x, y, Anchor::Start, &bar.text);
}

fn whisker(canvas: &mut Canvas, low: f64, high: f64, y: f64) {
    canvas.line("whisker", (low, y), (high, y));
    canvas.line("whisker", (low, y - 4.0), (low, y + 4.0));
    canvas.line("whisker", (high, y - 4.0), (high, y + 4.0));
}

fn title(bar: &Bar) -> String {
    let published = bar.published.as_ref();
    let theirs = published.map_or_else(String::new, |mark| format!("; published: {}", mark.text));
    format!("{}: {}{theirs}", bar.label, bar.text)
}
