//! Setups by two figures at once, and the frontier through some of them.

use super::NARROW;
use super::frame::{LegendEntry, Plot, legend, time_axes};
use super::labels::place_labels;
use crate::palette::Look;
use loadline_draw::number::plain;
use loadline_draw::{Anchor, Canvas, Scale};

/// Dots on two linear axes from zero, and a line through some of them.
pub(crate) struct FrontierChart {
    pub(crate) title: String,
    /// Of the figure across, and of the one up.
    pub(crate) units: (&'static str, &'static str),
    /// From the left to the right, each further down than the one before.
    pub(crate) frontier: Vec<(f64, f64)>,
    pub(crate) points: Vec<FrontierPoint>,
}

/// One setup.
pub(crate) struct FrontierPoint {
    pub(crate) label: String,
    pub(crate) look: Look,
    /// Its figure across, and the one up.
    pub(crate) at: (f64, f64),
}

impl FrontierChart {
    pub(crate) fn svg(&self, width: f64) -> String {
        let narrow = width < NARROW;
        let mut canvas = Canvas::new(width, &self.title);
        let top = if narrow {
            let of = self.points.iter();
            let entries: Vec<_> =
                of.map(|point| LegendEntry::setup(point.look, &point.label)).collect();
            legend(&mut canvas, width, &entries) + 22.0
        } else {
            24.0
        };
        let plot = Plot { left: 58.0, right: width - 10.0, top, bottom: top + 290.0 };
        let most = |of: fn(&(f64, f64)) -> f64| {
            self.points.iter().map(|point| of(&point.at)).fold(1.0, f64::max)
        };
        let x = Scale::linear(most(|at| at.0), 6).between(plot.left, plot.right);
        let y = Scale::linear(most(|at| at.1), 6).between(plot.bottom, plot.top);
        let height = time_axes(&mut canvas, &plot, &x, &y, self.units.0);
        canvas.text("q", 2.0, plot.top - 10.0, Anchor::Start, self.units.1);
        self.draw_frontier(&mut canvas, &plot, &x, &y);
        let dots: Vec<(f64, f64)> =
            self.points.iter().map(|point| (x.at(point.at.0), y.at(point.at.1))).collect();
        for (point, (left, up)) in self.points.iter().zip(&dots) {
            let class = format!("row {}", point.look.classes());
            canvas.open_group(&class, Some(point.look.setup), &self.told(point));
            canvas.circle("dot", *left, *up, 5.5);
            canvas.close_group();
        }
        if !narrow {
            self.draw_labels(&mut canvas, &plot, &dots);
        }
        canvas.finish(height)
    }

    fn told(&self, point: &FrontierPoint) -> String {
        let ((across, up), (objects, iops)) = (point.at, self.units);
        format!("{}: {} {objects}, {} {iops}", point.label, plain(across), plain(up))
    }

    /// Level from the left edge to its first point, and straight down from its last.
    fn draw_frontier(&self, canvas: &mut Canvas, plot: &Plot, x: &Scale, y: &Scale) {
        let inside: Vec<_> = self.frontier.iter().map(|(a, b)| (x.at(*a), y.at(*b))).collect();
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else { return };
        let ends = ((plot.left, first.1), (last.0, plot.bottom));
        let all: Vec<_> =
            [ends.0].into_iter().chain(inside.iter().copied()).chain([ends.1]).collect();
        for pair in all.windows(2) {
            canvas.line("frontier", pair[0], pair[1]);
        }
    }

    fn draw_labels(&self, canvas: &mut Canvas, plot: &Plot, dots: &[(f64, f64)]) {
        let names: Vec<&str> = self.points.iter().map(|point| point.label.as_str()).collect();
        // A course of two points as wide as a dot, so that names keep off the dots.
        let around = |(x, y): &(f64, f64)| vec![Some((x - 5.0, *y)), Some((x + 5.0, *y))];
        let courses: Vec<_> = dots.iter().map(around).collect();
        for (point, place) in self.points.iter().zip(place_labels(plot, &names, &courses)) {
            let Some((x, y)) = place else { continue };
            let class = format!("name {}", point.look.classes());
            canvas.open_group(&class, Some(point.look.setup), &point.label);
            canvas.text("ink halo", x, y, Anchor::Start, &point.label);
            canvas.close_group();
        }
    }
}
