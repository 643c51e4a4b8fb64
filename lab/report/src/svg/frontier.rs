//! Setups by two figures at once, and the frontier through some of them.

use super::NARROW;
use super::frame::{LegendEntry, Plot, legend, time_axes};
use super::labels::{DotName, place_beside_dots};
use crate::palette::Look;
use loadline_draw::number::plain;
use loadline_draw::{Anchor, Canvas, Scale};

/// Dots on two axes, and a line through some of them.
pub(crate) struct FrontierChart {
    pub(crate) title: String,
    /// Of the figure across, and of the one up.
    pub(crate) axes: (FrontierAxis, FrontierAxis),
    /// From the best in the figure up to the best in the one across.
    pub(crate) frontier: Vec<(f64, f64)>,
    pub(crate) points: Vec<FrontierPoint>,
}

/// What an axis shows.
pub(crate) struct FrontierAxis {
    pub(crate) unit: &'static str,
    /// Whether less is better.
    pub(crate) falls: bool,
}

/// Where an interval begins and ends, if there is one.
type IntervalEnds = Option<(f64, f64)>;

/// One setup.
pub(crate) struct FrontierPoint {
    pub(crate) label: String,
    pub(crate) look: Look,
    /// Its figure across, and the one up.
    pub(crate) at: (f64, f64),
    /// The ends of their intervals.
    pub(crate) intervals: (IntervalEnds, IntervalEnds),
    /// Whether it is recommended.
    pub(crate) is_chosen: bool,
    /// Whether it did not keep what is asked of it.
    pub(crate) is_broken: bool,
}

/// Values further apart than this lie on a logarithmic axis: on one from zero those that matter most would touch it.
const LINEAR_TO: f64 = 12.0;

/// From zero, or logarithmic where values lie far apart.
fn scale(values: impl Iterator<Item = f64> + Clone) -> Scale {
    let most = values.clone().fold(0.0, f64::max);
    let least = values.filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    match most > least * LINEAR_TO {
        true => Scale::log(least, most),
        false => Scale::linear(most, 6),
    }
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
        let across = self.points.iter().map(|point| point.at.0);
        let up = self.points.iter().map(|point| point.at.1);
        let x = scale(across).between(plot.left, plot.right);
        let y = scale(up).between(plot.bottom, plot.top);
        let height = time_axes(&mut canvas, &plot, &x, &y, self.axes.0.unit);
        canvas.text("q", 2.0, plot.top - 10.0, Anchor::Start, self.axes.1.unit);
        self.draw_frontier(&mut canvas, &plot, &x, &y);
        let dots: Vec<(f64, f64)> =
            self.points.iter().map(|point| (x.at(point.at.0), y.at(point.at.1))).collect();
        for (point, (left, up)) in self.points.iter().zip(&dots) {
            let class = format!("row {}", point.look.classes());
            canvas.open_group(&class, Some(point.look.setup), &self.told(point));
            let within =
                |value: f64, low: f64, high: f64| value.clamp(low.min(high), low.max(high));
            if let Some((low, high)) = point.intervals.0 {
                let end = |value| (within(x.at(value), plot.left, plot.right), *up);
                canvas.line("whisker", end(low), end(high));
            }
            if let Some((low, high)) = point.intervals.1 {
                let end = |value| (*left, within(y.at(value), plot.bottom, plot.top));
                canvas.line("whisker", end(low), end(high));
            }
            canvas.circle(if point.is_broken { "dot hollow" } else { "dot" }, *left, *up, 5.5);
            if point.is_chosen {
                canvas.circle("ring", *left, *up, 11.0);
            }
            canvas.close_group();
        }
        if !narrow {
            self.draw_labels(&mut canvas, &plot, &dots);
        }
        canvas.finish(height)
    }

    fn told(&self, point: &FrontierPoint) -> String {
        let ((across, up), (of_x, of_y)) = (point.at, &self.axes);
        format!("{}: {} {}, {} {}", point.label, plain(up), of_y.unit, plain(across), of_x.unit)
    }

    /// Level from the worse edge to its first point, and upright from its last to the worse edge.
    fn draw_frontier(&self, canvas: &mut Canvas, plot: &Plot, x: &Scale, y: &Scale) {
        let inside: Vec<_> = self.frontier.iter().map(|(a, b)| (x.at(*a), y.at(*b))).collect();
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else { return };
        let (of_x, of_y) = &self.axes;
        let side = if of_x.falls { plot.right } else { plot.left };
        let edge = if of_y.falls { plot.top } else { plot.bottom };
        let ends = ((side, first.1), (last.0, edge));
        let all: Vec<_> =
            [ends.0].into_iter().chain(inside.iter().copied()).chain([ends.1]).collect();
        for pair in all.windows(2) {
            canvas.line("frontier", pair[0], pair[1]);
        }
    }

    fn draw_labels(&self, canvas: &mut Canvas, plot: &Plot, dots: &[(f64, f64)]) {
        let name = |point: &FrontierPoint| match point.is_chosen {
            true => format!("{}: recommended", point.label),
            false => point.label.clone(),
        };
        let names: Vec<String> = self.points.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let places = place_beside_dots(plot, &names, dots);
        for ((point, name), place) in self.points.iter().zip(&names).zip(places) {
            let Some(DotName { start: (x, y), leader }) = place else { continue };
            let class = format!("name {}", point.look.classes());
            canvas.open_group(&class, Some(point.look.setup), &point.label);
            if let Some((from, to)) = leader {
                canvas.line("leader", from, to);
            }
            canvas.text("ink halo", x, y, Anchor::Start, name);
            canvas.close_group();
        }
    }
}
