//! Names beside dots: each on its own dot's side, none over another or over a dot, and none where another dot seems to be the one named.

use super::frame::Plot;
use super::labels::{Area, dense, name_size};
use loadline_draw::Anchor;

/// A straight piece of a line, from a place of the drawing to another.
pub(super) type Leg = ((f64, f64), (f64, f64));

/// Rings of places tried around each dot, from the nearest, and how far apart they lie: a little more than a name is high.
const RINGS: usize = 16;
const RING_STEP: f64 = 18.0;

/// Another dot has to be further from a name than its own by so many pixels.
const AIR: f64 = 4.0;

/// What a place costs for each ring that it lies further out,
const RING_COST: usize = 20;
/// for each pixel-wide part of a line behind it,
const LINE_COST: usize = 2;
/// for each dot or name that the way to it crosses, and each other dot that it touches,
const CROSSED_COST: usize = 400;
/// for each other dot that seems to be the one named, where nothing leads to its own,
const MISLED_COST: usize = 2_000;
/// for each dot and each name that it hides,
const DOT_COST: usize = 4_000;
const NAME_COST: usize = 100_000;
/// and outside of the plot.
const OUTSIDE_COST: usize = 1_000_000;

/// A dot, and its name if it is to have one.
#[derive(Clone, Debug)]
pub(super) struct NamedDot {
    pub(super) name: Option<String>,
    pub(super) at: (f64, f64),
    /// Whatever is drawn around the point.
    pub(super) radius: f64,
}

/// Where a name stands, and the line that leads to it from a dot that it does not stand next to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DotName {
    area: Area,
    side: Side,
    pub(super) leader: Option<Leg>,
}

/// On which side of its dot a name stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Left,
    Middle,
    Right,
}

impl DotName {
    /// Where the text is drawn, and which of its points stands there: the one that is next to the dot, so that no gap is between them, however
    /// narrow the reader's letters are.
    pub(super) fn text(&self) -> ((f64, f64), Anchor) {
        let (left, base) = self.area.text_start();
        match self.side {
            Side::Right => ((left, base), Anchor::Start),
            Side::Middle => {
                ((f64::midpoint(self.area.left, self.area.right), base), Anchor::Middle)
            }
            Side::Left => ((self.area.right - (left - self.area.left), base), Anchor::End),
        }
    }
}

/// A place that a name might take.
#[derive(Clone, Copy)]
struct NamePlace {
    ring: usize,
    place: DotName,
}

/// A place for the name of each dot that has one: next to it, or further and further away where other dots or names are. `None` where there is
/// no place left on the plot, for then it would hide a name. The names given first have the first choice; then each moves once more, beside
/// all others.
pub(super) fn place_beside_dots(
    plot: &Plot,
    dots: &[NamedDot],
    lines: &[Leg],
) -> Vec<Option<DotName>> {
    let behind: Vec<(f64, f64)> =
        lines.iter().flat_map(|(from, to)| dense(&[Some(*from), Some(*to)])).collect();
    let mut places: Vec<Option<DotName>> = vec![None; dots.len()];
    for _ in 0..2 {
        for own in 0..dots.len() {
            places[own] = None;
            let obstacles = Obstacles { plot, dots, behind: &behind, places: &places, own };
            places[own] = obstacles.best();
        }
    }
    places
}

/// All that a name has to keep off.
struct Obstacles<'a> {
    plot: &'a Plot,
    dots: &'a [NamedDot],
    behind: &'a [(f64, f64)],
    places: &'a [Option<DotName>],
    /// The dot that is to be named.
    own: usize,
}

