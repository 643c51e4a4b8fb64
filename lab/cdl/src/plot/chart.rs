//! A chart: curves over queue depth or over latency, as SVG at any size.

use super::groups::Guideline;
use super::ink::{self, Ink};
use loadline_draw::{Anchor, Canvas, Scale, text_width, with_style};
use std::fmt::Write;

/// Curves in one frame.
#[derive(Clone, Debug)]
pub(super) struct CurveChart {
    /// The file's name without its ending, as the scripts have it.
    pub(super) stem: String,
    pub(super) title: &'static str,
    /// Which reads, where the title does not say.
    pub(super) subtitle: String,
    pub(super) across: Across,
    /// What the values are.
    pub(super) up: &'static str,
    pub(super) curves: Vec<Curve>,
    /// Limits, drawn across the axis that counts milliseconds.
    pub(super) limits: Vec<Guideline>,
}

/// What lies on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Across {
    /// Reads in flight.
    Depth,
    /// Milliseconds.
    Latency,
}

/// One curve.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) ink: Ink,
    pub(super) points: Vec<(f64, f64)>,
}

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// The box that holds the curves.
struct PlotFrame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Rules shared by the page and by files that stand alone; colours of text and lines are not here.
pub(super) const SHAPES: &str = include_str!("../../templates/chart.css");

/// Colours of everything that is not data on white paper.
const GROUND: &str = ".paper{fill:#fff}.t{fill:#1d2430}.q{fill:#5a6472}.grid{stroke:#e3e6ea}\
                      .axis{stroke:#8b94a1}.limit{stroke:#5a6472}.ring{fill:#fff}";

impl Across {
    fn label(self) -> &'static str {
        match self {
            Across::Depth => "I/O Queue Depth",
            Across::Latency => "Latency (ms)",
        }
    }

    fn scale(self, max: f64) -> Scale {
        match self {
            // The scripts' tics: every 8.
            Across::Depth => Scale::exact(if max > 8.0 { (max / 8.0).ceil() * 8.0 } else { max }),
            Across::Latency => Scale::exact(max),
        }
    }

    fn ticks(self, scale: &Scale, room: usize) -> Vec<(f64, String)> {
        let end = scale.ends()[3];
        match self {
            Across::Depth if end > 8.0 && end / 8.0 <= room as f64 => {
                (0..=(end / 8.0) as u32).map(|n| (f64::from(n * 8), (n * 8).to_string())).collect()
            }
            Across::Depth if end <= 8.0 => {
                (0..=end as u32).map(|n| (f64::from(n), n.to_string())).collect()
            }
            _ => scale.ticks(room),
        }
    }
}

impl CurveChart {
    /// A drawing for a page, which puts the title above it.
    pub(super) fn svg(&self, size: Size) -> String {
        let canvas = Canvas::new(f64::from(size.width), self.title);
        self.draw(canvas, size, 2.0)
    }

    /// A drawing with its title, its own paper and its own style sheet.
    pub(super) fn file(&self, size: Size) -> String {
        let (width, height) = (f64::from(size.width), f64::from(size.height));
        let mut canvas = Canvas::new(width, self.title);
        canvas.rect("paper", 0.0, 0.0, width, height);
        canvas.text("t title", 16.0, 28.0, Anchor::Start, self.title);
        let mut top = 40.0;
        if !self.subtitle.is_empty() {
            canvas.text("q", 16.0, 47.0, Anchor::Start, &self.subtitle);
            top = 58.0;
        }
        let svg = self.draw(canvas, size, top);
        let svg = with_style(&svg, &format!("{GROUND}{SHAPES}{}", ink::literal_rules()));
        // A size of its own lets a viewer show it as large as it was asked for.
        svg.replacen("<svg ", &format!("<svg width=\"{width}\" height=\"{height}\" "), 1)
    }

    fn draw(&self, mut canvas: Canvas, size: Size, top: f64) -> String {
        let (width, height) = (f64::from(size.width), f64::from(size.height));
        let inset = if top > 10.0 { 16.0 } else { 0.0 };
        let below_legend = self.legend(&mut canvas, inset, width - inset, top);
        let label = below_legend + 14.0;
        let max = self.max(|point| point.1);
        let room = ((height - label - 60.0) / 40.0).clamp(3.0, 9.0) as usize;
        let scale = Scale::linear(max, room);
        let ticks = scale.ticks(room);
        let ticks_wide = ticks.iter().map(|(_, text)| text_width(text)).fold(0.0, f64::max);
        let frame = PlotFrame {
            left: inset + ticks_wide + 8.0,
            right: width - inset.max(10.0),
            top: label + 10.0,
            bottom: height - 42.0 - inset / 2.0,
        };
        canvas.text("q", inset, label, Anchor::Start, self.up);
        let y = scale.between(frame.bottom, frame.top);
        let x = self.across.scale(self.max(|point| point.0)).between(frame.left, frame.right);
        self.axes(&mut canvas, &frame, &x, &y, &ticks);
        self.limits(&mut canvas, &frame, &x, &y);
        canvas.describe_frame(&x.ends(), &y.ends(), false);
        for (n, curve) in self.curves.iter().enumerate() {
            curve.draw(&mut canvas, n, &x, &y);
        }
        canvas.finish(height)
    }

