//! Names beside lines: each where it hides least, and none over another.

use super::frame::Plot;
use loadline_draw::{FONT, text_width};

/// Places tried along each line.
const TRIES: usize = 40;

/// Names are drawn bold, which takes so much more than the width of plain text.
const BOLD: f64 = 1.1;

/// What a place costs that hides another name, and what one outside costs.
const NAME_COST: usize = 10_000;
const OUTSIDE_COST: usize = 100_000;

/// A box that a name would cover.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Area {
    pub(super) fn meets(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// With the surroundings in which another line would seem to be the one named.
    fn wider(&self) -> Area {
        const AIR: f64 = 8.0;
        Area {
            left: self.left - AIR,
            right: self.right + AIR,
            top: self.top - AIR,
            bottom: self.bottom + AIR,
        }
    }

    /// The left end of the base line of a text in it.
    pub(super) fn text_start(&self) -> (f64, f64) {
        (self.left + 3.0, self.bottom - 5.0)
    }

    /// Its point next to another.
    pub(super) fn nearest(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

    /// How far another point is from it; 0 inside.
    pub(super) fn distance(&self, point: (f64, f64)) -> f64 {
        let (x, y) = self.nearest(point);
        (x - point.0).hypot(y - point.1)
    }

    pub(super) fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }
}

/// A start (left end of the base line) for each name; `None` for a line without points.
///
/// For every line the places above, below and beside some of its points are tried; a place costs
/// three for each point of any line that it hides, two for each point of another line nearby, and much
/// for a name placed before or the edge.
pub(super) fn place_labels(
    plot: &Plot,
    names: &[&str],
    courses: &[Vec<Option<(f64, f64)>>],
) -> Vec<Option<(f64, f64)>> {
    let dots: Vec<Vec<(f64, f64)>> = courses.iter().map(|course| dense(course)).collect();
    let mut taken: Vec<Area> = Vec::new();
    let mut places = Vec::new();
    for (line, (name, course)) in names.iter().zip(courses).enumerate() {
        let best = candidates(name, course)
            .into_iter()
            .min_by_key(|area| cost(area, plot, line, &dots, &taken));
        places.push(best.map(|area| area.text_start()));
        taken.extend(best);
    }
    places
}

/// Width and height of the box around a name.
pub(super) fn name_size(name: &str) -> (f64, f64) {
    (BOLD * text_width(name) + 6.0, FONT + 5.0)
}

fn candidates(name: &str, course: &[Option<(f64, f64)>]) -> Vec<Area> {
    let points: Vec<_> = course.iter().flatten().copied().collect();
    let (width, height) = name_size(name);
    let step = (points.len() / TRIES).max(1);
    let mut areas = Vec::new();
    for &(x, y) in points.iter().skip(step / 2).step_by(step) {
        let starts = [
            (x - width / 2.0, y - height - 4.0),
            (x - width / 2.0, y + 4.0),
            (x + 6.0, y - height / 2.0),
            (x + 8.0, y - height - 2.0),
            (x - 8.0 - width, y + 2.0),
        ];
        areas.extend(starts.map(|(left, top)| Area {
            left,
            right: left + width,
            top,
            bottom: top + height,
        }));
    }
    areas
}

fn cost(area: &Area, plot: &Plot, line: usize, dots: &[Vec<(f64, f64)>], taken: &[Area]) -> usize {
    let outside = area.left < plot.left + 2.0
        || area.right > plot.right
        || area.top < plot.top
        || area.bottom > plot.bottom;
    let within =
        |area: Area, dots: &[(f64, f64)]| dots.iter().filter(|dot| area.holds(**dot)).count();
    let hidden: usize = dots.iter().map(|dots| within(*area, dots)).sum();
    let others = dots.iter().enumerate().filter(|(other, _)| *other != line);
    let near: usize = others.map(|(_, dots)| within(area.wider(), dots)).sum();
    let names = taken.iter().filter(|other| area.meets(other)).count();
    3 * hidden + 2 * near + NAME_COST * names + OUTSIDE_COST * usize::from(outside)
}

/// The course as points at most three pixels apart, so that a steep stretch counts too.
pub(super) fn dense(course: &[Option<(f64, f64)>]) -> Vec<(f64, f64)> {
    let mut dots = Vec::new();
    for pair in course.windows(2) {
        if let [Some((x0, y0)), Some((x1, y1))] = *pair {
            let parts = ((x1 - x0).hypot(y1 - y0) / 3.0).ceil().max(1.0) as usize;
            dots.extend((0..parts).map(|n| {
                let share = n as f64 / parts as f64;
                (x0 + (x1 - x0) * share, y0 + (y1 - y0) * share)
            }));
        }
    }
    dots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_neither_meet_each_other_nor_leave_the_plot() {
        let plot = Plot { left: 50.0, right: 800.0, top: 10.0, bottom: 340.0 };
        let course = |level: f64| -> Vec<Option<(f64, f64)>> {
            (0..700).map(|n| Some((50.0 + f64::from(n), level + f64::from(n) / 50.0))).collect()
        };
        let courses = [course(100.0), course(104.0), course(108.0), course(300.0)];
        let names = ["high_client_ops", "balanced", "high_recovery_ops", "WPQ(BST)"];
        let places = place_labels(&plot, &names, &courses);
        let areas: Vec<Area> = places
            .iter()
            .zip(names)
            .map(|(place, name)| {
                let (x, y) = place.expect("each line has points");
                Area { left: x, right: x + text_width(name), top: y - FONT, bottom: y }
            })
            .collect();
        for (n, area) in areas.iter().enumerate() {
            assert!(area.left >= plot.left && area.right <= plot.right && area.top >= plot.top);
            assert!(areas[n + 1..].iter().all(|other| !area.meets(other)), "{} meets", names[n]);
        }
    }
}