impl Obstacles<'_> {
    fn best(&self) -> Option<DotName> {
        let of = |candidate: NamePlace| (self.cost(&candidate), candidate.place);
        let all = around_dot(&self.dots[self.own]).into_iter().map(of);
        let best = all.min_by_key(|(cost, _)| *cost).filter(|(cost, _)| *cost < NAME_COST);
        best.map(|(_, place)| place)
    }

    fn cost(&self, NamePlace { ring, place }: &NamePlace) -> usize {
        let area = &place.area;
        let taken = || self.places.iter().flatten();
        let others = || self.dots.iter().enumerate().filter(|(other, _)| *other != self.own);
        let hidden = self.dots.iter().filter(|dot| area.distance(dot.at) < dot.radius).count();
        let names = taken().filter(|other| area.meets(&other.area)).count();
        let lines = self.behind.iter().filter(|point| area.holds(**point)).count();
        let crossing = match place.leader {
            None => 0,
            Some(leader) => {
                let dots = others().filter(|(_, dot)| is_near(leader, dot.at, dot.radius)).count();
                dots + taken().filter(|other| crosses(leader, &other.area)).count()
            }
        };
        let leaders = taken().filter_map(|other| other.leader);
        let crossed = leaders.filter(|leader| crosses(*leader, area)).count();
        let misled = match place.leader {
            Some(_) => 0,
            None => others().filter(|(_, dot)| self.misleads(area, dot)).count(),
        };
        let beside = others().filter(|(_, dot)| area.distance(dot.at) < dot.radius + AIR).count();
        RING_COST * ring
            + LINE_COST * lines
            + CROSSED_COST * (crossing + crossed + beside)
            + MISLED_COST * misled
            + DOT_COST * hidden
            + NAME_COST * names
            + OUTSIDE_COST * usize::from(!self.plot.holds(area))
    }

    /// Whether another dot seems to be the one that the name belongs to. Of two that lie upon each other neither does.
    fn misleads(&self, area: &Area, other: &NamedDot) -> bool {
        let own = self.dots[self.own].at;
        let apart = (own.0 - other.at.0).hypot(own.1 - other.at.1);
        apart > AIR && area.distance(other.at) < area.distance(own) + AIR
    }
}

/// Places in eight directions from a dot.
fn around_dot(dot: &NamedDot) -> Vec<NamePlace> {
    let Some(name) = &dot.name else { return Vec::new() };
    let (width, height) = name_size(name);
    let (x, y) = dot.at;
    let mut all = Vec::new();
    for ring in 0..RINGS {
        let far = dot.radius + 1.0 + RING_STEP * ring as f64;
        let (above, below, level) = (y - far - height, y + far, y - height / 2.0);
        let (left, right, middle) = (x - far - width, x + far, x - width / 2.0);
        let starts = [
            (middle, above, Side::Middle),
            (middle, below, Side::Middle),
            (right, level, Side::Right),
            (left, level, Side::Left),
            (right, above, Side::Right),
            (left, below, Side::Left),
            (right, below, Side::Right),
            (left, above, Side::Left),
        ];
        all.extend(starts.map(|(left, top, side)| {
            let area = Area { left, right: left + width, top, bottom: top + height };
            let leader = (ring > 0).then(|| leader(dot, &area, side));
            NamePlace { ring, place: DotName { area, side, leader } }
        }));
    }
    all
}

/// From the rim of a dot to its name.
fn leader(dot: &NamedDot, area: &Area, side: Side) -> Leg {
    let (x, y) = dot.at;
    let to = match side {
        Side::Middle => area.nearest((f64::midpoint(area.left, area.right), y)),
        Side::Left | Side::Right => area.nearest(dot.at),
    };
    let share = dot.radius / (to.0 - x).hypot(to.1 - y).max(dot.radius);
    ((x + (to.0 - x) * share, y + (to.1 - y) * share), to)
}

/// Whether a line comes nearer to a point than so far.
fn is_near((from, to): Leg, (x, y): (f64, f64), far: f64) -> bool {
    dense(&[Some(from), Some(to)]).into_iter().any(|(a, b)| (a - x).hypot(b - y) < far)
}

fn crosses((from, to): Leg, area: &Area) -> bool {
    dense(&[Some(from), Some(to)]).into_iter().any(|point| area.holds(point))
}