    fn max(&self, of: impl Fn(&(f64, f64)) -> f64) -> f64 {
        self.curves.iter().flat_map(|curve| &curve.points).map(of).fold(0.0, f64::max)
    }

    fn axes(
        &self,
        canvas: &mut Canvas,
        frame: &PlotFrame,
        x: &Scale,
        y: &Scale,
        up: &[(f64, String)],
    ) {
        for (value, label) in up {
            let at = y.at(*value);
            canvas.line("grid", (frame.left, at), (frame.right, at));
            canvas.text("q", frame.left - 7.0, at + 4.0, Anchor::End, label);
        }
        let room = (((frame.right - frame.left) / 56.0) as usize).clamp(2, 12);
        for (value, label) in self.across.ticks(x, room) {
            let at = x.at(value);
            canvas.line("grid", (at, frame.top), (at, frame.bottom));
            canvas.line("axis", (at, frame.bottom), (at, frame.bottom + 4.0));
            canvas.text("q", at, frame.bottom + 18.0, Anchor::Middle, &label);
        }
        canvas.line("axis", (frame.left, frame.top), (frame.left, frame.bottom));
        canvas.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
        let middle = (frame.left + frame.right) / 2.0;
        canvas.text("q", middle, frame.bottom + 36.0, Anchor::Middle, self.across.label());
    }

    /// The limits that lie inside the frame.
    fn limits(&self, canvas: &mut Canvas, frame: &PlotFrame, x: &Scale, y: &Scale) {
        for limit in &self.limits {
            let (limit, name) = (limit.ms(), format!("limit {limit}"));
            if self.across == Across::Latency && x.ends()[3] >= limit {
                let at = x.at(limit);
                canvas.line("limit", (at, frame.top), (at, frame.bottom));
                let fits = at + 4.0 + text_width(&name) <= frame.right;
                let (x, anchor) =
                    if fits { (at + 4.0, Anchor::Start) } else { (at - 4.0, Anchor::End) };
                canvas.text("q", x, frame.top + 10.0, anchor, &name);
            }
            if self.across == Across::Depth && y.ends()[3] >= limit {
                let at = y.at(limit);
                canvas.line("limit", (frame.left, at), (frame.right, at));
                // Below the line: reads under a limit end a little above it.
                canvas.text("q", frame.right - 2.0, at + 13.0, Anchor::End, &name);
            }
        }
    }

    /// Draws the names of the curves in rows; returns the `y` below them.
    fn legend(&self, canvas: &mut Canvas, left: f64, right: f64, top: f64) -> f64 {
        const SWATCH: f64 = 26.0;
        let (mut x, mut y) = (left, top + 14.0);
        for (n, curve) in self.curves.iter().enumerate() {
            let needed = SWATCH + 6.0 + text_width(&curve.name) + 14.0;
            if x + needed > right + 14.0 && x > left {
                (x, y) = (left, y + 20.0);
            }
            canvas.open_group(&format!("key {}", curve.ink.classes()), Some(n), &curve.name);
            canvas.line("course", (x, y - 4.0), (x + SWATCH, y - 4.0));
            if let Some(marker) = curve.ink.marker() {
                canvas.path(marker.class(), &marker.path(x + SWATCH / 2.0, y - 4.0));
            }
            canvas.text("t", x + SWATCH + 6.0, y, Anchor::Start, &curve.name);
            canvas.close_group();
            x += needed;
        }
        y + 6.0
    }
}

impl Curve {
    fn draw(&self, canvas: &mut Canvas, n: usize, x: &Scale, y: &Scale) {
        canvas.open_group(&format!("line {}", self.ink.classes()), Some(n), &self.name);
        let places = self.points.iter().map(|(across, up)| (x.at(*across), y.at(*up)));
        let mut data = String::new();
        for (place, (x, y)) in places.clone().enumerate() {
            let letter = if place == 0 { 'M' } else { 'L' };
            write!(data, "{letter}{x:.1} {y:.1}").expect("writing to a string");
        }
        canvas.path("course", &data);
        if let Some(marker) = self.ink.marker() {
            for (x, y) in places {
                canvas.path(marker.class(), &marker.path(x, y));
            }
        }
        canvas.close_group();
    }
}
