//! Setups by two figures at once, and the frontier through some of them.

use super::NARROW;
use super::dot_names::{Leg, NamedDot, place_beside_dots};
use super::frame::{LegendEntry, Plot, legend, time_axes};
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

/// The radius of a dot, of the ring around the recommended one, and of the cross over one that broke what is asked.
const DOT: f64 = 5.5;
const RING: f64 = 11.0;
const CROSS: f64 = 8.0;

impl FrontierChart {
    pub(crate) fn svg(&self, width: f64) -> String {
        let is_narrow = width < NARROW;
        let mut canvas = Canvas::new(width, &self.title);
        let plot = Plot { left: 58.0, right: width - 10.0, top: 24.0, bottom: 24.0 + 290.0 };
        let across = self.points.iter().map(|point| point.at.0);
        let up = self.points.iter().map(|point| point.at.1);
        let x = &scale(across).between(plot.left, plot.right);
        let y = &scale(up).between(plot.bottom, plot.top);
        let height = time_axes(&mut canvas, &plot, x, y, self.axes.0.unit);
        canvas.text("q", 2.0, plot.top - 10.0, Anchor::Start, self.axes.1.unit);
        let mut lines = self.frontier_lines(&plot, (x, y));
        lines.iter().for_each(|(from, to)| canvas.line("frontier", *from, *to));
        let dots: Vec<NamedDot> =
            self.points.iter().map(|point| point.dot((x, y), is_narrow)).collect();
        for (point, dot) in self.points.iter().zip(&dots) {
            let class = format!("row {}", point.look.classes());
            canvas.open_group(&class, Some(point.look.setup), &self.told(point));
            let whiskers = point.whiskers(dot.at, &plot, (x, y));
            whiskers.iter().for_each(|(from, to)| canvas.line("reach", *from, *to));
            lines.extend(whiskers);
            point.draw(&mut canvas, dot.at);
            canvas.close_group();
        }
        self.draw_names(&mut canvas, &plot, &dots, &lines);
        if !is_narrow {
            return canvas.finish(height);
        }
        let entries: Vec<_> =
            self.points.iter().map(|of| LegendEntry::setup(of.look, &of.label)).collect();
        let height = legend(&mut canvas, width, height, &entries);
        canvas.finish(height)
    }

    fn told(&self, point: &FrontierPoint) -> String {
        let ((across, up), (of_x, of_y)) = (point.at, &self.axes);
        format!("{}: {} {}, {} {}", point.label, plain(up), of_y.unit, plain(across), of_x.unit)
    }

    /// Level from the worse edge to its first point, and upright from its last to the worse edge.
    fn frontier_lines(&self, plot: &Plot, (x, y): (&Scale, &Scale)) -> Vec<Leg> {
        let inside: Vec<_> = self.frontier.iter().map(|(a, b)| (x.at(*a), y.at(*b))).collect();
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else { return Vec::new() };
        let (of_x, of_y) = &self.axes;
        let side = if of_x.falls { plot.right } else { plot.left };
        let edge = if of_y.falls { plot.top } else { plot.bottom };
        let ends = ((side, first.1), (last.0, edge));
        let all: Vec<_> =
            [ends.0].into_iter().chain(inside.iter().copied()).chain([ends.1]).collect();
        all.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// Names beside the dots. That of the recommended one has the first choice.
    fn draw_names(&self, canvas: &mut Canvas, plot: &Plot, dots: &[NamedDot], lines: &[Leg]) {
        let mut order: Vec<usize> = (0..dots.len()).collect();
        order.sort_by_key(|place| !self.points[*place].is_chosen);
        let in_order: Vec<NamedDot> = order.iter().map(|place| dots[*place].clone()).collect();
        let places = place_beside_dots(plot, &in_order, lines);
        for (number, place) in order.into_iter().zip(places) {
            let point = &self.points[number];
            let (Some(name), Some(place)) = (&dots[number].name, place) else { continue };
            let class = format!("name {}", point.look.classes());
            canvas.open_group(&class, Some(point.look.setup), &point.label);
            if let Some((from, to)) = place.leader {
                canvas.line("leader", from, to);
            }
            let ((x, y), anchor) = place.text();
            canvas.text("ink halo", x, y, anchor, name);
            canvas.close_group();
        }
    }
}

impl FrontierPoint {
    /// Where it is, with its name; where names have no room, the recommended one is named as that, and the legend names the others.
    fn dot(&self, (x, y): (&Scale, &Scale), is_narrow: bool) -> NamedDot {
        let radius = match (self.is_chosen, self.is_broken) {
            (true, _) => RING,
            (false, true) => CROSS,
            (false, false) => DOT,
        };
        let name = match (is_narrow, self.is_chosen) {
            (true, true) => Some("recommended".to_owned()),
            (true, false) => None,
            (false, true) => Some(format!("{}: recommended", self.label)),
            (false, false) => Some(self.label.clone()),
        };
        NamedDot { name, at: (x.at(self.at.0), y.at(self.at.1)), radius }
    }

    /// Its intervals, as far as they lie on the plot.
    fn whiskers(&self, (left, up): (f64, f64), plot: &Plot, (x, y): (&Scale, &Scale)) -> Vec<Leg> {
        let within = |value: f64, low: f64, high: f64| value.clamp(low.min(high), low.max(high));
        let across = self.intervals.0.map(|(low, high)| {
            let end = |value| (within(x.at(value), plot.left, plot.right), up);
            (end(low), end(high))
        });
        let upright = self.intervals.1.map(|(low, high)| {
            let end = |value| (left, within(y.at(value), plot.bottom, plot.top));
            (end(low), end(high))
        });
        across.into_iter().chain(upright).collect()
    }

    fn draw(&self, canvas: &mut Canvas, (x, y): (f64, f64)) {
        canvas.circle("dot", x, y, DOT);
        if self.is_broken {
            canvas.line("cross", (x - CROSS, y - CROSS), (x + CROSS, y + CROSS));
            canvas.line("cross", (x - CROSS, y + CROSS), (x + CROSS, y - CROSS));
        }
        if self.is_chosen {
            canvas.circle("ring", x, y, RING);
        }
    }
}