impl Plot {
    fn holds(&self, area: &Area) -> bool {
        area.left >= self.left + 2.0
            && area.right <= self.right
            && area.top >= self.top
            && area.bottom <= self.bottom
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Plot = Plot { left: 58.0, right: 890.0, top: 24.0, bottom: 314.0 };

    fn dots(of: &[(&str, f64, f64)]) -> Vec<NamedDot> {
        let dot = |(name, x, y): &(&str, f64, f64)| {
            let radius = if name.ends_with(": recommended") { 11.0 } else { 5.5 };
            NamedDot { name: Some((*name).to_owned()), at: (*x, *y), radius }
        };
        of.iter().map(dot).collect()
    }

    fn named(dot: &NamedDot) -> &str {
        dot.name.as_deref().unwrap_or_default()
    }

    /// Every name is inside, meets no other and hides no dot; one that nothing leads to has no dot nearer than its own, and what leads to
    /// another begins at its dot and ends at the text.
    fn check(dots: &[NamedDot]) -> Vec<DotName> {
        let places = place_beside_dots(&PLOT, dots, &[]);
        assert_eq!(places, place_beside_dots(&PLOT, dots, &[]));
        let places: Vec<DotName> =
            places.into_iter().map(|place| place.expect("there is room on the plot")).collect();
        for (own, (dot, place)) in dots.iter().zip(&places).enumerate() {
            let DotName { area, leader, .. } = place;
            let name = named(dot);
            assert!(PLOT.holds(area), "{name} is outside");
            assert!(places[own + 1..].iter().all(|other| !area.meets(&other.area)), "{name}");
            for other in dots {
                assert!(area.distance(other.at) >= other.radius, "{name} hides {}", named(other));
            }
            let far = |(x, y): (f64, f64)| (x - dot.at.0).hypot(y - dot.at.1);
            match leader {
                Some((from, to)) => {
                    assert!(
                        far(*from) <= dot.radius + 0.1,
                        "what leads to {name} begins elsewhere"
                    );
                    assert!(area.distance(*to) < 0.1, "what leads to {name} ends elsewhere");
                }
                None => {
                    let nearer =
                        dots.iter().filter(|of| area.distance(of.at) < area.distance(dot.at));
                    let nearer: Vec<&str> =
                        nearer.filter(|of| far(of.at) > AIR).map(named).collect();
                    assert!(nearer.is_empty(), "{name} stands beside {nearer:?}");
                }
            }
        }
        places
    }

    /// "high_client_ops (loadline): recommended" stood beside the dot of balanced, and what led to it began in empty space.
    #[test]
    fn a_name_stands_beside_its_own_dot() {
        let recovery = dots(&[
            ("high_client_ops (loadline): recommended", 503.2, 309.4),
            ("WPQ(Def)", 518.8, 293.6),
            ("WPQ(BST)", 243.0, 50.8),
            ("high_client_ops", 848.4, 204.1),
            ("balanced", 582.5, 202.8),
            ("high_recovery_ops", 450.4, 178.0),
            ("balanced (loadline)", 457.6, 295.6),
            ("high_recovery_ops (loadline)", 357.8, 259.0),
            ("recovery first (loadline)", 270.4, 172.8),
            ("recovery above all (loadline)", 249.5, 46.3),
        ]);
        check(&recovery);
        let services = dots(&[
            ("high_client_ops (loadline): recommended", 890.0, 53.0),
            ("WPQ", 723.6, 89.0),
            ("balanced (loadline)", 890.0, 51.9),
            ("high_recovery_ops (loadline)", 890.0, 34.9),
        ]);
        check(&services);
    }

    /// The side of a text that is next to its dot is fixed, for letters are narrower than the room that is kept for them.
    #[test]
    fn the_near_end_of_a_name_is_the_fixed_one() {
        for (x, is_left) in [(60.0, false), (888.0, true)] {
            let places = check(&dots(&[("high_recovery_ops (loadline)", x, 160.0)]));
            let ((at, _), anchor) = places[0].text();
            assert_eq!(matches!(anchor, Anchor::End), is_left);
            assert!((at - x).abs() < 12.0, "{at} {x}");
        }
    }

    /// The dots of three setups lay so close that one name covered another's beginning; here twelve lie upon each other, in a corner.
    #[test]
    fn names_of_dots_upon_each_other_meet_neither_each_other_nor_a_dot() {
        let name = "high_recovery_ops (loadline)";
        check(&dots(&[(name, 448.0, 290.0), (name, 493.0, 305.0), (name, 509.0, 290.0)]));
        let places = check(&dots(&[(name, 889.0, 313.0); 12]));
        assert!(places.iter().any(|place| place.leader.is_some()));
    }

    #[test]
    fn a_name_without_a_place_is_left_out() {
        let plot = Plot { left: 50.0, right: 150.0, top: 10.0, bottom: 40.0 };
        let places = place_beside_dots(&plot, &dots(&[("balanced", 60.0, 25.0); 2]), &[]);
        assert!(places[0].is_some() && places[1].is_none(), "{places:?}");
    }
}
