//! Courses over time, one line per setup, each named where it runs.

use super::NARROW;
use super::frame::{LegendEntry, Plot, diamond, legend, time_axes};
use super::labels::place_labels;
use crate::palette::Look;
use loadline_draw::{Anchor, Canvas, Scale};
use std::fmt::Write;

/// Lines over seconds.
pub(crate) struct LineChart {
    pub(crate) title: String,
    pub(crate) log: bool,
    /// Each value holds until the next one.
    pub(crate) steps: bool,
    pub(crate) lines: Vec<SetupLine>,
}

/// One setup's course.
pub(crate) struct SetupLine {
    pub(crate) label: String,
    pub(crate) look: Look,
    /// Value of each second from zero; `None` leaves a gap.
    pub(crate) values: Vec<Option<f64>>,
    /// Points of a published curve, in seconds.
    pub(crate) published: Vec<(f64, f64)>,
}

impl LineChart {
    pub(crate) fn svg(&self, width: f64) -> String {
        let narrow = width < NARROW;
        let mut canvas = Canvas::new(width, &self.title);
        let top = if narrow {
            let entries: Vec<_> =
                self.lines.iter().map(|line| LegendEntry::setup(line.look, &line.label)).collect();
            legend(&mut canvas, width, 0.0, &entries) + 4.0
        } else {
            12.0
        };
        let height = if narrow { 230.0 } else { 330.0 };
        let plot = Plot { left: 50.0, right: width - 10.0, top, bottom: top + height };
        let Some((x, y)) = self.scales(&plot) else {
            canvas.text("q", 2.0, top + 16.0, Anchor::Start, "no values");
            return canvas.finish(top + 30.0);
        };
        let run = self.seconds_per_point(&plot);
        let unit = match run {
            1 => "seconds".to_owned(),
            run => format!("seconds; each point is the mean of {run}"),
        };
        let height = time_axes(&mut canvas, &plot, &x, &y, &unit);
        canvas.describe_frame(&x.ends(), &y.ends(), self.log);
        let courses: Vec<_> = self.lines.iter().map(|line| pixels(line, run, &x, &y)).collect();
        for (line, course) in self.lines.iter().zip(&courses) {
            self.draw_line(&mut canvas, line, course);
            self.draw_published(&mut canvas, line, &x, &y);
        }
        if !narrow {
            self.draw_labels(&mut canvas, &plot, &courses);
        }
        canvas.finish(height)
    }

    fn scales(&self, plot: &Plot) -> Option<(Scale, Scale)> {
        let seconds = self.lines.iter().map(|line| line.values.len()).max()?;
        let points = || self.lines.iter().flat_map(|line| &line.published);
        let seconds = points().fold(seconds as f64, |seconds, (at, _)| seconds.max(*at));
        let published = || points().map(|(_, value)| *value);
        let own = || self.lines.iter().flat_map(|line| &line.values).flatten().copied();
        let values = || own().chain(published());
        let max = values().fold(0.0, f64::max);
        let least = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        if max <= 0.0 {
            return None;
        }
        let y = if self.log { Scale::log(least, max) } else { Scale::linear(max, 6) };
        let x = Scale::exact(seconds).between(plot.left, plot.right);
        Some((x, y.between(plot.bottom, plot.top)))
    }

    /// One where there is a pixel for every second of the longest line. All lines of a chart take
    /// the same means, because a mean of more seconds would look calmer than it was.
    fn seconds_per_point(&self, plot: &Plot) -> usize {
        let seconds = self.lines.iter().map(|line| line.values.len()).max().unwrap_or(0);
        (seconds as f64 / (plot.right - plot.left)).ceil().max(1.0) as usize
    }

    fn draw_line(&self, canvas: &mut Canvas, line: &SetupLine, course: &[Option<(f64, f64)>]) {
        let class = format!("line {}", line.look.classes());
        canvas.open_group(&class, Some(line.look.setup), &line.label);
        let data = path_data(course, self.steps);
        // The wider, unseen line catches the pointer.
        canvas.path("catch", &data);
        canvas.path("course", &data);
        canvas.close_group();
    }

    fn draw_published(&self, canvas: &mut Canvas, line: &SetupLine, x: &Scale, y: &Scale) {
        if line.published.is_empty() {
            return;
        }
        let class = format!("point {}", line.look.classes());
        canvas.open_group(&class, Some(line.look.setup), &line.label);
        for (seconds, value) in &line.published {
            diamond(canvas, x.at(*seconds), y.at(*value));
        }
        canvas.close_group();
    }

    fn draw_labels(&self, canvas: &mut Canvas, plot: &Plot, courses: &[Vec<Option<(f64, f64)>>]) {
        let names: Vec<&str> = self.lines.iter().map(|line| line.label.as_str()).collect();
        let places = place_labels(plot, &names, courses);
        for (line, place) in self.lines.iter().zip(places) {
            let Some((x, y)) = place else { continue };
            let class = format!("name {}", line.look.classes());
            canvas.open_group(&class, Some(line.look.setup), &line.label);
            canvas.text("ink halo", x, y, Anchor::Start, &line.label);
            canvas.close_group();
        }
    }
}

/// The course in pixels, a point per `run` seconds.
fn pixels(line: &SetupLine, run: usize, x: &Scale, y: &Scale) -> Vec<Option<(f64, f64)>> {
    let mut course = Vec::new();
    for (place, values) in line.values.chunks(run).enumerate() {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let middle = (place * run) as f64 + values.len() as f64 / 2.0;
        course.push(loadline_stats::mean(&known).map(|mean| (x.at(middle), y.at(mean))));
    }
    course
}

fn path_data(course: &[Option<(f64, f64)>], steps: bool) -> String {
    let mut data = String::new();
    let mut pen_down = false;
    for point in course {
        let Some((x, y)) = point else {
            pen_down = false;
            continue;
        };
        let drawn = match (pen_down, steps) {
            (false, _) => write!(data, "M{x:.1} {y:.1}"),
            (true, false) => write!(data, "L{x:.1} {y:.1}"),
            (true, true) => write!(data, "H{x:.1}V{y:.1}"),
        };
        drawn.expect("writing to a string");
        pen_down = true;
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setup was slower than it is published, and its last published points stood outside of the chart.
    #[test]
    fn the_time_axis_reaches_to_the_last_published_point() {
        let line = SetupLine {
            label: "own".to_owned(),
            look: Look::default(),
            values: vec![Some(1.0); 10],
            published: vec![(5.0, 1.0), (25.0, 1.0)],
        };
        let chart = LineChart { title: String::new(), log: false, steps: false, lines: vec![line] };
        let plot = Plot { left: 0.0, right: 100.0, top: 0.0, bottom: 100.0 };
        let (x, _) = chart.scales(&plot).expect("there are values");
        assert_eq!((x.at(0.0), x.at(25.0)), (0.0, 100.0));
    }

    #[test]
    fn a_gap_lifts_the_pen_and_a_step_goes_across_first() {
        let course = [Some((0.0, 5.0)), Some((1.0, 4.0)), None, Some((3.0, 2.0)), Some((4.0, 1.0))];
        assert_eq!(path_data(&course, false), "M0.0 5.0L1.0 4.0M3.0 2.0L4.0 1.0");
        assert_eq!(path_data(&course, true), "M0.0 5.0H1.0V4.0M3.0 2.0H4.0V1.0");
    }
}
