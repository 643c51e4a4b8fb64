//! Names beside lines and dots: each where it hides least, and none over another.

use super::frame::Plot;
use loadline_draw::{FONT, text_width};

/// Places tried along each line.
const TRIES: usize = 40;

/// Names are drawn bold, which takes so much more than the width of plain text.
const BOLD: f64 = 1.1;

/// Rings of places tried around each dot, from the nearest, and how far apart they lie: a little more than a name is high.
const RINGS: usize = 16;
const RING_STEP: f64 = 18.0;

/// What a place costs that hides another name, and what one outside costs.
const NAME_COST: usize = 10_000;
const OUTSIDE_COST: usize = 100_000;

/// A box that a name would cover.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn meets(&self, other: &Area) -> bool {
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
    fn text_start(&self) -> (f64, f64) {
        (self.left + 3.0, self.bottom - 5.0)
    }

    /// Its point next to another.
    fn nearest(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

    fn holds(&self, (x, y): (f64, f64)) -> bool {
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

/// Where the name of a dot begins, and the line that leads to it from a dot that it does not stand next to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DotName {
    pub(super) start: (f64, f64),
    pub(super) leader: Option<((f64, f64), (f64, f64))>,
}

/// A place for the name of each dot, in turn: next to it, or further and further away where other dots or names are. `None` where
/// there is no place left on the plot, for then it would hide a name.
pub(super) fn place_beside_dots(
    plot: &Plot,
    names: &[&str],
    dots: &[(f64, f64)],
) -> Vec<Option<DotName>> {
    // As wide as a dot with its ring, so that names keep off it.
    let around = |(x, y): (f64, f64)| dense(&[Some((x - 9.0, y)), Some((x + 9.0, y))]);
    let courses: Vec<Vec<(f64, f64)>> = dots.iter().copied().map(around).collect();
    let mut taken: Vec<Area> = Vec::new();
    let mut places = Vec::new();
    for (place, (name, dot)) in names.iter().zip(dots).enumerate() {
        // A place one ring further must hide less than half of a dot more to be worth it.
        let told = |(ring, area): (usize, Area)| {
            (cost(&area, plot, place, &courses, &taken) + 8 * ring, ring, area)
        };
        let best = around_dot(name, *dot).into_iter().map(told).min_by_key(|(cost, ..)| *cost);
        let best = best.filter(|(cost, ..)| *cost < NAME_COST);
        places.push(best.map(|(_, ring, area)| DotName {
            start: area.text_start(),
            leader: (ring > 0).then(|| (*dot, area.nearest(*dot))),
        }));
        taken.extend(best.map(|(.., area)| area));
    }
    places
}

/// Places in eight directions from a dot, with the ring of each.
fn around_dot(name: &str, (x, y): (f64, f64)) -> Vec<(usize, Area)> {
    let (width, height) = name_size(name);
    let mut areas = Vec::new();
    for ring in 0..RINGS {
        let far = 4.0 + RING_STEP * ring as f64;
        let (above, below, level) = (y - far - height, y + far, y - height / 2.0);
        let (left, right, middle) = (x - far - 4.0 - width, x + far + 4.0, x - width / 2.0);
        let starts = [
            (middle, above),
            (middle, below),
            (right, level),
            (left, level),
            (right, above),
            (left, below),
            (right, below),
            (left, above),
        ];
        areas.extend(starts.map(|(left, top)| {
            (ring, Area { left, right: left + width, top, bottom: top + height })
        }));
    }
    areas
}

/// Width and height of the box around a name.
fn name_size(name: &str) -> (f64, f64) {
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
fn dense(course: &[Option<(f64, f64)>]) -> Vec<(f64, f64)> {
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

    /// The dots of three setups lay so close that one name covered another's beginning; here twelve lie upon each other, in a corner.
    #[test]
    fn names_of_dots_upon_each_other_meet_neither_each_other_nor_a_dot() {
        let plot = Plot { left: 58.0, right: 850.0, top: 24.0, bottom: 314.0 };
        let near = [(448.0, 290.0), (493.0, 305.0), (509.0, 290.0)];
        let same = [(849.0, 313.0); 12];
        let name = "high_recovery_ops (loadline)";
        for dots in [&near[..], &same[..]] {
            let names = vec![name; dots.len()];
            let places = place_beside_dots(&plot, &names, dots);
            assert_eq!(places, place_beside_dots(&plot, &names, dots));
            let area = |place: &Option<DotName>| {
                let (x, y) = place.expect("there is room on the plot").start;
                let right = x + BOLD * text_width(name);
                Area { left: x, right, top: y - FONT, bottom: y + 3.0 }
            };
            let areas: Vec<Area> = places.iter().map(area).collect();
            for (n, area) in areas.iter().enumerate() {
                assert!(area.left >= plot.left && area.right <= plot.right, "{dots:?}: {n}");
                assert!(area.top >= plot.top && area.bottom <= plot.bottom, "{dots:?}: {n}");
                assert!(areas[n + 1..].iter().all(|other| !area.meets(other)), "{dots:?}: {n}");
                assert!(!dots.iter().any(|dot| area.holds(*dot)), "{dots:?}: {n} hides a dot");
            }
            assert!(dots.len() < 12 || places.iter().flatten().any(|place| place.leader.is_some()));
        }
    }

    #[test]
    fn a_name_without_a_place_is_left_out() {
        let plot = Plot { left: 50.0, right: 150.0, top: 10.0, bottom: 30.0 };
        let places = place_beside_dots(&plot, &["balanced", "balanced"], &[(60.0, 20.0); 2]);
        assert!(places[0].is_some() && places[1].is_none(), "{places:?}");
    }
}
